import * as v from "valibot";
import { claimVolumesOf, podVolumes } from "../../common/storage/pod-claims.ts";
import type { ContainerState, LivePod, PodVolume } from "../core/affinity/facts.ts";
import { controllerIn, identity, timeIn } from "./affinity-objects.ts";

const named = v.nullish(v.array(v.object({ name: v.string() })));

const container = v.object({ volumeMounts: named, volumeDevices: named });
const containers = v.nullish(v.array(container));

/** Whether there is such a member; what is in it is the runtime's. */
const member = v.nullish(v.custom<object>((input) => typeof input === "object" && input !== null, "must be an object"));

const state = v.nullish(
  v.object({
    waiting: v.nullish(v.object({ reason: v.nullish(v.string()) })),
    running: member,
    terminated: member,
  }),
);

const containerStatuses = v.nullish(
  v.array(
    v.object({
      name: v.string(),
      state,
      lastState: state,
      restartCount: v.nullish(v.number()),
      started: v.nullish(v.boolean()),
      containerID: v.nullish(v.string()),
    }),
  ),
);
type ContainerStatuses = v.InferOutput<typeof containerStatuses>;

const conditions = v.nullish(
  v.array(v.object({ type: v.string(), status: v.string(), lastTransitionTime: v.nullish(v.string()) })),
);

const schema = v.object({
  metadata: v.object({
    ...identity,
    namespace: v.string(),
    annotations: v.nullish(
      v.object({
        "kubernetes.io/config.mirror": v.nullish(v.string()),
        "kubernetes.io/config.source": v.nullish(v.string()),
      }),
    ),
  }),
  spec: v.object({
    nodeName: v.nullish(v.string()),
    hostNetwork: v.nullish(v.boolean()),
    schedulingGates: v.nullish(v.array(v.unknown())),
    volumes: podVolumes,
    initContainers: containers,
    containers,
    ephemeralContainers: containers,
  }),
  status: v.nullish(
    v.object({
      phase: v.nullish(v.string()),
      reason: v.nullish(v.string()),
      podIP: v.nullish(v.string()),
      podIPs: v.nullish(v.array(v.object({ ip: v.nullish(v.string()) }))),
      conditions,
      initContainerStatuses: containerStatuses,
      containerStatuses,
      ephemeralContainerStatuses: containerStatuses,
    }),
  ),
});
type Schema = v.InferOutput<typeof schema>;

/** A pod as it was read, with the fields that show whether it has been rejected. */
export interface ReadPod extends LivePod {
  /** `status.reason`, empty when there is none. */
  readonly reason: string;
}

/** Projects a pod to the fields that a decision about it needs. Throws `ValiError` for anything else. */
export function readPod(object: unknown): ReadPod {
  const { metadata, spec, status } = v.parse(schema, object);
  const { namespace, name, uid, resourceVersion, creationTimestamp } = metadata;
  return {
    namespace,
    name,
    uid,
    resourceVersion,
    boundAtMs: boundAt(status, creationTimestamp),
    nodeName: spec.nodeName || undefined,
    phase: status?.phase ?? "",
    reason: status?.reason ?? "",
    isDeleting: metadata.deletionTimestamp != null,
    isGated: (spec.schedulingGates ?? []).length > 0,
    isHostNetwork: spec.hostNetwork ?? false,
    podIps: ipsIn(status),
    readyToStartContainers: status?.conditions?.find(({ type }) => type === "PodReadyToStartContainers")?.status,
    isStatic: isStatic(metadata),
    containers: [
      ...statesOf("init", status?.initContainerStatuses),
      ...statesOf("main", status?.containerStatuses),
      ...statesOf("ephemeral", status?.ephemeralContainerStatuses),
    ],
    owner: controllerIn(metadata.ownerReferences),
    volumes: claimVolumes(name, spec),
  };
}

/** A binding sets the condition; a pod that was created with its node's name has none until the kubelet adds it. */
function boundAt(status: Schema["status"], createdAt: string | null | undefined): number | undefined {
  const scheduled = status?.conditions?.find(({ type, status: is }) => type === "PodScheduled" && is === "True");
  return timeIn(scheduled === undefined ? createdAt : scheduled.lastTransitionTime);
}

function ipsIn(status: Schema["status"]): readonly string[] {
  const ips = [status?.podIP, ...(status?.podIPs ?? []).map(({ ip }) => ip)];
  return [...new Set(ips.flatMap((ip) => (ip ? [ip] : [])))];
}

/** The annotations are the kubelet's: k8s.io/kubernetes: pkg/kubelet/types/pod_update.go. */
function isStatic({ annotations, ownerReferences }: Schema["metadata"]): boolean {
  const source = annotations?.["kubernetes.io/config.source"];
  const isFromElsewhere = source != null && source !== "api";
  return (
    annotations?.["kubernetes.io/config.mirror"] != null ||
    isFromElsewhere ||
    (ownerReferences ?? []).some(({ kind }) => kind === "Node")
  );
}

function statesOf(kind: ContainerState["kind"], statuses: ContainerStatuses): readonly ContainerState[] {
  return (statuses ?? []).map((status) => ({
    name: status.name,
    kind,
    state: stateOf(status.state),
    waitingReason: status.state?.waiting?.reason || undefined,
    hasRun:
      stateOf(status.lastState) !== "none" ||
      (status.restartCount ?? 0) > 0 ||
      status.started === true ||
      (status.containerID ?? "") !== "",
  }));
}

function stateOf(state: NonNullable<ContainerStatuses>[number]["state"]): ContainerState["state"] {
  const set = (["waiting", "running", "terminated"] as const).filter((name) => state?.[name] != null);
  const [only] = set;
  if (only === undefined) return "none";
  return set.length === 1 ? only : "several";
}

/** The volumes that name a claim. A volume that a container names is used, whatever else the container does. */
function claimVolumes(pod: string, spec: Schema["spec"]): readonly PodVolume[] {
  const all = [spec.initContainers, spec.containers, spec.ephemeralContainers].flatMap((list) => list ?? []);
  const mounted = new Set(all.flatMap(({ volumeMounts }) => (volumeMounts ?? []).map(({ name }) => name)));
  const mapped = new Set(all.flatMap(({ volumeDevices }) => (volumeDevices ?? []).map(({ name }) => name)));
  return claimVolumesOf(pod, spec.volumes).map((volume) => ({
    ...volume,
    isMounted: mounted.has(volume.name),
    isMapped: mapped.has(volume.name),
  }));
}
