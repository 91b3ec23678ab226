import type { PodOwner } from "./facts.ts";
import { FREE_REJECTIONS, nextLevel, type OwnerPast, ownerWait, stillCounts } from "./owner-back-off.ts";
import { type Loss, type LossSettings, lossOf, type ReplaceablePod } from "./replacement.ts";

/**
 * What keeps an agent from rejecting pods as fast as others send them to a node where they cannot be. Four limits: on an owner whose
 * replacements keep coming, on the node's rate, on a node where most pods would be wrong (then rather the node's labels are), and on the
 * whole fleet, which the aggregator counts. Pods that nobody would replace are let alone unless it was asked for.
 *
 * State is a value and every time is an argument: milliseconds of the boot clock (`Clock.monotonicMs`). What was rejected is remembered
 * by pod, in any order and as often as it is told. An agent that restarts learns it again from the rejected pods that are still there
 * (`witness`): a ReplicaSet and a Job leave them. A StatefulSet and a DaemonSet delete them at once, and so do agents that are told to, so
 * in its first ten minutes a run takes it that two were rejected of each of those owners just before it began; and it begins slowly, so
 * that runs that end soon do not add up to more than the node's rate.
 */
export interface Limits {
  /** When this run of the agent began. */
  readonly startedAt: number;
  readonly rejections: readonly Rejection[];
  /** UIDs of the owners that an event has told of their back-off; once for each time of trouble. */
  readonly told: ReadonlySet<string>;
  /** Why the aggregator pauses all rejections; undefined when it does not. */
  readonly fleetPause: string | undefined;
}

/** A pod that was, or is just being, rejected on this node. */
export interface Rejection {
  readonly podUid: string;
  /** Of the controller of the pod; undefined for a bare pod. */
  readonly ownerUid: string | undefined;
  /** When, on the boot clock; below 0 for what was before this boot. */
  readonly atMs: number;
  /** How far the owner's back-off had come with it, 0 for not at all: see `backOffMs`. */
  readonly level: number;
  /** It is an attempt of which nothing has shown yet that it was done. */
  readonly isAttempt: boolean;
}

/** A rejected pod as its status and its annotation `mooring.dev/rejected` tell of it. */
export interface Witnessed {
  readonly podUid: string;
  readonly ownerUid: string | undefined;
  /** How long ago by the annotation's time and the API server's clock, milliseconds; 0 where it does not say. */
  readonly ageMs: number;
  /** As the annotation has it; 0 where it does not say. */
  readonly level: number;
}

/** Whom a rejection is asked for. */
export interface LimitRequest extends ReplaceablePod {
  readonly podUid: string;
}

/**
 * All pods of the node that are not over and name a claim. Those that run count as well: lost labels make them all wrong, and the few
 * that are just starting are then as right as the others.
 */
export interface NodeSurvey {
  readonly pods: number;
  /** Of them those with a volume whose PV's affinity excludes the node, in whatever state the pod is. */
  readonly wrong: number;
  /** Of them those without any verdict, be it "unknown", since the node's labels changed or the agent started. */
  readonly unseen: number;
}

/** Under which circumstances is decided. */
export interface LimitScene {
  readonly nowMs: number;
  readonly survey: NodeSurvey;
  /** What was asked for all the same. */
  readonly settings: LimitSettings;
}

/** What of the settings the limits depend on. */
export interface LimitSettings extends LossSettings {
  /** Agents delete what they have rejected: nothing is left to learn from. */
  readonly deleteRejected: boolean;
}

/**
 * - `go`: reject now; it counts from here on (`withdraw` it when it did not happen). `level` belongs into the annotation.
 * - `wait`: ask again at `untilMs`, with everything read anew. `tellOwner`: the event on the owner is due, once.
 * - `refuse`: not as long as the pod and the settings are what they are.
 */
export type LimitDecision =
  | { readonly kind: "go"; readonly level: number }
  | {
      readonly kind: "wait";
      readonly limit: "owner" | "node-rate" | "node-wrong" | "fleet";
      readonly untilMs: number;
      readonly why: string;
      readonly tellOwner: boolean;
    }
  | ({ readonly kind: "refuse" } & Loss);

/** So many in any `NODE_WINDOW_MS`. */
export const NODE_REJECTIONS = 10;
export const NODE_WINDOW_MS = 60_000;
/** A node with at least so many wrong pods that are more than half of those with claims is wrong itself. */
export const MOST_WRONG = 3;
/** What is held for as long as it lasts is asked for again after this time. Milliseconds. */
export const RECHECK_MS = 5_000;

/** Controllers that leave a failed pod where it is (KUBERNETES: ReplicaSet makes another one beside it, Job counts it). */
const LEAVES_FAILED_PODS: ReadonlySet<string> = new Set(["ReplicaSet", "ReplicationController", "Job"]);

/** The limits of a run that begins now and has not looked at any pod yet. */
export function newLimits(nowMs: number): Limits {
  return { startedAt: nowMs, rejections: [], told: new Set(), fleetPause: undefined };
}

/**
 * Takes a rejection into account that a pod tells of, of this run or an earlier one. Count only pods with phase `Failed`, reason
 * `VolumeNodeAffinity` and the annotation: an annotation alone can be put there by whoever makes pods, a status cannot.
 */
export function witness(limits: Limits, seen: Witnessed, nowMs: number): Limits {
  const { podUid, ownerUid } = seen;
  const level = Number.isSafeInteger(seen.level) ? Math.max(0, seen.level) : 0;
  const atMs = nowMs - Math.max(0, seen.ageMs);
  const known = latestOf(limits, podUid);
  // Two clocks, one event: the later one, and so the longer wait.
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

/** Takes back a `go` that is known not to have changed the pod: a conflict, a refusal. What is not known stays, and so does what was done. */
export function withdraw(limits: Limits, podUid: string): Limits {
  const last = latestOf(limits, podUid);
  return last?.isAttempt ? { ...limits, rejections: limits.rejections.filter((one) => one !== last) } : limits;
}

/** The last `go` of the pod is known to have been done. */
export function confirm(limits: Limits, podUid: string): Limits {
  const last = latestOf(limits, podUid);
  return { ...limits, rejections: limits.rejections.map((one) => (one === last ? { ...one, isAttempt: false } : one)) };
}

/** What the aggregator's last answer said of the fleet. */
export function withFleetPause(limits: Limits, fleetPause: string | undefined): Limits {
  return { ...limits, fleetPause };
}

/** Why nothing is rejected on this node, which is not ready then; undefined when that is not so. */
export function wrongNode({ pods, wrong }: NodeSurvey): string | undefined {
  if (!isMost(wrong, pods)) return undefined;
  return `${wrong} of the node's ${pods} pods with claims have a volume whose node affinity excludes this node; its labels may be wrong, so no pod is rejected`;
}

/** May this pod be rejected now? A `go` counts at once, so that a second one that is decided meanwhile knows of it. */
export function checkLimits(
  limits: Limits,
  request: LimitRequest,
  scene: LimitScene,
): { readonly decision: LimitDecision; readonly limits: Limits } {
  const loss = lossOf(request, scene.settings);
  if (loss !== undefined) return { decision: { kind: "refuse", ...loss }, limits };
  const { nowMs } = scene;
  const known = upToDate(limits, nowMs);
  const mountedVolume = mountedVolumeOf(known, scene);
  if (mountedVolume !== undefined) return { decision: mountedVolume, limits: known };

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
function mountedVolumeOf(
  { fleetPause }: Limits,
  { nowMs, survey }: LimitScene,
): Extract<LimitDecision, { readonly kind: "wait" }> | undefined {
  const wait = { kind: "wait", untilMs: nowMs + RECHECK_MS, tellOwner: false } as const;
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

/** Without what no longer matters: an owner that has had peace is told of anew. */
function upToDate(limits: Limits, nowMs: number): Limits {
  const rejections = remembered(limits.rejections, nowMs);
  const owners = new Set(rejections.map(({ ownerUid }) => ownerUid));
  return { ...limits, rejections, told: new Set([...limits.told].filter((uid) => owners.has(uid))) };
}

/** The rejections that still matter for anything. */
function remembered(rejections: readonly Rejection[], nowMs: number): readonly Rejection[] {
  return rejections.filter((one) => stillCounts(one, nowMs));
}

/** What came last stands last: a `go` is put behind the others, and so is what is merged with it. */
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
  const tellOwner = !limits.told.has(owner.uid);
  return {
    decision: { kind: "wait", limit: "owner", untilMs, why, tellOwner },
    limits: { ...limits, told: new Set([...limits.told, owner.uid]) },
  };
}

/**
 * From when on the node's rate allows another one. A run begins with none and has one more for each tenth part of a minute that has passed: what
 * ended runs did without leaving a trace is not known to it.
 */
function nodeWait({ rejections, startedAt }: Limits): number {
  const times = rejections.map(({ atMs }) => atMs).toSorted((a, b) => b - a);
  const tenth = times[NODE_REJECTIONS - 1] ?? Number.NEGATIVE_INFINITY;
  const made = times.filter((atMs) => atMs >= startedAt).length;
  return Math.max(tenth + NODE_WINDOW_MS, startedAt + ((made + 1) * NODE_WINDOW_MS) / NODE_REJECTIONS);
}

function waitForNode(untilMs: number): LimitDecision {
  const why = `at most ${NODE_REJECTIONS} pods a minute are rejected on one node, and fewer just after the agent's start`;
  return { kind: "wait", limit: "node-rate", untilMs, why, tellOwner: false };
}
