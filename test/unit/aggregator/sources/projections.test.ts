import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { projectNode, projectPod, projectVolume } from "../../../../aggregator/sources/projections.ts";

const metadata = {
  name: "web-0",
  namespace: "shop",
  uid: "pod-1",
  resourceVersion: "200",
  creationTimestamp: "2026-03-01T12:00:00Z",
  labels: { app: "web" },
};
const waiting = { name: "app", ready: false, state: { waiting: { reason: "ContainerCreating" } }, lastState: {} };
const running = { name: "app", ready: true, state: { running: { startedAt: "2026-03-01T12:00:05Z" } }, lastState: {} };
const ended = { name: "app", ready: false, state: { terminated: { exitCode: 0, reason: "Completed" } }, lastState: {} };
const restarting = {
  name: "app",
  state: { waiting: { reason: "CrashLoopBackOff" } },
  lastState: { terminated: { exitCode: 1, reason: "Error" } },
};

function podWith(status: object | undefined, volumes?: readonly object[]): object {
  return { kind: "Pod", metadata, spec: { nodeName: "n1", containers: [{ name: "app" }], volumes }, status };
}

describe("projectPod", () => {
  it("keeps the claims it names, those of generic ephemeral volumes included", () => {
    const pod = projectPod(
      podWith({ phase: "Pending" }, [
        { name: "data", persistentVolumeClaim: { claimName: "data", readOnly: true } },
        { name: "scratch", ephemeral: { volumeClaimTemplate: { spec: {} } } },
        { name: "kube-api-access", projected: { sources: [] } },
        { name: "inline", csi: { driver: "csi.example" } },
        { name: "tmp", emptyDir: {} },
      ]),
    );

    expect(pod).toEqual({
      key: "shop/web-0",
      uid: "pod-1",
      resourceVersion: "200",
      node: "n1",
      claims: ["data", "web-0-scratch"],
      isTerminal: false,
      hasStarted: false,
    });
  });

  it("a pod that is not bound has no node, and one without volumes no claims", () => {
    const pod = projectPod({ metadata, spec: { nodeName: "", containers: [] } });

    expect(pod).toMatchObject({ node: undefined, claims: [], isTerminal: false, hasStarted: false });
  });

  it.each([
    { name: "no container status yet", status: { phase: "Pending" }, hasStarted: false },
    { name: "a container that waits", status: { phase: "Pending", containerStatuses: [waiting] }, hasStarted: false },
    { name: "a container that runs", status: { phase: "Running", containerStatuses: [running] }, hasStarted: true },
    { name: "a container that ended", status: { phase: "Succeeded", containerStatuses: [ended] }, hasStarted: true },
    {
      name: "a container between two runs",
      status: { phase: "Running", containerStatuses: [restarting] },
      hasStarted: true,
    },
    {
      name: "an init container that ran while the others wait",
      status: { phase: "Pending", initContainerStatuses: [ended], containerStatuses: [waiting] },
      hasStarted: true,
    },
    {
      name: "a sidecar that runs while the others wait",
      status: {
        phase: "Pending",
        initContainerStatuses: [{ ...running, started: true }],
        containerStatuses: [waiting],
      },
      hasStarted: true,
    },
    {
      name: "an ephemeral container that runs",
      status: { phase: "Running", containerStatuses: [waiting], ephemeralContainerStatuses: [running] },
      hasStarted: true,
    },
    {
      name: "a state that is null",
      status: { phase: "Pending", containerStatuses: [{ state: { running: null } }] },
      hasStarted: false,
    },
  ])("$name: it has started is $hasStarted", ({ status, hasStarted }) => {
    expect(projectPod(podWith(status)).hasStarted).toBe(hasStarted);
  });

  it.each([
    { phase: "Pending", isTerminal: false },
    { phase: "Running", isTerminal: false },
    { phase: "Unknown", isTerminal: false },
    { phase: "Succeeded", isTerminal: true },
    { phase: "Failed", isTerminal: true },
  ])("phase $phase: terminal is $isTerminal, whatever the deletion timestamp", ({ phase, isTerminal }) => {
    const deleting = { ...metadata, deletionTimestamp: "2026-03-01T12:01:00Z" };

    expect(projectPod({ metadata: deleting, spec: {}, status: { phase } }).isTerminal).toBe(isTerminal);
  });

  it.each([{}, null, { metadata: {} }, { metadata, spec: { volumes: "none" } }])(
    "refuses what is no pod: %j",
    (object) => {
      expect(() => projectPod(object)).toThrow();
    },
  );
});

describe("projectVolume", () => {
  const pv = { name: "pv-1", uid: "volume-1", resourceVersion: "300" };
  const claimRef = { kind: "PersistentVolumeClaim", namespace: "shop", name: "data", uid: "claim-1" };

  it("keeps the claim by UID, and driver and hashed handle of a CSI volume", () => {
    const csi = { driver: "csi.example", volumeHandle: "vol-0a1b", fsType: "ext4" };

    const kind = { storageClassName: "fast", capacity: { storage: "10Gi" }, persistentVolumeReclaimPolicy: "Retain" };

    const volume = projectVolume({ metadata: pv, spec: { claimRef, csi, ...kind }, status: { phase: "Bound" } });

    expect(volume).toEqual({
      ...{ storageClass: "fast", capacity: "10Gi", reclaimPolicy: "Retain", phase: "Bound", phaseSinceMs: undefined },
      key: "pv-1",
      uid: "volume-1",
      resourceVersion: "300",
      claim: { key: "shop/data", uid: "claim-1" },
      csi: { driver: "csi.example", handleHash: createHash("sha256").update("vol-0a1b").digest("hex") },
      isHostPath: false,
      boundSinceMs: undefined,
    });
  });

  it.each([
    { name: "no claimRef", spec: {} },
    { name: "a claimRef that awaits its claim", spec: { claimRef: { namespace: "shop", name: "data" } } },
    { name: "a claimRef with an empty UID", spec: { claimRef: { ...claimRef, uid: "" } } },
  ])("a volume with $name belongs to no claim", ({ spec }) => {
    expect(projectVolume({ metadata: pv, spec }).claim).toBeUndefined();
  });

  it.each([
    { name: "a bound volume tells since when", phase: "Bound", boundSinceMs: 1_795_262_400_000 },
    {
      name: "a released volume is not bound, whatever its last transition",
      phase: "Released",
      boundSinceMs: undefined,
    },
  ])("$name", ({ phase, boundSinceMs }) => {
    const status = { phase, lastPhaseTransitionTime: "2026-11-21T12:00:00Z" };

    const volume = projectVolume({ metadata: pv, spec: { claimRef }, status });

    expect(volume).toMatchObject({ phase, phaseSinceMs: 1_795_262_400_000, boundSinceMs });
  });

  it("a hostPath volume is known as one", () => {
    const spec = { claimRef, hostPath: { path: "/srv/data", type: "" } };

    expect(projectVolume({ metadata: pv, spec }).isHostPath).toBe(true);
  });
});

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
    const object = { metadata: { name: "n1", uid: "node-1", resourceVersion: "1" }, spec: {}, status };

    expect(projectNode(object)).toEqual({ key: "n1", uid: "node-1", resourceVersion: "1", bootId });
  });

  it("keeps what the kubelet says of the node's system, unless nobody could print it", () => {
    const nodeInfo = { osImage: "Ubuntu 26.04 LTS", containerRuntimeVersion: "\u001b[2J" };
    const object = { metadata: { name: "n1", uid: "node-1", resourceVersion: "1" }, status: { nodeInfo } };

    expect(projectNode(object)).toMatchObject({ distribution: "Ubuntu 26.04 LTS", containerRuntime: undefined });
  });
});
