import { describe, expect, it } from "vitest";
import {
  readClaim,
  readCsiDriver,
  readCsiNode,
  readJob,
  readNode,
  readVolume,
} from "../../../../agent/sources/affinity-objects.ts";

const META = { name: "x", uid: "u", resourceVersion: "7" };

describe("the read of a volume", () => {
  function source(spec: object) {
    return readVolume({ metadata: META, spec }).source;
  }

  it("keeps name, UID, mode and claimRef", () => {
    const spec = { nfs: {}, volumeMode: "Block", claimRef: { namespace: "team", name: "data", uid: "c1" } };

    expect(readVolume({ metadata: META, spec })).toMatchObject({
      name: "x",
      uid: "u",
      resourceVersion: "7",
      mode: "Block",
      claimRef: { namespace: "team", name: "data", uid: "c1" },
    });
  });

  it("has the mode Filesystem by default, and no claimRef", () => {
    const volume = readVolume({ metadata: META, spec: { nfs: {} } });

    expect(volume).toMatchObject({ mode: "Filesystem", nodeAffinity: undefined });
    expect(volume.claimRef).toBeUndefined();
  });

  it.each([{ nodeAffinity: { required: { nodeSelectorTerms: [] } } }, { nodeAffinity: null }, { nodeAffinity: "odd" }])(
    "gives $nodeAffinity on as it is: who judges it decides what it means",
    ({ nodeAffinity }) => {
      expect(readVolume({ metadata: META, spec: { nfs: {}, nodeAffinity } }).nodeAffinity).toEqual(nodeAffinity);
    },
  );

  it("of a CSI driver has the hash of its handle, as staging mounts do", () => {
    expect(source({ csi: { driver: "csi.example", volumeHandle: "vol-1" } })).toMatchObject({
      kind: "csi",
      driver: "csi.example",
      handle: "vol-1",
      handleHash: "d2e8363faaac7ae76def3b14091d8eb5755f6b92e9531627aeec833a8731cc49",
    });
  });

  it.each([
    { name: "one source", spec: { hostPath: { path: "/a" } }, plugin: "hostPath" },
    { name: "a source beside others that are null", spec: { csi: null, local: { path: "/a" } }, plugin: "local" },
    { name: "no source", spec: {}, plugin: "" },
    { name: "two sources", spec: { local: {}, nfs: {} }, plugin: "" },
    { name: "an unknown source", spec: { futureDisk: {} }, plugin: "" },
  ])("with $name is of the plugin '$plugin'", ({ spec, plugin }) => {
    expect(source(spec)).toEqual({ kind: "in-tree", plugin });
  });

  it.each([
    { name: "without a spec", object: { metadata: META } },
    { name: "without a UID", object: { metadata: { ...META, uid: "" }, spec: {} } },
    { name: "of a CSI driver without a handle", object: { metadata: META, spec: { csi: { driver: "d" } } } },
    { name: "that is none", object: null },
  ])("$name is not understood", ({ object }) => {
    expect(() => readVolume(object)).toThrow();
  });
});

describe("the read of a node", () => {
  function labelsOf(labels: unknown) {
    return readNode({ metadata: { ...META, labels } }).labels;
  }

  it("keeps what is attached to it, its kubelet's version, and when it was made", () => {
    const status = {
      volumesAttached: [{ name: "kubernetes.io/csi/d^h", devicePath: "" }],
      nodeInfo: { kubeletVersion: "v1.36.3" },
    };
    const node = readNode({ metadata: { ...META, creationTimestamp: "2026-11-21T10:00:00Z" }, status });

    expect(node).toMatchObject({
      volumesAttached: ["kubernetes.io/csi/d^h"],
      kubeletVersion: "v1.36.3",
      isDeleting: false,
    });
    expect(node.createdAtMs).toBe(1_795_255_200_000);
  });

  it("without a status has nothing attached", () => {
    expect(readNode({ metadata: META })).toMatchObject({ volumesAttached: [], kubeletVersion: "" });
  });

  it.each(["constructor", "prototype", "toString", "hasOwnProperty"])("keeps a label that is called %s", (key) => {
    const labels = labelsOf({ [key]: "yes" }) ?? {};

    expect(Object.entries(labels)).toEqual([[key, "yes"]]);
  });

  it("keeps a label named __proto__ as a label", () => {
    const labels = labelsOf(JSON.parse('{"__proto__":"yes","zone":"a"}')) ?? {};

    expect(Object.keys(labels).toSorted()).toEqual(["__proto__", "zone"]);
    expect(Object.getPrototypeOf(labels)).toBe(Object.prototype);
  });

  it("that has no labels has none", () => {
    expect(labelsOf(undefined)).toBeUndefined();
    expect(labelsOf(null)).toBeNull();
    expect(labelsOf({})).toEqual({});
  });

  it.each([{ labels: ["zone"] }, { labels: "zone" }, { labels: { zone: 1 } }, { labels: { zone: null } }])(
    "with the labels $labels is not understood",
    ({ labels }) => {
      expect(() => labelsOf(labels)).toThrow();
    },
  );
});

describe("the read of other objects", () => {
  it("a claim has its volume, phase and controller", () => {
    const metadata = {
      ...META,
      namespace: "team",
      ownerReferences: [
        { apiVersion: "v1", kind: "Node", name: "n", uid: "other" },
        { apiVersion: "v1", kind: "Pod", name: "web", uid: "u1", controller: true },
      ],
    };

    expect(readClaim({ metadata, spec: { volumeName: "pv-1" }, status: { phase: "Bound" } })).toEqual({
      namespace: "team",
      name: "x",
      uid: "u",
      phase: "Bound",
      isDeleting: false,
      volume: "pv-1",
      controllerUid: "u1",
    });
  });

  it("a claim that is not bound has no volume", () => {
    const claim = readClaim({
      metadata: { ...META, namespace: "team", deletionTimestamp: "2026-11-21T10:00:00Z" },
      spec: { volumeName: "" },
    });

    expect(claim).toMatchObject({ phase: "", isDeleting: true });
    expect(claim.volume).toBeUndefined();
  });

  it.each([
    { spec: undefined, isAttachRequired: true },
    { spec: {}, isAttachRequired: true },
    { spec: { attachRequired: null }, isAttachRequired: true },
    { spec: { attachRequired: false }, isAttachRequired: false },
  ])("a driver with the spec $spec needs attaching: $isAttachRequired", ({ spec, isAttachRequired }) => {
    expect(readCsiDriver({ metadata: { name: "d" }, spec })).toEqual({ name: "d", isAttachRequired });
  });

  it("a CSINode has the names of its drivers, or none", () => {
    expect(readCsiNode({ spec: { drivers: [{ name: "d", nodeID: "n" }] } })).toEqual({ drivers: ["d"] });
    expect(readCsiNode({ spec: { drivers: null } })).toEqual({ drivers: [] });
  });

  it("a Job has its limits and how many of its pods have failed", () => {
    expect(readJob({ metadata: META, spec: { backoffLimit: 0 }, status: { failed: 2 } })).toEqual({
      uid: "u",
      backoffLimit: 0,
      backoffLimitPerIndex: undefined,
      failed: 2,
    });
    expect(readJob({ metadata: META })).toMatchObject({ failed: 0 });
  });
});
