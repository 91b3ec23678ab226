import type { HttpRequest } from "../../../common/kube/transport.ts";
import type { Docket } from "../../judge/docket.ts";
import type { StoreEvent } from "../engine/api/api.ts";
import type { ApiObject } from "../engine/api/objects.ts";
import { type ClaimRecord, claimNamesOf, meansClaim } from "../world/claims.ts";
import { NAMESPACE } from "../world/objects.ts";
import type { PodRecord } from "../world/pods.ts";
import { stagedSince } from "../world/staging.ts";
import type { World } from "../world/world.ts";
import { PlacementLoops, runOf } from "./placement-loops.ts";

/** docs/affinity.md: when an agent sends a rejection, its reads are at most five seconds old. True milliseconds, by clocks that drift. */
const DECIDED_MS = 5_100;
/** The node's labels are rather wrong when this many of its pods, and more than half of those with claims, would be rejected. */
const MOST_WRONG = 3;
/** The ephemeral claim of a pod is created at most this long after the pod. True milliseconds. */
const MADE_FOR_IT_MS = 100;

/** An agent may rely on a policy for this long after it saw it in force. True milliseconds, by clocks that drift. */
const CONFINED_MS = 10_200;
/** docs/affinity.md: how long a pod waits before --reject-attached fails it, and by when that has surely happened. True milliseconds. */
const ATTACHED_MS = 110_000;
const ATTACHED_DONE_MS = 200_000;
/**
 * docs/affinity.md: how long a rejection has held before the agent deletes its pod, and by when that has surely happened. True
 * milliseconds.
 */
const STANDS_MS = 13_500;
const DELETED_BY_MS = 100_000;
const STARTED = "it had started";
/** How often an agent repeats a rejection that the kubelet takes back. */
const TRIES = 3;

/** Judges each rejection of a pod at the moment of its write. */
export class PlacementWatch {
  readonly #world: World;
  /** By pod UID: when agents failed it, and in which run. */
  readonly #failed = new Map<string, readonly { readonly atMs: number; readonly run: unknown }[]>();
  readonly #loops: PlacementLoops;
  /** By the version that it was decided on: when the write was first sent. */
  readonly #sent = new Map<string, number>();
  readonly #docket: Docket;
  /** UIDs of pods that still wait: each is counted once. */
  readonly #left = new Set<string>();

  constructor(world: World, docket: Docket) {
    this.#world = world;
    this.#docket = docket;
    this.#loops = new PlacementLoops(world);
    world.engine.api.observe((event) => this.#onEvent(event));
  }

  onRequest({ body }: HttpRequest): void {
    const version = versionIn(body);
    if (version !== undefined && !this.#sent.has(version)) this.#sent.set(version, this.#world.now);
  }

  #onEvent({ type, resource, by, object, previous }: StoreEvent): void {
    if (resource !== "pods" || by?.startsWith("agent-") !== true) return;
    const { uid, name } = object.metadata;
    const isDeletion = type === "DELETED" || object.metadata.deletionTimestamp !== previous?.metadata.deletionTimestamp;
    if (isDeletion) {
      const why = this.#whyKept(uid, object);
      this.#docket.judge("placement", why === undefined, () => `${name} was deleted by ${by}, and ${why}`);
    }
    if (isDeletion || phaseOf(object) !== "Failed") return;
    const why = this.#whyNot(by, uid, previous) ?? this.#loops.whyNot(by, uid);
    this.#loops.note(by, uid);
    const failed = { atMs: this.#world.now, run: runOf(this.#world, by) };
    this.#failed.set(uid, [...(this.#failed.get(uid) ?? []), failed]);
    if (why === STARTED && this.#isStartUnseen(uid)) {
      this.#docket.excuse("placement", "a hostPath volume, and no status said yet that its pod had started");
      return;
    }
    this.#docket.judge("placement", why === undefined, () => `${name} was failed by ${by}, and ${why}`);
    if (why === undefined) this.#docket.judge("placed", true, () => "");
  }

  timesRejected(uid: string): number {
    return this.#failed.get(uid)?.length ?? 0;
  }

  /** Everything has worked for long enough: no pod still waits for a volume that its node must not use. */
  rests(docket: Docket): void {
    const world = this.#world;
    for (const pod of world.cluster.pods.there) {
      if (this.#isLeftFailed(pod)) docket.judge("placed", false, () => `${pod.name} was failed, and is not deleted`);
      if (pod.isOver || !isExcluded(world, pod) || !isStuck(world, pod)) continue;
      const excuse = this.#whyLeft(pod);
      if (excuse === undefined) docket.judge("placed", false, () => `${pod.name} waits on ${pod.node}`);
      else if (!this.#left.has(pod.uid)) docket.excuse("placed", excuse);
      if (docket === this.#docket) this.#left.add(pod.uid);
    }
  }

  /** Why a waiting pod may go on waiting. */
  #whyLeft(pod: PodRecord): string | undefined {
    if (isNodeWrong(this.#world, pod.node)) return "most pods of its node would be rejected";
    return (this.#failed.get(pod.uid)?.length ?? 0) >= TRIES ? "its kubelet reverted each rejection" : undefined;
  }

  /** An agent with --delete-rejected has not deleted its rejected pod. */
  #isLeftFailed({ uid, node, name }: PodRecord): boolean {
    const { nodes, rejections, now, engine } = this.#world;
    const last = this.#failed.get(uid)?.at(-1)?.atMs ?? now;
    const hasAgent = nodes.some((one) => one.name === node && one.agentPodUid !== undefined);
    // Where the pod ended for another reason, its kubelet has overwritten the rejection.
    const isRejected = isByAgent(engine.api.get({ resource: "pods", namespace: NAMESPACE, name }));
    return rejections.settings?.deleteRejected === true && hasAgent && isRejected && now - last > DELETED_BY_MS;
  }

  /** Why the agent should not have deleted the pod; undefined where it should. */
  #whyKept(uid: string, pod: ApiObject): string | undefined {
    const { now, rejections } = this.#world;
    const { settings } = rejections;
    const failed = this.#failed.get(uid) ?? [];
    const last = failed.at(-1)?.atMs ?? now;
    if (failed.length === 0) return "no agent had failed it";
    const isRejected = settings?.deleteRejected === true && phaseOf(pod) === "Failed";
    const isReverted = settings?.deleteReverted === true && phaseOf(pod) === "Pending";
    if (!isRejected && !isReverted) return `it is ${phaseOf(pod)}, and no setting asks for that`;
    return isRejected && now - last < STANDS_MS
      ? `had been failed only ${Math.round(now - last)} ms before`
      : undefined;
  }

  /** docs/affinity.md: a hostPath volume is never mounted, so that only the status of a pod tells that it has started. */
  #isStartUnseen(uid: string): boolean {
    const pod = this.#world.cluster.pods.byUid(uid);
    const wrong = pod === undefined ? [] : claimsOf(this.#world, pod).filter((claim) => this.#isWrong(pod, claim));
    return wrong.every(({ volume }) => volume.kind === "host-path");
  }

  #isWrong({ node }: PodRecord, { volume }: ClaimRecord): boolean {
    return this.#world.cluster.placement.isExcluded(volume.pv, node);
  }

  /** Why the agent should not have failed the pod; undefined where it should. */
  #whyNot(by: string, uid: string, previous: ApiObject | undefined): string | undefined {
    const { cluster, nodes, truth, now } = this.#world;
    const pod = cluster.pods.byUid(uid);
    const node = nodes.find(({ name }) => `agent-${name}` === by);
    if (pod === undefined || pod.node !== node?.name) return "it is not on that node";
    const isOfRun = ({ run }: { readonly run: unknown }): boolean => run === runOf(this.#world, by);
    if ((this.#failed.get(uid)?.filter(isOfRun).length ?? 0) >= TRIES) return "it had failed it three times before";
    if (previous === undefined || phaseOf(previous) !== "Pending" || previous.metadata.deletionTimestamp !== undefined)
      return "it no longer waited";
    // Containers of an earlier boot ended with it: the pod waits for its volumes again. Where a user deletes a claim under a pod by hand
    // and recreates it, nothing shows the volume that the pod began with.
    const isFirst = claimsOf(this.#world, pod).every(
      ({ uid: one }) => (cluster.claims.madeAt(one) ?? 0) <= pod.madeAt + MADE_FOR_IT_MS,
    );
    if (pod.startedIn === node.machine.bootId() && isFirst) return STARTED;
    const sinceMs = (this.#sent.get(previous.metadata.resourceVersion) ?? now) - DECIDED_MS;
    const wrong = claimsOf(this.#world, pod).filter(({ volume }) =>
      cluster.placement.wasExcluded(volume.pv, pod.node, sinceMs),
    );
    if (wrong.length === 0) return "no volume of it excludes its node";
    if ((this.#world.rejections.unconfinedSince ?? now) < sinceMs + DECIDED_MS - CONFINED_MS)
      return "no policy was in force";
    const isWaiting = ({ uid: claimUid, volume }: ClaimRecord): boolean => {
      const use = truth.usesOf(claimUid).find((one) => one.podUid === uid && one.endedAt === undefined);
      const stagedMs = stagedSince(node, volume) ?? now;
      const isAttached = isCsi(volume) && cluster.placement.attachedSince(volume.handle, pod.node) < sinceMs;
      const isThere = isAttached || stagedMs < sinceMs;
      const isPast = mayRejectAttached(this.#world, pod, ATTACHED_MS);
      return (use?.beganAt ?? now) >= sinceMs && (!isThere || isPast);
    };
    return wrong.some(isWaiting) ? undefined : "each volume of it that excludes its node is attached or mounted there";
  }
}

/** Most of its pods would be rejected: its labels are rather wrong. */
function isNodeWrong(world: World, node: string): boolean {
  const pods = world.cluster.pods.on(node).filter((pod) => !pod.isOver && claimNamesOf(pod).length > 0);
  const wrong = pods.filter((pod) => isExcluded(world, pod)).length;
  return wrong >= MOST_WRONG && wrong * 2 > pods.length;
}

function isExcluded(world: World, pod: PodRecord): boolean {
  return claimsOf(world, pod).some(({ volume }) => world.cluster.placement.isExcluded(volume.pv, pod.node));
}

/** The pod has not begun, all its objects exist, and its node has none of the excluded volumes. */
function isStuck(world: World, pod: PodRecord): boolean {
  const { cluster, nodes } = world;
  const node = nodes.find(({ name }) => name === pod.node);
  if (
    node?.agentPodUid === undefined ||
    pod.startedIn !== undefined ||
    pod.isDeleting ||
    cluster.wasRecreated(pod.node)
  )
    return false;
  const claims = claimsOf(world, pod);
  if (claims.length < claimNamesOf(pod).length || claims.some(({ isDeleting }) => isDeleting)) return false;
  return (
    claims.every(({ volume }) => {
      const isThere =
        (isCsi(volume) && cluster.placement.isAttached(volume.handle, pod.node)) ||
        stagedSince(node, volume) !== undefined;
      return !isThere || mayRejectAttached(world, pod, ATTACHED_DONE_MS);
    }) && !world.truth.all.some(({ podUid, endedAt }) => podUid === pod.uid && endedAt === undefined)
  );
}

/** It has waited for this long, and its agent runs with --reject-attached. */
function mayRejectAttached({ rejections, now }: World, { boundAt = now }: PodRecord, forMs: number): boolean {
  return rejections.settings?.rejectAttached === true && now - boundAt >= forMs;
}

/** No controller attaches a volume of any other kind. */
function isCsi({ kind }: ClaimRecord["volume"]): boolean {
  return kind.startsWith("csi");
}

function claimsOf({ cluster }: World, pod: PodRecord): readonly ClaimRecord[] {
  return cluster.claims.all.filter((claim) => meansClaim(pod, claim));
}

/** The version that a write was decided on. Each object has its own. */
function versionIn(body: string | undefined): string | undefined {
  return /"resourceVersion":"([^"]*)"/.exec(body ?? "")?.[1];
}

function isByAgent(pod: ApiObject | undefined): boolean {
  return phaseOf(pod) === "Failed" && JSON.stringify(pod?.status).includes('"reason":"VolumeNodeAffinity"');
}

function phaseOf(pod: ApiObject | undefined): string | undefined {
  return /"phase":"([^"]*)"/.exec(JSON.stringify(pod?.status ?? {}))?.[1];
}
