import type { Claim } from "../../../common/storage/claim.ts";
import type { ClaimStatus, Gap, LastUse, MountedOn, UnusedReason } from "../../../common/storage/claim-status.ts";
import { earliestSinceMs, MAX_NODES } from "../../../common/storage/claim-status.ts";
import { type Idle, type Unobserved, withGap } from "./gap.ts";
import { datedAsStored, explains, laterOf, latestOf, latestUse, REASONS, type UseEnd } from "./use-end.ts";

/** In the place of a node, while the watch of pods is interrupted: an unknown pod may use a claim on any of them. */
export const UNWATCHED = "";

/** A node whose answer a claim needs before it may become unused. */
export interface PendingNode {
  /** Its name, or `UNWATCHED`. */
  readonly node: string;
  /** The node's time to answer is over. */
  readonly isSilent: boolean;
  /** Why its answer is needed; undefined for a node that has to report after a start, and for `UNWATCHED`. */
  readonly why?: "pod-ended" | "was-mounted" | "attached" | "unwatched" | undefined;
  /** With `pod-ended`: `namespace/name` of an ended pod that may have used the claim after the stored time. */
  readonly pod?: string | undefined;
}

export interface ClaimFacts {
  readonly claim: Claim;
  /** See `isEligible`; in addition, its volume is known. */
  readonly isEligible: boolean;
  /** Nodes where a pod has it mounted. */
  readonly usedOn: readonly string[];
  /** Pods that name it and are not over. */
  readonly references: readonly string[];
  readonly pendingNodes: readonly PendingNode[];
  readonly ends: readonly UseEnd[];
  /** When the stored use ended is unknown: it may have been later than every end. */
  readonly isEndUnknown: boolean;
  /** The stored last use ended by assumption, as its node was Gone, and the node is known to have been back since. */
  readonly isNodeBack?: boolean | undefined;
  /** Nodes on which the volume is still staged, or mounted; undefined where protection is off. */
  readonly stagedOn?: readonly string[] | undefined;
  /** When it may have been used unobserved; undefined without a gap. */
  readonly unobserved?: Unobserved | undefined;
  readonly nowMs: number;
}

/** A stored time this far in the future is invalid. Our own rounding and clock bound reach a little into it, too. */
export const FUTURE_MS = 5_000;

/** What a status should say, as data: `message.ts` makes the sentences. Undefined where the stored status stays. */
export type Decision = InUse | Unused | undefined;

export interface InUse {
  readonly kind: "in-use";
  readonly reason: UnusedReason;
  readonly sinceMs: number;
  readonly mountedOn: MountedOn | undefined;
  readonly lastUse: LastUse | undefined;
  /** A pod that is not over names the claim. */
  readonly isNamed: boolean;
  /** The decision is uncertain before these nodes have reported. */
  readonly waitsFor: readonly PendingNode[];
}

export interface Unused extends Idle {
  readonly kind: "unused";
  readonly gap: Gap | undefined;
  /** Undefined where protection is off. A stored one stays until the nodes that may still have it have reported. */
  readonly stagedOn: readonly string[] | "as-stored" | undefined;
}

/** What the status of a claim should say. An unused claim is decided in full, even when nothing has changed. */
export function decide(known: ClaimFacts): Decision {
  // No status is true of an unbound claim. A foreign condition stays: our account cannot remove it, and nothing trusts it.
  if (!known.isEligible) return undefined;
  // The clock of the server that created the claim may be ahead of the one that shows the present.
  const nowMs = Math.max(known.nowMs, earliestSinceMs(known.claim));
  const facts = believed({ ...known, nowMs });
  if (facts.usedOn.length > 0) return mounted(facts);
  if (facts.references.length > 0 && !isMountPending(facts)) {
    return inUse(facts, facts.stored?.reason === "Referenced" ? { lastUse: facts.stored.lastUse } : {});
  }
  if (facts.pendingNodes.length > 0) return awaiting(facts);
  return unused(facts);
}

interface Waiting extends Pick<ClaimFacts, "isEligible" | "usedOn" | "pendingNodes"> {
  readonly references: readonly unknown[];
}

/** True when only missing reports, or the interrupted watch of pods, keep the claim from being unused. */
export function waitsToBeUnused({ isEligible, usedOn, references, pendingNodes }: Waiting): boolean {
  const isSilent = (node: string): boolean => pendingNodes.some((one) => one.node === node && one.isSilent);
  return isEligible && pendingNodes.length > 0 && references.length === 0 && usedOn.every(isSilent);
}

/** The stored status names the nodes that have to answer: it stays until they have, also across a change of leader. */
function isMountPending({ stored, pendingNodes }: Facts): boolean {
  return stored?.reason === "Mounted" && pendingNodes.some(({ why }) => why === "was-mounted");
}

/** The facts, as far as they can be trusted, and what follows from them. */
interface Facts extends ClaimFacts {
  readonly stored: ClaimStatus | undefined;
  /** The stored last use that no longer counts, as its end was assumed and the node has come back. */
  readonly refuted: LastUse | undefined;
  /** The latest of the uses that are over; undefined where none is known. */
  readonly lastUse: LastUse | undefined;
  readonly unobserved: Unobserved;
}

/** A stored time in the future becomes now: clocks are set back, and who may edit claims can forge a status. */
function believed(facts: ClaimFacts): Facts {
  const { claim, isNodeBack, nowMs } = facts;
  const { status } = claim;
  const isFuture = (ms: number): boolean => ms > nowMs + FUTURE_MS;
  const untilNow = (ms: number): number => (isFuture(ms) ? nowMs : ms);
  // Nearly every status is as it is stored: a copy of each would only take time.
  const isAnyFuture = [status?.sinceMs, status?.lastUse?.byMs, status?.gap?.toMs].some((ms = 0) => isFuture(ms));
  const read = status && isAnyFuture ? asOfNow(status, untilNow) : status;
  const refuted = isNodeBack ? read?.lastUse : undefined;
  const stored = read && refuted ? { ...read, lastUse: undefined } : read;
  // No end is earlier than the claim's creation, or the stored status would be invalid.
  const ends = facts.ends
    .map((end) => datedAsStored(end, stored?.lastUse))
    .map((end) => dated(end, Math.max(untilNow(end.byMs), earliestSinceMs(claim))));
  const { times = [], ...open } = facts.unobserved ?? {};
  // A time in the future, from a clock that was set back since, would move with each decision until it has passed.
  const unobserved = { ...open, times: times.filter(({ toMs }) => !isFuture(toMs)) };
  return { ...facts, stored, ends, unobserved, refuted, lastUse: latestUse(stored?.lastUse, ends) };
}

function asOfNow(stored: ClaimStatus, untilNow: (ms: number) => number): ClaimStatus {
  const { lastUse, gap } = stored;
  const toMs = untilNow(gap?.toMs ?? 0);
  return {
    ...stored,
    sinceMs: untilNow(stored.sinceMs),
    lastUse: lastUse && dated(lastUse, untilNow(lastUse.byMs)),
    gap: gap && { fromMs: Math.min(gap.fromMs, toMs), toMs },
  };
}

/** By how much a use may have ended before a time that was not found but assumed is unknown. */
function dated<T extends LastUse>(use: T, byMs: number): T {
  return byMs === use.byMs ? use : { ...use, byMs, widthMs: undefined };
}

function inUse(facts: Facts, fields: Partial<InUse>): InUse {
  const { stored, references, lastUse, nowMs } = facts;
  return {
    kind: "in-use",
    reason: "Referenced",
    // The time stays when only the reason changes.
    sinceMs: stored?.unused === false ? stored.sinceMs : Math.max(nowMs, stored?.sinceMs ?? 0),
    mountedOn: undefined,
    lastUse,
    isNamed: references.length > 0,
    waitsFor: [],
    ...fields,
  };
}

function mounted(facts: Facts): InUse {
  const { stored, usedOn, pendingNodes } = facts;
  const mountedOn = mountedOnOf(facts);
  const named = new Set([...usedOn, ...mountedOn.nodes]);
  const waitsFor = pendingNodes.filter(({ node, isSilent }) => isSilent && named.has(node));
  // An end beside a use that goes on changes nothing that anybody waits for: no reason to write.
  return inUse(facts, { reason: "Mounted", mountedOn, lastUse: stored?.lastUse, waitsFor });
}

/** An added node is a reason to write, a removed one is not. */
function mountedOnOf({ stored, usedOn, pendingNodes, ends }: Facts): MountedOn {
  const known = stored?.mountedOn;
  // A write leaves out nodes where it is not mounted any more, unless they have to be asked after a start.
  const open = new Set([...pendingNodes, ...ends].map(({ node }) => node));
  const kept = known?.nodes.filter((node) => open.has(node)) ?? [];
  const nodes = [...new Set([...usedOn, ...kept])].sort();
  const more = nodes.length > MAX_NODES || (known?.more === true && pendingNodes.length > 0);
  const isNews = usedOn.some((node) => known?.nodes.includes(node) !== true) && !(known?.more && more);
  return known === undefined || isNews ? { nodes: nodes.slice(0, MAX_NODES), more } : known;
}

/** The status stays until the nodes have answered; it names those whose time is over. */
function awaiting(facts: Facts): Decision {
  const { stored, references, pendingNodes } = facts;
  const silent = pendingNodes.filter(({ isSilent }) => isSilent);
  if (stored === undefined) {
    // A node may stay Stale for good: an invalid condition must not stay that long.
    return facts.claim.hasInvalidCondition && silent.length > 0 ? inUse(facts, { waitsFor: silent }) : undefined;
  }
  if (!stored.unused) {
    // A pod that names it keeps it in use anyway: a start while nodes are Stale is no reason to write.
    if (silent.length === 0 || references.length > 0) return undefined;
    const { reason, mountedOn, lastUse } = stored;
    return inUse(facts, { reason, mountedOn, lastUse, waitsFor: silent });
  }
  const pods = pendingNodes.filter(({ pod }) => pod !== undefined);
  // It was referenced meanwhile and may still be mounted, although that was not written.
  if (pods.length > 0) return inUse(facts, { waitsFor: silent.length > 0 ? silent : pods });
  // A time in the future is not too early, and its replacement is a reason to write.
  const isDatedAnew = stored.sinceMs !== facts.claim.status?.sinceMs;
  if (isDatedAnew && pendingNodes.some(({ why }) => why === undefined)) return undefined;
  // To wait would only keep a time that is known to be too early.
  return unused(facts);
}

function unused(facts: Facts): Decision {
  const { stored, unobserved } = facts;
  const { openUntilMs = Number.NEGATIVE_INFINITY } = unobserved;
  const unusedNow = withGap(idle(facts), stored, unobserved);
  // A time before that, written now, might have to be corrected soon, and would be too early until then.
  if (unusedNow.sinceMs >= openUntilMs) return { kind: "unused", ...unusedNow, stagedOn: stagedOn(facts) };
  if (stored?.unused !== true) return undefined;
  const { reason, sinceMs, lastUse, gap } = stored;
  return { kind: "unused", reason, sinceMs, lastUse, gap, stagedOn: stagedOn(facts) };
}

function stagedOn({ stagedOn: nodes, pendingNodes }: Facts): Unused["stagedOn"] {
  return nodes?.length === 0 && pendingNodes.length > 0 ? "as-stored" : nodes;
}

function idle(facts: Facts): Idle {
  const { stored, refuted, ends, lastUse, isEndUnknown, nowMs } = facts;
  const found = latestOf(ends);
  const latest = found && laterOf(found, lastUse);
  const sinceMs = stored?.sinceMs ?? 0;
  if (stored?.unused === true && refuted === undefined && (latest === undefined || latest.byMs <= sinceMs)) {
    return { reason: stillReason(stored, lastUse), sinceMs, lastUse };
  }
  const isExplained = refuted === undefined || ends.some((end) => explains(end, refuted));
  if (latest !== undefined && isExplained && !isEndUnknown) {
    const visit = latest.wasUse ? undefined : latest;
    return { reason: REASONS[latest.evidence], sinceMs: Math.max(sinceMs, latest.byMs), lastUse, visit };
  }
  // Nothing shows how the stored use ended: now is the earliest time that is surely not too early.
  const reason = stored === undefined && latest === undefined ? "NeverObservedInUse" : "NoPodUsing";
  return { reason, sinceMs: Math.max(sinceMs, nowMs, latest?.byMs ?? 0), lastUse };
}

/** The last use may become known later. A pod that came and went, or an unobserved end, is later than that use. */
function stillReason({ reason }: ClaimStatus, lastUse: LastUse | undefined): UnusedReason {
  return lastUse === undefined || reason === "NoPodUsing" ? reason : REASONS[lastUse.evidence];
}
