import type { AffinityFacts, ContainerState, LiveNode, LivePod, LiveRead } from "./facts.ts";

/**
 * Whether a pod may be waiting for its volumes: `waits` if everything says so, `not-waiting` if something shows that it does not, or that it
 * is no concern of this node, `unknown` otherwise.
 */
export type VolumeWait =
  | { readonly kind: "waits" }
  | { readonly kind: "not-waiting"; readonly why: string }
  | { readonly kind: "unknown"; readonly why: string };

const notWaiting = (why: string): VolumeWait => ({ kind: "not-waiting", why });
const unknown = (why: string): VolumeWait => ({ kind: "unknown", why });

/** The reason of a waiting container before the kubelet has begun with it (kubelet_pods.go, `convertToAPIContainerStatuses`). */
const NOT_BEGUN: ReadonlySet<string | undefined> = new Set(["ContainerCreating", "PodInitializing"]);

/**
 * The kubelet creates the sandbox only after all volumes are mounted, so everything that comes after it shows that they were: an IP, the
 * condition `PodReadyToStartContainers`, a container past its creation. For a hostPath volume, which has no mount, this is the only
 * evidence.
 */
export function volumeWait(pod: LivePod, nodeName: string): VolumeWait {
  if (pod.nodeName !== nodeName) return notWaiting("it is not bound to this node");
  if (pod.isStatic) return unknown("it is a static pod, which the kubelet runs whatever the API server says");
  return waitByPhase(pod) ?? waitBySandbox(pod) ?? waitByContainers(pod.containers) ?? { kind: "waits" };
}

function waitByPhase({ phase, isDeleting, isGated }: LivePod): VolumeWait | undefined {
  if (phase === "Running") return notWaiting("it runs");
  if (phase === "Succeeded" || phase === "Failed") return notWaiting("it is over");
  if (phase !== "Pending") return unknown("its phase is none that Mooring knows");
  if (isDeleting) return notWaiting("it is being deleted");
  return isGated ? notWaiting("it has scheduling gates") : undefined;
}

function waitBySandbox({ podIps, isHostNetwork, readyToStartContainers }: LivePod): VolumeWait | undefined {
  if (readyToStartContainers === "True") return notWaiting("its sandbox is ready, so its volumes are mounted");
  if (podIps.length > 0) {
    return isHostNetwork
      ? unknown("it uses the node's network, so that its IP does not tell whether its volumes are mounted")
      : notWaiting("it has an IP, so its volumes are mounted");
  }
  return readyToStartContainers === undefined || readyToStartContainers === "False"
    ? undefined
    : unknown("it is not known whether its sandbox is ready");
}

function waitByContainers(containers: readonly ContainerState[]): VolumeWait | undefined {
  const begun = containers.find(
    ({ state, waitingReason, hasRun }) =>
      hasRun || state === "running" || state === "terminated" || (waitingReason && !NOT_BEGUN.has(waitingReason)),
  );
  if (begun !== undefined)
    return notWaiting(`container ${begun.name} is past being created, so its volumes are mounted`);
  const odd = containers.find(({ state, waitingReason }) => state !== "waiting" || !waitingReason);
  return odd && unknown(`the state of container ${odd.name} is not known`);
}

/**
 * Why the Node object cannot decide; undefined when it can. A Node that is not older than the pod's binding is another one than the pod
 * was bound to, except for a pod that waited for the node to join. One without labels has lost them, or has not got them yet: every
 * kubelet gives its Node some.
 */
export function nodeProblem(read: LiveRead<LiveNode>, pod: LivePod, self: AffinityFacts["self"]): string | undefined {
  if (read.kind === "missing") return "the Node object is missing";
  if (read.kind === "failed") return `the Node object could not be read: ${read.why}`;
  const node = read.value;
  if (node.name !== self.nodeName) return "another Node object was read than the one of this node";
  if (self.nodeUid === undefined) return "the agent does not know its own Node object yet";
  if (node.uid !== self.nodeUid) return "the Node object was made again";
  if (node.isDeleting) return "the Node object is being deleted";
  if (!isOlder(node.createdAtMs, pod.boundAtMs))
    return "the Node object is not known to be older than the pod's binding";
  return Object.keys(node.labels ?? {}).length === 0 ? "the Node object has no labels" : undefined;
}

/** Whole seconds: in equal ones either may be the older. */
function isOlder(one: number | undefined, other: number | undefined): boolean {
  return one !== undefined && other !== undefined && one < other;
}

/** Why the mount table does not prove an absence; undefined when it does. It has to be scanned after everything else was read. */
export function mountsProblem({
  mounts,
  readsEndedAt,
}: Pick<AffinityFacts, "mounts" | "readsEndedAt">): string | undefined {
  if (mounts === undefined) return "the mount table has not been read";
  if (mounts.incomplete !== undefined) return `the mount table was not read completely: ${mounts.incomplete}`;
  return mounts.beganAt >= readsEndedAt ? undefined : "the mount table was read before the rest";
}
