import { describe, expect, it } from "vitest";
import { readPod } from "../../../../agent/sources/affinity-pod.ts";

const META = { namespace: "team", name: "web", uid: "u1", resourceVersion: "90" };
const NO_STATUS = {
  name: "main",
  ready: false,
  restartCount: 0,
  image: "i",
  imageID: "",
  started: false,
  lastState: {},
};
const CREATING = { ...NO_STATUS, state: { waiting: { reason: "ContainerCreating" } } };

function pod({ metadata = {}, spec = {}, status = {} }: { metadata?: object; spec?: object; status?: object }) {
  return readPod({ metadata: { ...META, ...metadata }, spec: { containers: [], ...spec }, status });
}

describe("the read of a pod", () => {
  it("has what a decision needs", () => {
    const read = pod({
      metadata: { creationTimestamp: "2026-11-21T10:00:00Z" },
      spec: { nodeName: "node-1", hostNetwork: true },
      status: { phase: "Pending", podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }] },
    });

    expect(read).toMatchObject({
      ...META,
      boundAtMs: 1_795_255_200_000,
      nodeName: "node-1",
      phase: "Pending",
      reason: "",
      isHostNetwork: true,
      podIps: ["10.0.0.1", "fd00::1"],
    });
  });

  it.each([
    {
      name: "when a scheduler bound it, however long it had waited for a node",
      condition: { status: "True", lastTransitionTime: "2026-11-21T10:05:00Z" },
      boundAtMs: 1_795_255_500_000,
    },
    {
      name: "at no known time where its condition has none",
      condition: { status: "True" },
      boundAtMs: undefined,
    },
    {
      name: "at its creation, where its condition shows only that no node was found",
      condition: { status: "False", lastTransitionTime: "2026-11-21T10:05:00Z" },
      boundAtMs: 1_795_255_200_000,
    },
  ])("was bound $name", ({ condition, boundAtMs }) => {
    const read = pod({
      metadata: { creationTimestamp: "2026-11-21T10:00:00Z" },
      status: { conditions: [{ type: "PodScheduled", ...condition }] },
    });

    expect(read.boundAtMs).toBe(boundAtMs);
  });

  it("that was just created is not bound and has no status", () => {
    const read = readPod({ metadata: META, spec: { containers: [] } });

    expect(read).toMatchObject({
      phase: "",
      isDeleting: false,
      isGated: false,
      isStatic: false,
      podIps: [],
      containers: [],
    });
    expect(read.nodeName).toBeUndefined();
    expect(read.readyToStartContainers).toBeUndefined();
    expect(read.owner).toBeUndefined();
  });

  it("is gated, deleting and ready for its containers when it says so", () => {
    const read = pod({
      metadata: { deletionTimestamp: "2026-11-21T10:00:00Z" },
      spec: { schedulingGates: [{ name: "quota" }] },
      status: { conditions: [{ type: "PodReadyToStartContainers", status: "False" }] },
    });

    expect(read).toMatchObject({ isDeleting: true, isGated: true, readyToStartContainers: "False" });
  });

  it.each([
    { name: "of an ordinary pod", metadata: {}, isStatic: false },
    {
      name: "of a pod from the API",
      metadata: { annotations: { "kubernetes.io/config.source": "api" } },
      isStatic: false,
    },
    { name: "of a mirror pod", metadata: { annotations: { "kubernetes.io/config.mirror": "" } }, isStatic: true },
    {
      name: "of a pod from a file",
      metadata: { annotations: { "kubernetes.io/config.source": "file" } },
      isStatic: true,
    },
    {
      name: "of a pod that a Node owns",
      metadata: { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "n", uid: "n1" }] },
      isStatic: true,
    },
  ])("$name is static: $isStatic", ({ metadata, isStatic }) => {
    expect(pod({ metadata }).isStatic).toBe(isStatic);
  });

  it("has the owner that controls it, and no other", () => {
    const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: "r1" };
    const ownerReferences = [
      { apiVersion: "v1", kind: "ConfigMap", name: "c", uid: "c1" },
      { ...owner, controller: true },
    ];

    expect(pod({ metadata: { ownerReferences } }).owner).toEqual(owner);
    expect(pod({ metadata: { ownerReferences: ownerReferences.slice(0, 1) } }).owner).toBeUndefined();
  });

  it.each([
    { name: "being made", status: CREATING, state: "waiting", waitingReason: "ContainerCreating", hasRun: false },
    { name: "without a state", status: NO_STATUS, state: "none", hasRun: false },
    {
      name: "of two states",
      status: { ...CREATING, state: { waiting: {}, running: {} } },
      state: "several",
      hasRun: false,
    },
    { name: "running", status: { ...NO_STATUS, state: { running: {} } }, state: "running", hasRun: false },
    {
      name: "over",
      status: { ...NO_STATUS, state: { terminated: { exitCode: 1 } } },
      state: "terminated",
      hasRun: false,
    },
    { name: "restarted", status: { ...CREATING, restartCount: 1 }, state: "waiting", hasRun: true },
    {
      name: "that ended before",
      status: { ...CREATING, lastState: { terminated: {} } },
      state: "waiting",
      hasRun: true,
    },
    {
      name: "that the runtime made",
      status: { ...CREATING, containerID: "containerd://a" },
      state: "waiting",
      hasRun: true,
    },
    { name: "that has started", status: { ...CREATING, started: true }, state: "waiting", hasRun: true },
  ])("has a container $name in the state $state", ({ status, state, hasRun }) => {
    for (const [member, kind] of [
      ["initContainerStatuses", "init"],
      ["containerStatuses", "main"],
      ["ephemeralContainerStatuses", "ephemeral"],
    ] as const)
      expect(pod({ status: { [member]: [status] } }).containers).toMatchObject([{ name: "main", kind, state, hasRun }]);
  });

  it("has the volumes that name a claim, and how its containers use them", () => {
    const volumes = [
      { name: "mounted", persistentVolumeClaim: { claimName: "a" } },
      { name: "mapped", persistentVolumeClaim: { claimName: "b", readOnly: true } },
      { name: "idle", persistentVolumeClaim: { claimName: "c" } },
      { name: "scratch", ephemeral: { volumeClaimTemplate: {} } },
      { name: "tmp", emptyDir: {} },
    ];
    const spec = {
      volumes,
      initContainers: [{ name: "i", volumeMounts: [{ name: "mounted" }] }],
      containers: [{ name: "m", volumeDevices: [{ name: "mapped" }], volumeMounts: null }],
      ephemeralContainers: [{ name: "e", volumeMounts: [{ name: "scratch" }, { name: "tmp" }] }],
    };

    expect(pod({ spec }).volumes).toEqual([
      { name: "mounted", claim: "a", isEphemeral: false, isMounted: true, isMapped: false },
      { name: "mapped", claim: "b", isEphemeral: false, isMounted: false, isMapped: true },
      { name: "idle", claim: "c", isEphemeral: false, isMounted: false, isMapped: false },
      { name: "scratch", claim: "web-scratch", isEphemeral: true, isMounted: true, isMapped: false },
    ]);
  });

  it.each([
    { name: "without a spec", object: { metadata: META } },
    { name: "without a UID", object: { metadata: { ...META, uid: "" }, spec: {} } },
    { name: "without a resource version", object: { metadata: { ...META, resourceVersion: "" }, spec: {} } },
    { name: "whose containers are no list", object: { metadata: META, spec: {}, status: { containerStatuses: {} } } },
    { name: "that is none", object: {} },
  ])("$name is not understood", ({ object }) => {
    expect(() => readPod(object)).toThrow();
  });
});
