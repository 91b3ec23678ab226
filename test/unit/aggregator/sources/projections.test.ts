import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { projectPod as project, projectVolume } from "../../../../aggregator/sources/projections.ts";

const AGENTS = { namespace: "mooring-agents", account: "mooring-agent" };
const projectPod = (object: unknown) => project(object, AGENTS);

const metadata = {
  ...{ name: "web-0", namespace: "shop", uid: "pod-1", resourceVersion: "200", labels: { app: "web" } },
  creationTimestamp: "2026-03-01T12:00:00Z",
};
const NAME = "app.kubernetes.io/name";
const hashed = (handle: string): string => createHash("sha256").update(handle).digest("hex");

const podWith = (status: object, volumes?: readonly object[]): object => {
  return { kind: "Pod", metadata, spec: { nodeName: "n1", containers: [{ name: "app" }], volumes }, status };
};

describe("what is kept of a pod", () => {
  it("is the claims that it names, those of generic ephemeral volumes included", () => {
    const volumes = [
      { name: "data", persistentVolumeClaim: { claimName: "data", readOnly: true } },
      { name: "scratch", ephemeral: { volumeClaimTemplate: { spec: {} } } },
      { name: "kube-api-access", projected: { sources: [] } },
      { name: "inline", csi: { driver: "csi.example" } },
      { name: "tmp", emptyDir: {} },
    ];

    expect(projectPod(podWith({ phase: "Pending" }, volumes))).toEqual({
      ...{ key: "shop/web-0", uid: "pod-1", resourceVersion: "200", node: "n1", createdAtMs: 1_772_366_400_000 },
      ...{ claims: ["shop/data", "shop/web-0-scratch"], ephemeralClaims: ["shop/web-0-scratch"] },
      ...{ isTerminal: false, hasStarted: false },
    });
  });

  it("does not take a claim that it names itself for its ephemeral volume's, and has no empty fields", () => {
    const again = { name: "again", persistentVolumeClaim: { claimName: "web-0-scratch" } };
    const pod = projectPod(podWith({}, [{ name: "scratch", ephemeral: {} }, again]));
    const bare = projectPod({ metadata, spec: { nodeName: "", containers: [] } });

    expect([pod.claims, pod.ephemeralClaims]).toEqual([["shop/web-0-scratch"], undefined]);
    expect(bare).toMatchObject({ node: undefined, claims: [], isTerminal: false, hasStarted: false });
  });

  it.each<readonly [name: string, isAgent: true | undefined, change: object]>([
    ["Mooring's agent", true, {}],
    ["a tenant's pod with the agent's label", undefined, { namespace: "shop", account: "default" }],
    ["a tenant's pod with the label and an account of the agent's name", undefined, { namespace: "shop" }],
    ["a pod of another account beside the agents", undefined, { account: "default" }],
    ["a pod beside the agents without an account", undefined, { account: undefined }],
    ["another of Mooring's pods", undefined, { labels: { [NAME]: "mooring-aggregator" } }],
    ["a pod without labels", undefined, { labels: undefined }],
  ])("says of %s whether it is an agent: %s", (_, isAgent, change) => {
    const pod = { ...AGENTS, labels: { [NAME]: "mooring-agent", x: "y" } };
    const { namespace, account, labels } = { ...pod, ...change };
    const spec = { serviceAccountName: account };

    expect(projectPod({ metadata: { ...metadata, namespace, labels }, spec }).isAgent).toBe(isAgent);
  });

  it.each([
    ["that an agent rejected it", "VolumeNodeAffinity", '{"level":2}', 2],
    ["nothing of a rejection where it was evicted", "Evicted", '{"level":2}', undefined],
    ["nothing of a rejection without the annotation", "VolumeNodeAffinity", undefined, undefined],
  ])("is, of one that failed, %s", (...[, reason, text, level]) => {
    const annotations = text === undefined ? undefined : { "mooring.dev/rejected": text, other: "x" };

    const pod = projectPod({ metadata: { ...metadata, annotations }, spec: {}, status: { phase: "Failed", reason } });

    expect(pod.rejection?.level).toBe(level);
  });

  it.each([
    ["with thirty seconds left", 30, 1_795_255_170_000],
    ["at once", 0, 1_795_255_200_000],
    ["with a grace that no clock can bear", Number.MAX_SAFE_INTEGER, undefined],
    ["with a grace as far back", -Number.MAX_SAFE_INTEGER, undefined],
  ])("is when its deletion was asked for: %s", (_, seconds, ms) => {
    const deletion = { deletionTimestamp: "2026-11-21T10:00:00Z", deletionGracePeriodSeconds: seconds };

    expect(projectPod({ metadata: { ...metadata, ...deletion }, spec: {} }).deletedAtMs).toBe(ms);
  });

  it.each([
    ["Pending", false],
    ["Running", false],
    ["Unknown", false],
    ["Succeeded", true],
    ["Failed", true],
  ])("says in phase %s whether it is over, be it deleted or not: %s", (phase, isTerminal) => {
    const deleting = { ...metadata, deletionTimestamp: "2026-03-01T12:01:00Z" };

    const pods = [metadata, deleting].map((one) => projectPod({ metadata: one, spec: {}, status: { phase } }));

    expect(pods.map((pod) => pod.isTerminal)).toEqual([isTerminal, isTerminal]);
  });

  it.each([{}, null, { metadata: {} }, { metadata, spec: { volumes: "none" } }])("is nothing of %j", (object) => {
    expect(() => projectPod(object)).toThrow();
  });
});

describe("whether a pod has started", () => {
  const waiting = { name: "app", ready: false, state: { waiting: { reason: "ContainerCreating" } }, lastState: {} };
  const running = { name: "app", ready: true, state: { running: { startedAt: "2026-03-01T12:00:05Z" } } };
  const ended = { name: "app", ready: false, state: { terminated: { exitCode: 0, reason: "Completed" } } };
  const lastState = { terminated: { exitCode: 1, reason: "Error" } };
  const restarting = { name: "app", state: { waiting: { reason: "CrashLoopBackOff" } }, lastState };

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
  ])("is by %s: %s", (_, hasStarted, statuses) => {
    expect(projectPod(podWith({ phase: "Pending", ...statuses })).hasStarted).toBe(hasStarted);
  });

  const unknown = { exitCode: 137, reason: "ContainerStatusUnknown", startedAt: null, finishedAt: null };
  /** What a kubelet says of a container that it does not find when the pod is over; `known` is what it knew of it. */
  const unlocated = (known: object = {}) => ({
    ...{ name: "app", ready: false, restartCount: 0, started: false, lastState: {}, image: "app" },
    state: { terminated: unknown },
    ...known,
  });
  const dated = { state: { terminated: { ...unknown, startedAt: "2026-03-01" } } };
  const startError = { state: { terminated: { exitCode: 128, reason: "StartError" } } };

  it.each<readonly [name: string, hasStarted: boolean, statuses: readonly object[]]>([
    ["that never was", false, [unlocated()]],
    ["that never was, in a short status", false, [{ state: unlocated().state }]],
    ["with an empty ID", false, [unlocated({ containerID: "" })]],
    ["of which none was", false, [unlocated(), unlocated({ name: "side" })]],
    ["beside one that ran", true, [unlocated(), ended]],
    ["that used to run", true, [unlocated({ lastState: { terminated: unknown } })]],
    ["that the runtime had made", true, [unlocated({ containerID: "containerd://0a1b" })]],
    ["that was started again before", true, [unlocated({ restartCount: 1 })]],
    ["that was said to have started", true, [unlocated({ started: true })]],
    ["with a start time", true, [unlocated(dated)]],
    ["that failed as it was started, for which its volumes were mounted", true, [unlocated(startError)]],
    ["that ended with an empty status", true, [unlocated({ state: { terminated: {} } })]],
  ])("is, of a failed one, by a container %s: %s", (_, hasStarted, containerStatuses) => {
    expect(projectPod(podWith({ phase: "Failed", containerStatuses })).hasStarted).toBe(hasStarted);
  });
});

describe("what is kept of a volume", () => {
  const pv = { name: "pv-1", uid: "volume-1", resourceVersion: "300" };
  const claimRef = { kind: "PersistentVolumeClaim", namespace: "shop", name: "data", uid: "claim-1" };

  it("is the claim by UID, and driver and hashed handle of a CSI volume", () => {
    const csi = { driver: "csi.example", volumeHandle: "vol-0a1b", fsType: "ext4" };
    const kind = { storageClassName: "fast", capacity: { storage: "10Gi" }, persistentVolumeReclaimPolicy: "Retain" };

    expect(projectVolume({ metadata: pv, spec: { claimRef, csi, ...kind }, status: { phase: "Bound" } })).toEqual({
      ...{ key: "pv-1", uid: "volume-1", resourceVersion: "300", phase: "Bound", phaseSinceMs: undefined },
      ...{ storageClass: "fast", capacity: "10Gi", reclaimPolicy: "Retain", isHostPath: false },
      claim: { key: "shop/data", uid: "claim-1" },
      csi: { driver: "csi.example", handleHash: hashed("vol-0a1b") },
    });
  });

  const required = { nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In", values: ["a"] }] }] };
  it.each<readonly [name: string, spec: object, kept: object]>(
    // biome-ignore format: a row is a line
    [
      ["no claim without a claimRef", {}, { claim: undefined }],
      ["no claim that it awaits", { claimRef: { namespace: "shop", name: "data" } }, { claim: undefined }],
      ["no claim with an empty UID", { claimRef: { ...claimRef, uid: "" } }, { claim: undefined }],
      ["where it can be mounted, as one text", { nodeAffinity: { required } }, { nodeAffinity: JSON.stringify(required) }],
      ["nothing of an affinity that asks for nothing", { nodeAffinity: {} }, { nodeAffinity: undefined }],
      ["that it is a hostPath one", { claimRef, hostPath: { path: "/srv/data", type: "" } }, { isHostPath: true }],
    ],
  )("is %s", (_, spec, kept) => {
    expect(projectVolume({ metadata: pv, spec })).toMatchObject(kept);
  });

  const awsVolume = (volumeID: string): object => ({ awsElasticBlockStore: { volumeID } });
  const DISK = "/subscriptions/s/resourceGroups/g/disks/d";
  const VMDK = "[ds] kubevols/d.vmdk";
  it.each<readonly [name: string, spec: object, csi: string | undefined]>([
    ["an EBS volume by its ID", awsVolume("vol-02399794d890f9375"), "ebs.csi.aws.com vol-02399794d890f9375"],
    ["an EBS volume by a URL with its zone", awsVolume("aws://us-west-2a/vol-1"), "ebs.csi.aws.com vol-1"],
    ["no EBS volume that upstream refuses to translate", awsVolume("aws://us-west-2a/02399794"), undefined],
    ["an Azure disk by its URI", { azureDisk: { diskURI: DISK } }, `disk.csi.azure.com ${DISK}`],
    ["a Cinder volume", { cinder: { volumeID: "c-1" } }, "cinder.csi.openstack.org c-1"],
    ["a vSphere disk by its path", { vsphereVolume: { volumePath: VMDK } }, `csi.vsphere.vmware.com ${VMDK}`],
    ["a Portworx volume by its ID", { portworxVolume: { volumeID: "p-1" } }, "pxd.portworx.com p-1"],
    ["no other source", {}, undefined],
  ])("is the handle that Kubernetes makes for an in-tree one: %s", (_, spec, csi) => {
    const found = projectVolume({ metadata: pv, spec }).csi;

    const [driver, handle = ""] = csi?.split(/ (.*)/s) ?? [];
    expect(found).toEqual(csi && { driver, handleHash: hashed(handle) });
  });

  const own = { "a.b/c": "d", "mooring.dev/mounted-on": "{}" };
  const long = { "mooring.dev/last-use": "x".repeat(16_385) };
  it.each<readonly [name: string, annotations: object | null | undefined, kept: object | undefined]>([
    ["none", undefined, undefined],
    ["null", null, undefined],
    ["none of others", { "a.b/c": "d" }, undefined],
    ["ours beside others'", own, { mountedOn: "{}", lastUse: undefined }],
    ["one that is longer than any of Mooring's as an empty text", long, { mountedOn: undefined, lastUse: "" }],
  ])("is of its annotations %s", (_, annotations, kept) => {
    expect(projectVolume({ metadata: { ...pv, annotations }, spec: {} }).annotations).toEqual(kept);
  });

  it.each(["Bound", "Released"])("is when it was made and since when it is %s", (phase) => {
    const made = { ...pv, creationTimestamp: "2026-11-21T11:59:00Z" };
    const status = { phase, lastPhaseTransitionTime: "2026-11-21T12:00:00Z" };

    const volume = projectVolume({ metadata: made, spec: { claimRef }, status });

    expect(volume).toMatchObject({ phase, phaseSinceMs: 1_795_262_400_000, createdAtMs: 1_795_262_340_000 });
  });
});
