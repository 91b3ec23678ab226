import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { projectAttachment, projectNode } from "../../../../aggregator/sources/node-projections.ts";

const metadata = { name: "n1", uid: "node-1", resourceVersion: "1" };
const ready = { type: "Ready", status: "True", reason: "KubeletReady" };

function hashed(handle: string): string {
  return createHash("sha256").update(handle).digest("hex");
}

describe("projectNode", () => {
  it.each([
    {
      name: "the kubelet's boot ID",
      status: { nodeInfo: { bootID: "boot-1", kubeletVersion: "v1.36.3" } },
      bootId: "boot-1",
    },
    { name: "no status yet", status: undefined, bootId: undefined },
    { name: "an empty boot ID", status: { nodeInfo: { bootID: "" } }, bootId: undefined },
    { name: "no boot ID yet", status: { nodeInfo: {} }, bootId: undefined },
  ])("$name", ({ status, bootId }) => {
    expect(projectNode({ metadata, spec: {}, status })).toEqual({
      key: "n1",
      uid: "node-1",
      resourceVersion: "1",
      bootId,
      isReady: false,
      isOutOfService: false,
    });
  });

  it("keeps its labels and when it was made", () => {
    const labels = { "kubernetes.io/hostname": "n1", constructor: "acme" };

    const node = projectNode({ metadata: { ...metadata, labels, creationTimestamp: "2026-11-21T12:00:00Z" } });

    expect(node).toMatchObject({ labels, createdAtMs: 1_795_262_400_000 });
  });

  it("keeps what the kubelet says of the node's system, unless nobody could print it", () => {
    const nodeInfo = { osImage: "Ubuntu 26.04 LTS", containerRuntimeVersion: "\u001b[2J" };

    const node = projectNode({ metadata, status: { nodeInfo } });

    expect(node).toMatchObject({ distribution: "Ubuntu 26.04 LTS", containerRuntime: undefined });
  });

  it("keeps the label of its operating system", () => {
    const labels = { "kubernetes.io/os": "windows", "kubernetes.io/arch": "amd64" };

    expect(projectNode({ metadata: { ...metadata, labels } }).os).toBe("windows");
  });

  it.each([
    { name: "ready", conditions: [{ type: "MemoryPressure", status: "False" }, ready], isReady: true },
    { name: "not ready", conditions: [{ ...ready, status: "False" }], isReady: false },
    { name: "of unknown readiness", conditions: [{ ...ready, status: "Unknown" }], isReady: false },
    { name: "without conditions", conditions: null, isReady: false },
  ])("a node $name", ({ conditions, isReady }) => {
    expect(projectNode({ metadata, status: { conditions } }).isReady).toBe(isReady);
  });

  it.each([
    { effect: "NoExecute", key: "node.kubernetes.io/out-of-service", isOutOfService: true },
    { effect: "NoSchedule", key: "node.kubernetes.io/out-of-service", isOutOfService: true },
    { effect: "NoExecute", key: "node.kubernetes.io/unreachable", isOutOfService: false },
  ])("a taint $key with effect $effect: out of service is $isOutOfService", ({ effect, key, isOutOfService }) => {
    const spec = {
      taints: [
        { key: "dedicated", effect: "NoSchedule" },
        { key, effect, value: "nodeshutdown" },
      ],
    };

    expect(projectNode({ metadata, spec }).isOutOfService).toBe(isOutOfService);
  });

  it("keeps the CSI volumes in use by driver and hashed handle", () => {
    const volumesInUse = [
      "kubernetes.io/csi/csi.example^vol-0a1b",
      "kubernetes.io/csi/csi.example^a^b/c",
      "kubernetes.io/iscsi/10.0.0.1:iqn:0",
      "kubernetes.io/csi/no-handle",
    ];

    const node = projectNode({ metadata, status: { volumesInUse } });

    expect(node.volumesInUse).toEqual([`csi.example/${hashed("vol-0a1b")}`, `csi.example/${hashed("a^b/c")}`]);
  });

  it.each([{}, null, { metadata: {} }, { metadata, spec: { taints: "none" } }])(
    "refuses what is no node: %j",
    (object) => {
      expect(() => projectNode(object)).toThrow();
    },
  );
});

describe("projectAttachment", () => {
  it.each([
    { name: "a PersistentVolume's", source: { persistentVolumeName: "pv-1" }, volume: "pv-1" },
    { name: "an inline volume's", source: { inlineVolumeSpec: { csi: {} } }, volume: undefined },
  ])("keeps the node, and the volume of $name", ({ source, volume }) => {
    const object = {
      metadata: { ...metadata, name: "csi-0a1b" },
      spec: { attacher: "csi.example", nodeName: "n1", source },
      status: { attached: false },
    };

    expect(projectAttachment(object)).toEqual({
      ...{ key: "csi-0a1b", uid: "node-1", resourceVersion: "1" },
      ...{ node: "n1", volume },
    });
  });

  it.each([{}, null, { metadata }, { metadata, spec: { nodeName: "n1" } }])(
    "refuses what is no attachment: %j",
    (object) => {
      expect(() => projectAttachment(object)).toThrow();
    },
  );
});
