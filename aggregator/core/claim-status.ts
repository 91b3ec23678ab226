import type { BlindGap, ClaimStatus, LastUse, MountedOn, UnusedReason } from "../../common/storage/claim-status.ts";
import { MAX_NODES } from "../../common/storage/claim-status.ts";
import { type Idle, isTooSoon, type Unobserved, withGap } from "./claim-gap.ts";
import { datedAsStored, endOf, explains, laterOf, latestOf, latestUse, type UseEnd } from "./use-end.ts";

/** A node whose answer is needed before a claim may count as unused. */
export interface PendingNode {
  readonly node: string;
  /** It should have answered long ago. */
  readonly isSilent: boolean;
  /** Why its answer is needed; nothing for a node that has to be heard of after a start. */
  readonly why?: "pod-ended" | "was-mounted" | "attached" | "unwatched" | undefined;
  /** With `pod-ended`: `namespace/name` of a pod that is over and that may have used the claim after what is stored. */
  readonly pod?: string | undefined;
}

/** Everything that decides a claim's status. */
export interface ClaimFacts {
  /** See `isEligible`; besides, its volume has been seen. */
  readonly isEligible: boolean;
  readonly stored: ClaimStatus | undefined;
  /** Nothing is stored, but something stands there that others may take for it. */
  readonly isDisbelieved?: boolean | undefined;
  /** Nodes where a pod has it mounted. */
  readonly holders: readonly string[];
  /** Pods that name the claim and are not over. */
  readonly references: readonly string[];
  readonly pendingNodes: readonly PendingNode[];
  /** Pods are not watched at present: one that is not known may use the claim. */
  readonly isUnwatched?: boolean | undefined;
  readonly ends: readonly UseEnd[];
  /** When a use that nobody here witnessed is known to have ended; see `unobservedEnd`. */
  readonly unobservedEnd: UseEnd | "unknown" | undefined;
  /** The node of the stored last use, whose end was only assumed with that of the node, has read its mount table since. */
  readonly isNodeBack?: boolean | undefined;
  /** Nodes on which the volume is still staged, or mounted; nothing where nobody asks. */
  readonly stagedOn?: readonly string[] | undefined;
  /** When it may have been used without anybody seeing it; nothing where somebody watched all the time. */
  readonly unobserved?: Unobserved | undefined;
  /** No time of the claim is earlier: by then it had been made. Nothing where that is not known. */
  readonly earliestMs?: number | undefined;
  readonly nowMs: number;
}

/** A stored time this far in the future is invalid; our own rounding and clock bound reach a little into it, too. */
export const FUTURE_MS = 5_000;

/** What a claim's status should say, as data: `claim-messages.ts` makes the sentences. */
export type Decision = Leave | InUse | Unused;

/** What stands there is left alone. */
export interface Leave {
  readonly kind: "leave";
  readonly why: "not-eligible" | "waits-for-nodes" | "waits-for-gap";
}

export interface InUse {
  readonly kind: "in-use";
  readonly reason: UnusedReason;
  readonly sinceMs: number;
  readonly mountedOn: MountedOn | undefined;
  readonly lastUse: LastUse | undefined;
  /** A pod that is not over names the claim. */
  readonly isNamed: boolean;
  /** What is said of it is not sure before these nodes have reported. */
  readonly waitsFor: readonly PendingNode[];
}

export interface Unused extends Idle {
  readonly kind: "unused";
  readonly blindGap: BlindGap | undefined;
  /** Nodes on which it is staged, or nothing where nobody asks; what is stored stays until the nodes have reported on which it may be. */
  readonly stagedOn: readonly string[] | "as-stored" | undefined;
}

/** What the status of a claim should say. A claim that is unused is told in full, also where nothing of it is news. */
export function decide(known: ClaimFacts): Decision {
  // What stands there without being ours stays with it: our account may put a condition right and not remove one, and no status is
  // true of a claim that is not bound. Mooring believes nothing of it, and nothing can be lost with such a claim.
  if (!known.isEligible) return { kind: "leave", why: "not-eligible" };
  // It may have been made by a server whose clock is ahead of the one that tells what now is.
  const nowMs = Math.max(known.nowMs, known.earliestMs ?? Number.NEGATIVE_INFINITY);
  const facts = believed({ ...known, nowMs });
  if (facts.holders.length > 0) return mounted(facts);
  if (facts.references.length > 0 && !isHolderAwaited(facts)) return referenced(facts);
  if (facts.pendingNodes.length > 0 || facts.isUnwatched) return awaiting(facts);
  return unused(facts);
}

/**
 * True when the claim would count as unused but waits, for nodes to report or for the watch of pods: it has a status, no pod refers to it,
 * and only Stale nodes show it mounted.
 */
export function waitsToBeUnused({
  isEligible,
  holders,
  references,
  pendingNodes,
  isUnwatched = false,
}: Pick<ClaimFacts, "isEligible" | "holders" | "pendingNodes" | "isUnwatched"> & {
  readonly references: readonly unknown[];
}): boolean {
  const silent = new Set(pendingNodes.filter(({ isSilent }) => isSilent).map(({ node }) => node));
  const isUsed = references.length > 0 || holders.some((node) => !silent.has(node));
  return isEligible && (pendingNodes.length > 0 || isUnwatched) && !isUsed;
}

/** What stands there names the nodes that have to be asked: it stays until they have answered, also after another start. */
function isHolderAwaited({ stored, pendingNodes }: ClaimFacts): boolean {
  return stored?.reason === "Mounted" && pendingNodes.some(({ why }) => why === "was-mounted");
}

/** The facts, as far as they can be believed, and what follows from them. */
interface Facts extends ClaimFacts {
  /** Its stored time was in the future. */
  readonly isDatedAnew: boolean;
  /** The stored last use, where its end was assumed and the node has come back: it is believed no more. */
  readonly refuted: LastUse | undefined;
  /** The latest of the uses that are over, and nothing where none is known. */
  readonly lastUse: LastUse | undefined;
}

/**
 * A time in the future is now: clocks are set back, and whoever may edit claims can forge what stands there. And no end is from before the claim
 * was made, or what is written of it would be read as none.
 */
function believed(facts: ClaimFacts): Facts {
  const { stored: status, unobservedEnd, isNodeBack, earliestMs = Number.NEGATIVE_INFINITY, nowMs } = facts;
  const isFuture = (ms: number): boolean => ms > nowMs + FUTURE_MS;
  const untilNow = (ms: number): number => (isFuture(ms) ? nowMs : ms);
  const read = status && asOfNow(status, untilNow);
  const refuted = isNodeBack === true && read?.lastUse?.evidence === "node-gone" ? read.lastUse : undefined;
  const stored = read && { ...read, lastUse: refuted === undefined ? read.lastUse : undefined };
  const ends = (typeof unobservedEnd === "object" ? [...facts.ends, unobservedEnd] : facts.ends)
    .map((end) => datedAsStored(end, stored?.lastUse))
    .map((end) => notBefore({ ...end, byMs: untilNow(end.byMs) }, earliestMs));
  const { times = [], ...open } = facts.unobserved ?? {};
  // What a clock dated that was set back since would move with each decision, until it has come.
  const unobserved = { ...open, times: times.filter(({ toMs }) => !isFuture(toMs)) };
  const isDatedAnew = status !== undefined && isFuture(status.sinceMs);
  return { ...facts, stored, ends, unobserved, isDatedAnew, refuted, lastUse: latestUse(stored?.lastUse, ends) };
}

function asOfNow(stored: ClaimStatus, untilNow: (ms: number) => number): ClaimStatus {
  const { sinceMs, lastUse, blindGap } = stored;
  const byMs = untilNow(lastUse?.releasedAtMs ?? 0);
  const isSure = byMs === lastUse?.releasedAtMs;
  return {
    ...stored,
    sinceMs: untilNow(sinceMs),
    lastUse: lastUse === undefined || isSure ? lastUse : { ...lastUse, releasedAtMs: byMs, uncertaintyMs: undefined },
    blindGap: blindGap && { fromMs: untilNow(blindGap.fromMs), toMs: untilNow(blindGap.toMs) },
  };
}

/** It may have ended as early as it could before. */
function notBefore(end: UseEnd, earliestMs: number): UseEnd {
  const { byMs, widthMs } = end;
  if (byMs >= earliestMs) return end;
  return { ...end, byMs: earliestMs, widthMs: widthMs === undefined ? undefined : widthMs + earliestMs - byMs };
}

function mounted(facts: Facts): InUse {
  const { stored, holders, pendingNodes } = facts;
  const mountedOn = mountedOnOf(facts);
  const named = new Set([...holders, ...mountedOn.nodes]);
  return {
    kind: "in-use",
    reason: "Mounted",
    sinceMs: inUseSince(facts),
    mountedOn,
    // Ends of use beside one that goes on change nothing that somebody waits for: not a reason to write.
    lastUse: stored?.lastUse,
    isNamed: facts.references.length > 0,
    waitsFor: pendingNodes.filter(({ node, isSilent }) => isSilent && named.has(node)),
  };
}

/**
 * The nodes to write. A further one is news, one that drops out is not; when there is news those are left out that need not be
 * asked after a start: they have dropped out, and their unmount records are settled.
 */
function mountedOnOf({ stored, holders, pendingNodes, ends }: Facts): MountedOn {
  const known = stored?.mountedOn;
  const open = new Set([...pendingNodes, ...ends].map(({ node }) => node));
  const kept = known?.nodes.filter((node) => open.has(node)) ?? [];
  const nodes = [...new Set([...holders, ...kept])].sort();
  const more = nodes.length > MAX_NODES || (known?.more === true && pendingNodes.length > 0);
  const isNews = holders.some((node) => known?.nodes.includes(node) !== true) && !(known?.more && more);
  return known === undefined || isNews ? { nodes: nodes.slice(0, MAX_NODES), more } : known;
}

function referenced(facts: Facts): InUse {
  const { stored, lastUse } = facts;
  return {
    ...namedOnly(facts),
    isNamed: true,
    lastUse: stored?.reason === "Referenced" ? stored.lastUse : lastUse,
  };
}

/** It may be in use, so it counts as in use. */
function notKnown(facts: Facts, waitsFor: readonly PendingNode[]): InUse {
  return { ...namedOnly(facts), waitsFor };
}

function namedOnly(facts: Facts): InUse {
  return {
    kind: "in-use",
    reason: "Referenced",
    sinceMs: inUseSince(facts),
    mountedOn: undefined,
    lastUse: facts.lastUse,
    isNamed: false,
    waitsFor: [],
  };
}

/** Since when the claim is in use: the time stays over a change of reason. */
function inUseSince({ stored, nowMs }: Facts): number {
  return stored?.unused === false ? stored.sinceMs : Math.max(nowMs, stored?.sinceMs ?? 0);
}

/** The status stays until the nodes have answered; of those that should have long ago it tells. */
function awaiting(facts: Facts): Decision {
  const { stored, references, pendingNodes } = facts;
  const silent = pendingNodes.filter(({ isSilent }) => isSilent);
  const wait: Leave = { kind: "leave", why: "waits-for-nodes" };
  // A node may be silent for good: what nobody may believe is not left standing there for so long.
  if (stored === undefined) return facts.isDisbelieved && silent.length > 0 ? notKnown(facts, silent) : wait;
  if (!stored.unused) {
    // A pod that names it keeps it in use anyhow: a start while nodes are Stale is no reason to write.
    if (silent.length === 0 || references.length > 0) return wait;
    const { reason, sinceMs, mountedOn, lastUse } = stored;
    return { kind: "in-use", reason, sinceMs, mountedOn, lastUse, isNamed: false, waitsFor: silent };
  }
  const pods = pendingNodes.filter(({ pod }) => pod !== undefined);
  // It was referenced meanwhile and may be mounted still, although nothing was written of it.
  if (pods.length > 0) return notKnown(facts, silent.length > 0 ? silent : pods);
  // A time in the future is not too early, and what takes its place is news.
  if (facts.isDatedAnew && isBehindBarrier(facts)) return wait;
  // Waiting would only leave a time that is known to be too early.
  return unused(facts);
}

function isBehindBarrier({ pendingNodes, isUnwatched = false }: ClaimFacts): boolean {
  return isUnwatched || pendingNodes.some(({ why }) => why === undefined);
}

function unused(facts: Facts): Decision {
  const { stored, unobserved = { times: [] } } = facts;
  const told = withGap(idle(facts), { stored, unobserved });
  if (!isTooSoon(told, unobserved)) return { kind: "unused", ...told, stagedOn: stagedOn(facts) };
  if (stored?.unused !== true) return { kind: "leave", why: "waits-for-gap" };
  const { reason, sinceMs, lastUse, blindGap } = stored;
  return { kind: "unused", reason, sinceMs, lastUse, blindGap, stagedOn: stagedOn(facts) };
}

function stagedOn({ stagedOn: nodes, pendingNodes }: Facts): Unused["stagedOn"] {
  return nodes?.length === 0 && pendingNodes.length > 0 ? "as-stored" : nodes;
}

/** An idle claim by all that was seen. */
function idle(facts: Facts): Idle {
  const { stored, refuted, ends, lastUse, unobservedEnd, nowMs } = facts;
  const found = latestOf(ends);
  const latest = found && laterOf(found, lastUse);
  const sinceMs = stored?.sinceMs ?? 0;
  if (stored?.unused === true && refuted === undefined && (latest === undefined || latest.byMs <= sinceMs)) {
    return { reason: stillReason(stored, lastUse), sinceMs, lastUse };
  }
  const isExplained = refuted === undefined || ends.some((end) => explains(end, refuted));
  if (latest !== undefined && isExplained && unobservedEnd !== "unknown") {
    const visit = latest.wasUse ? undefined : latest;
    return { reason: latest.reason, sinceMs: Math.max(sinceMs, latest.byMs), lastUse, visit };
  }
  // In use by what is stored, and nothing tells how that ended: now is the earliest time that is surely not too early.
  const reason = stored === undefined ? "NeverObservedInUse" : "NoPodUsing";
  return { reason, sinceMs: Math.max(sinceMs, nowMs, latest?.byMs ?? 0), lastUse };
}

/** Who used it last may be learnt later than that nobody does. A pod that came and went, or an end that nobody saw, is later than that. */
function stillReason({ reason }: ClaimStatus, lastUse: LastUse | undefined): UnusedReason {
  return lastUse === undefined || reason === "NoPodUsing" ? reason : endOf(lastUse).reason;
}
