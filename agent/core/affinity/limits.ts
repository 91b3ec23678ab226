import type { PodOwner } from "./facts.ts";
import { FREE_REJECTIONS, nextLevel, type OwnerPast, ownerWait, stillCounts } from "./owner-back-off.ts";
import { type Loss, type LossSettings, lossOf, type ReplaceablePod } from "./replacement.ts";

/**
 * Keeps an agent from rejecting pods as fast as schedulers and controllers send them to a node where they cannot run. Four limits: on an
 * owner whose replacements keep coming, on the node's rate, on a node where most pods would be wrong (then the node's labels probably
 * are), and on the whole cluster, which the aggregator counts. A pod that no controller would replace is left alone unless the settings
 * say otherwise. The state is a value and every time an argument, in milliseconds of the boot clock (`Clock.monotonicMs`). Rejections
 * are kept by pod, in any order and however often they are reported. An agent that restarts learns them again from the rejected pods
 * that still exist (`witness`): a ReplicaSet and a Job leave them. A StatefulSet and a DaemonSet delete them at once, and so do agents
 * with that setting. So for its first ten minutes a run assumes two rejections of each such owner just before it began. It also begins
 * slowly, so that short runs together do not exceed the node's rate.
 */
export interface Limits {
  /** When this run of the agent began. */
  readonly startedAt: number;
  readonly rejections: readonly Rejection[];
  /** UIDs of the owners whose back-off has been reported by an event; once for each period of trouble. */
  readonly reportedOwners: ReadonlySet<string>;
  /** Why the aggregator pauses all rejections; undefined when it does not. */
  readonly fleetPause: string | undefined;
}

/** A pod that was rejected on this node, or is being rejected now. */
export interface Rejection {
  readonly podUid: string;
  /** The pod's controller; undefined for a bare pod. */
  readonly ownerUid: string | undefined;
  /** When, on the boot clock; below 0 for a time before this boot. */
  readonly atMs: number;
  /** The back-off level of the owner, 0 for none: see `backOffMs`. */
  readonly level: number;
  /** An attempt that nothing has confirmed yet. */
  readonly isAttempt: boolean;
}

/** A rejected pod, by its status and its annotation `mooring.dev/rejected`. */
export interface SeenRejection {
  readonly podUid: string;
  readonly ownerUid: string | undefined;
  /** How long ago, by the annotation's time and the API server's clock, milliseconds; 0 where it has no time. */
  readonly ageMs: number;
  /** The level in the annotation; 0 where it has none. */
  readonly level: number;
}

/** The pod that may be rejected. */
export interface LimitRequest extends ReplaceablePod {
  readonly podUid: string;
}

/**
 * All pods of the node that are not over and name a claim. Running pods count as well: lost labels make them all wrong, and then the few
 * that are starting are as right as the others.
 */
export interface NodeSurvey {
  readonly pods: number;
  /** Those with a volume whose affinity excludes the node, in any state. */
  readonly wrong: number;
  /** Those without a verdict, not even "unknown", since the node's labels changed or the agent started. */
  readonly unseen: number;
}

/** What else the decision depends on. */
export interface LimitScene {
  readonly nowMs: number;
  readonly survey: NodeSurvey;
  /** What the settings ask for. */
  readonly settings: LimitSettings;
}

/** The settings that the limits depend on. */
export interface LimitSettings extends LossSettings {
  /** Agents delete what they have rejected: then nothing is left to learn from. */
  readonly deleteRejected: boolean;
}

/**
 * - `go`: reject now; it counts from here on (`withdraw` it when it did not happen). `level` belongs into the annotation.
 * - `wait`: ask again at `untilMs`, with everything read anew. `isOwnerEventDue`: the event on the owner is due, once.
 * - `refuse`: not as long as the pod and the settings are what they are.
 */
export type LimitDecision =
  | { readonly kind: "go"; readonly level: number }
  | {
      readonly kind: "wait";
      readonly limit: "owner" | "node-rate" | "node-wrong" | "fleet";
      readonly untilMs: number;
      readonly why: string;
      readonly isOwnerEventDue: boolean;
    }
  | ({ readonly kind: "refuse" } & Loss);

/** At most so many in any `NODE_WINDOW_MS`. */
export const NODE_REJECTIONS = 10;
export const NODE_WINDOW_MS = 60_000;
/** With at least so many wrong pods, which are more than half of those with claims, the node itself counts as wrong. */
export const MOST_WRONG = 3;
/** A condition without a known end is checked again after this time. Milliseconds. */
export const RECHECK_MS = 5_000;

/** Controllers that leave a failed pod in place: a ReplicaSet creates another one beside it, a Job counts it. */
const LEAVES_FAILED_PODS: ReadonlySet<string> = new Set(["ReplicaSet", "ReplicationController", "Job"]);

/** The limits of a run that begins now and has not checked any pod yet. */
export function newLimits(nowMs: number): Limits {
  return { startedAt: nowMs, rejections: [], reportedOwners: new Set(), fleetPause: undefined };
}

/**
 * Takes a pod's rejection into account, of this run or an earlier one. Call it only for pods with phase `Failed`, reason
 * `VolumeNodeAffinity` and the annotation: a user who creates pods can set an annotation, but not a status.
 */
export function withSeenRejection(limits: Limits, seen: SeenRejection, nowMs: number): Limits {
  const { podUid, ownerUid } = seen;
  const level = Number.isSafeInteger(seen.level) ? Math.max(0, seen.level) : 0;
  const atMs = nowMs - Math.max(0, seen.ageMs);
  const known = latestOf(limits, podUid);
  // Two clocks for one event: the later time counts, and so the longer wait.
  const merged = {
    podUid,
    ownerUid,
    atMs: Math.max(atMs, known?.atMs ?? atMs),
    level: Math.max(level, known?.level ?? 0),
    isAttempt: false,
  };
  const others = limits.rejections.filter((one) => one !== known);
  return { ...limits, rejections: remembered([...others, merged], nowMs) };
}

/** Takes back a `go` that provably did not change the pod: a conflict, a refusal. An unknown result stays, and so does a done rejection. */
export function withdraw(limits: Limits, podUid: string): Limits {
  const last = latestOf(limits, podUid);
  return last?.isAttempt ? { ...limits, rejections: limits.rejections.filter((one) => one !== last) } : limits;
}

/** The last `go` of the pod is confirmed. */
export function confirm(limits: Limits, podUid: string): Limits {
  const last = latestOf(limits, podUid);
  return { ...limits, rejections: limits.rejections.map((one) => (one === last ? { ...one, isAttempt: false } : one)) };
}

/** Sets what the aggregator's last answer said about the cluster. */
export function withFleetPause(limits: Limits, fleetPause: string | undefined): Limits {
  return { ...limits, fleetPause };
}

/** Why this node rejects nothing, and the agent is not ready; undefined otherwise. */
export function wrongNode({ pods, wrong }: NodeSurvey): string | undefined {
  if (!isMost(wrong, pods)) return undefined;
  return `${wrong} of the node's ${pods} pods with claims have a volume whose node affinity excludes this node; its labels may be wrong, so no pod is rejected`;
}

/** Whether this pod may be rejected now. A `go` counts at once, so that a second decision meanwhile includes it. */
export function checkLimits(
  limits: Limits,
  request: LimitRequest,
  scene: LimitScene,
): { readonly decision: LimitDecision; readonly limits: Limits } {
  const loss = lossOf(request, scene.settings);
  if (loss !== undefined) return { decision: { kind: "refuse", ...loss }, limits };
  const { nowMs } = scene;
  const known = upToDate(limits, nowMs);
  const nodeWide = nodeWideWait(known, scene);
  if (nodeWide !== undefined) return { decision: nodeWide, limits: known };

  const { podUid, owner } = request;
  const past = owner === undefined ? undefined : pastOf(known, owner, scene.settings);
  const ownerUntilMs = past === undefined ? nowMs : ownerWait(past, nowMs);
  if (owner !== undefined && ownerUntilMs > nowMs) return waitForOwner(known, owner, ownerUntilMs);
  const untilMs = nodeWait(known);
  if (untilMs > nowMs) return { decision: waitForNode(untilMs), limits: known };

  const level = past === undefined ? 0 : nextLevel(past, nowMs);
  const made = { podUid, ownerUid: owner?.uid, atMs: nowMs, level, isAttempt: true };
  return { decision: { kind: "go", level }, limits: { ...known, rejections: [...known.rejections, made] } };
}

/** What stops every pod of the node alike. */
function nodeWideWait(
  { fleetPause }: Limits,
  { nowMs, survey }: LimitScene,
): Extract<LimitDecision, { readonly kind: "wait" }> | undefined {
  const wait = { kind: "wait", untilMs: nowMs + RECHECK_MS, isOwnerEventDue: false } as const;
  if (fleetPause !== undefined)
    return { ...wait, limit: "fleet", why: `the aggregator pauses all rejections: ${fleetPause}` };
  const wrong = wrongNode(survey);
  if (wrong !== undefined) return { ...wait, limit: "node-wrong", why: wrong };
  if (!isMost(survey.wrong + survey.unseen, survey.pods)) return undefined;
  return { ...wait, limit: "node-wrong", why: `${survey.unseen} other pods of the node have to be looked at before` };
}

function isMost(wrong: number, pods: number): boolean {
  return wrong >= MOST_WRONG && wrong * 2 > pods;
}

/** Drops what no longer matters: a later back-off of the owner is reported again. */
function upToDate(limits: Limits, nowMs: number): Limits {
  const rejections = remembered(limits.rejections, nowMs);
  const owners = new Set(rejections.map(({ ownerUid }) => ownerUid));
  return {
    ...limits,
    rejections,
    reportedOwners: new Set([...limits.reportedOwners].filter((uid) => owners.has(uid))),
  };
}

/** The rejections that still matter. */
function remembered(rejections: readonly Rejection[], nowMs: number): readonly Rejection[] {
  return rejections.filter((one) => stillCounts(one, nowMs));
}

/** The last one is at the end: a `go` is added there, and so is a merged one. */
function latestOf({ rejections }: Limits, podUid: string): Rejection | undefined {
  return rejections.findLast((one) => one.podUid === podUid);
}

function pastOf({ rejections, startedAt }: Limits, owner: PodOwner, { deleteRejected }: LimitSettings): OwnerPast {
  const count = LEAVES_FAILED_PODS.has(owner.kind) && !deleteRejected ? 0 : FREE_REJECTIONS - 1;
  return {
    rejections: rejections.filter(({ ownerUid }) => ownerUid === owner.uid),
    assumed: { count, atMs: startedAt },
  };
}

function waitForOwner(
  limits: Limits,
  owner: PodOwner,
  untilMs: number,
): { readonly decision: LimitDecision; readonly limits: Limits } {
  const why = `pods of ${owner.kind} ${owner.name} keep coming to this node, which a volume of theirs excludes`;
  const isOwnerEventDue = !limits.reportedOwners.has(owner.uid);
  return {
    decision: { kind: "wait", limit: "owner", untilMs, why, isOwnerEventDue },
    limits: { ...limits, reportedOwners: new Set([...limits.reportedOwners, owner.uid]) },
  };
}

/**
 * From when on the node's rate allows another rejection. A run begins with none and gets one more for each tenth of a minute that has
 * passed: it does not know what earlier runs did without leaving a trace.
 */
function nodeWait({ rejections, startedAt }: Limits): number {
  const times = rejections.map(({ atMs }) => atMs).toSorted((a, b) => b - a);
  const tenth = times[NODE_REJECTIONS - 1] ?? Number.NEGATIVE_INFINITY;
  const made = times.filter((atMs) => atMs >= startedAt).length;
  return Math.max(tenth + NODE_WINDOW_MS, startedAt + ((made + 1) * NODE_WINDOW_MS) / NODE_REJECTIONS);
}

function waitForNode(untilMs: number): LimitDecision {
  const why = `at most ${NODE_REJECTIONS} pods a minute are rejected on one node, and fewer just after the agent's start`;
  return { kind: "wait", limit: "node-rate", untilMs, why, isOwnerEventDue: false };
}
