import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { podProjection, projectVolume } from "../../../../aggregator/sources/projections.ts";

const AGENTS = { namespace: "mooring-agents", account: "mooring-agent" };
const projectPod = podProjection(AGENTS);

const metadata = {
  name: "web-0",
  namespace: "shop",
  uid: "pod-1",
  resourceVersion: "200",
  creationTimestamp: "2026-03-01T12:00:00Z",
  labels: { app: "web" },
};
const NAME = "app.kubernetes.io/name";
const waiting = { name: "app", ready: false, state: { waiting: { reason: "ContainerCreating" } }, lastState: {} };
const running = { name: "app", ready: true, state: { running: { startedAt: "2026-03-01T12:00:05Z" } }, lastState: {} };
const ended = { name: "app", ready: false, state: { terminated: { exitCode: 0, reason: "Completed" } }, lastState: {} };
const restarting = {
  name: "app",
  state: { waiting: { reason: "CrashLoopBackOff" } },
  lastState: { terminated: { exitCode: 1, reason: "Error" } },
};
const START_ERROR = { terminated: { exitCode: 128, reason: "StartError" } };
/** What a kubelet says of a container that it does not find when the pod is over; `known` is what it knew of it. */
const unlocated = (known: object = {}) => ({
  ...{ name: "app", ready: false, restartCount: 0, started: false, lastState: {}, image: "app" },
  state: { terminated: { exitCode: 137, reason: "ContainerStatusUnknown", startedAt: null, finishedAt: null } },
  ...known,
});

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
      ephemeralClaims: ["web-0-scratch"],
      isTerminal: false,
      hasStarted: false,
      createdAtMs: 1_772_366_400_000,
    });
  });

  it("a claim that it names itself is not only its ephemeral volume's", () => {
    const pod = projectPod(
      podWith({ phase: "Pending" }, [
        { name: "scratch", ephemeral: {} },
        { name: "again", persistentVolumeClaim: { claimName: "web-0-scratch" } },
      ]),
    );

    expect(pod).toMatchObject({ claims: ["web-0-scratch"] });
    expect(pod.ephemeralClaims).toBeUndefined();
  });

  it.each<readonly [name: string, isAgent: true | undefined, change: object]>([
    ["Mooring's agent", true, {}],
    ["a tenant's pod with the agent's label", undefined, { namespace: "shop", account: "default" }],
    ["a tenant's pod with the label and an account of the agent's name", undefined, { namespace: "shop" }],
    ["a pod of another account beside the agents", undefined, { account: "default" }],
    ["a pod beside the agents without an account", undefined, { account: undefined }],
    ["another of Mooring's pods", undefined, { labels: { [NAME]: "mooring-aggregator" } }],
    ["a pod without labels", undefined, { labels: undefined }],
  ])("takes %s for an agent: %s", (_, isAgent, change) => {
    const pod = { namespace: AGENTS.namespace, account: AGENTS.account, labels: { [NAME]: "mooring-agent", x: "y" } };
    const { namespace, account, labels } = { ...pod, ...change };

    const projected = projectPod({
      metadata: { ...metadata, namespace, labels },
      spec: { serviceAccountName: account },
    });

    expect(projected.isAgent).toBe(isAgent);
  });

  it.each([
    { name: "that an agent rejected", reason: "VolumeNodeAffinity", text: '{"level":2}', level: 2 },
    { name: "that was evicted", reason: "Evicted", text: '{"level":2}', level: undefined },
    { name: "without the annotation", reason: "VolumeNodeAffinity", text: undefined, level: undefined },
  ])("knows of a failed pod $name whether an agent rejected it", ({ reason, text, level }) => {
    const annotations = text === undefined ? undefined : { "mooring.dev/rejected": text, other: "x" };

    const pod = projectPod({ metadata: { ...metadata, annotations }, spec: {}, status: { phase: "Failed", reason } });

    expect(pod.rejection?.level).toBe(level);
  });

  it.each([
    { name: "that has thirty seconds left", seconds: 30, ms: 1_795_255_170_000 },
    { name: "at once", seconds: 0, ms: 1_795_255_200_000 },
    { name: "with a grace that no clock can bear", seconds: Number.MAX_SAFE_INTEGER, ms: undefined },
    { name: "with a grace as far back", seconds: -Number.MAX_SAFE_INTEGER, ms: undefined },
  ])("knows when a pod's deletion was asked for $name", ({ seconds, ms }) => {
    const deletion = { deletionTimestamp: "2026-11-21T10:00:00Z", deletionGracePeriodSeconds: seconds };

    expect(projectPod({ metadata: { ...metadata, ...deletion }, spec: {} }).deletedAtMs).toBe(ms);
  });

  it("a pod that is not bound has no node, and one without volumes no claims", () => {
    const pod = projectPod({ metadata, spec: { nodeName: "", containers: [] } });

    expect(pod).toMatchObject({ node: undefined, claims: [], isTerminal: false, hasStarted: false });
  });

  it.each<readonly [name: string, hasStarted: boolean, statuses: object]>([
    ["no container status yet", false, {}],
    ["a container that waits", false, { containerStatuses: [waiting] }],
    ["a container that runs", true, { containerStatuses: [running] }],
    ["a container that ended", true, { containerStatuses: [ended] }],
    ["a container between two runs", true, { containerStatuses: [restarting] }],
    ["an init container that ran", true, { initContainerStatuses: [ended], containerStatuses: [waiting] }],
    ["a sidecar that runs", true, { initContainerStatuses: [running], containerStatuses: [waiting] }],
    ["an ephemeral container that runs", true, { ephemeralContainerStatuses: [running], containerStatuses: [waiting] }],
    ["a state that is null", false, { containerStatuses: [{ state: { running: null } }] }],
  ])("a pod with %s: it has started is %s", (_, hasStarted, statuses) => {
    expect(projectPod(podWith({ phase: "Pending", ...statuses })).hasStarted).toBe(hasStarted);
  });

  const unknown = { reason: "ContainerStatusUnknown" };
  it.each<readonly [name: string, hasStarted: boolean, statuses: readonly object[]]>([
    ["that never was", false, [unlocated()]],
    ["that never was, in few words", false, [{ state: unlocated().state }]],
    ["with an empty ID", false, [unlocated({ containerID: "" })]],
    ["of which none was", false, [unlocated(), unlocated({ name: "side" })]],
    ["beside one that ran", true, [unlocated(), ended]],
    ["that used to run", true, [unlocated({ lastState: { terminated: { ...unknown, startedAt: null } } })]],
    ["that the runtime had made", true, [unlocated({ containerID: "containerd://0a1b" })]],
    ["that was started again before", true, [unlocated({ restartCount: 1 })]],
    ["that was said to have started", true, [unlocated({ started: true })]],
    [
      "that tells when it started",
      true,
      [unlocated({ state: { terminated: { ...unknown, startedAt: "2026-03-01" } } })],
    ],
    ["that failed as it was started, for which its volumes were mounted", true, [unlocated({ state: START_ERROR })]],
    ["that ended without a word", true, [unlocated({ state: { terminated: {} } })]],
  ])("a failed pod with a container %s: it has started is %s", (_, hasStarted, containerStatuses) => {
    expect(projectPod(podWith({ phase: "Failed", containerStatuses })).hasStarted).toBe(hasStarted);
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
    });
  });

  it.each([
    { name: "none", annotations: undefined, kept: undefined },
    { name: "null", annotations: null, kept: undefined },
    { name: "others' only", annotations: { "a.b/c": "d" }, kept: undefined },
    {
      name: "ours beside others'",
      annotations: { "a.b/c": "d", "mooring.dev/mounted-on": "{}" },
      kept: { mountedOn: "{}", lastUse: undefined },
    },
    {
      name: "one that is longer than any that Mooring writes: as an empty text",
      annotations: { "mooring.dev/last-use": "x".repeat(16_385) },
      kept: { mountedOn: undefined, lastUse: "" },
    },
  ])("keeps of a volume's annotations $name", ({ annotations, kept }) => {
    expect(projectVolume({ metadata: { ...pv, annotations }, spec: {} }).annotations).toEqual(kept);
  });

  it.each([
    { name: "no claimRef", spec: {} },
    { name: "a claimRef that awaits its claim", spec: { claimRef: { namespace: "shop", name: "data" } } },
    { name: "a claimRef with an empty UID", spec: { claimRef: { ...claimRef, uid: "" } } },
  ])("a volume with $name belongs to no claim", ({ spec }) => {
    expect(projectVolume({ metadata: pv, spec }).claim).toBeUndefined();
  });

  it.each(["Bound", "Released"])("a volume that is %s tells since when, and when it was made", (phase) => {
    const made = { ...pv, creationTimestamp: "2026-11-21T11:59:00Z" };
    const status = { phase, lastPhaseTransitionTime: "2026-11-21T12:00:00Z" };

    const volume = projectVolume({ metadata: made, spec: { claimRef }, status });

    expect(volume).toMatchObject({ phase, phaseSinceMs: 1_795_262_400_000, createdAtMs: 1_795_262_340_000 });
  });

  it("an in-tree volume has the handle that Kubernetes makes for the driver behind it", () => {
    const { csi } = projectVolume({ metadata: pv, spec: { portworxVolume: { volumeID: "7401", fsType: "ext4" } } });

    expect(csi).toEqual({ driver: "pxd.portworx.com", handleHash: createHash("sha256").update("7401").digest("hex") });
  });

  it("keeps where it can be mounted as one text", () => {
    const required = { nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In", values: ["a"] }] }] };

    const { nodeAffinity } = projectVolume({ metadata: pv, spec: { nodeAffinity: { required } } });

    expect(JSON.parse(nodeAffinity ?? "")).toEqual(required);
    expect(projectVolume({ metadata: pv, spec: { nodeAffinity: {} } }).nodeAffinity).toBeUndefined();
  });

  it("a hostPath volume is known as one", () => {
    const spec = { claimRef, hostPath: { path: "/srv/data", type: "" } };

    expect(projectVolume({ metadata: pv, spec }).isHostPath).toBe(true);
  });
});
