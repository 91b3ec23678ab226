import { type ClaimStatus, type LastUse, MAX_NODES, type MountedOn } from "../../common/storage/claim-status.ts";
import { type Unobserved, withGap, withoutGap } from "./claim-gap.ts";
import {
  awaitedMessage,
  END_UNKNOWN,
  endMessage,
  leftMountedMessage,
  mountedMessage,
  NEVER_OBSERVED,
  REFERENCED,
  silentMessage,
  stagedMessage,
} from "./claim-messages.ts";
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

/** The status that a claim should have, or nothing when what stands there is to be left alone. */
export function desiredClaimStatus(facts: ClaimFacts): ClaimStatus | undefined {
  // What stands there without being ours stays with it: our account may put a condition right and not remove one, and no status is
  // true of a claim that is not bound. Mooring believes nothing of it, and nothing can be lost with such a claim.
  if (!facts.isEligible) return undefined;
  const { earliestMs = Number.NEGATIVE_INFINITY, nowMs } = facts;
  // It may have been made by a server whose clock is ahead of the one that tells what now is.
  const status = withStaged(statusBy(nowMs < earliestMs ? { ...facts, nowMs: earliestMs } : facts), facts);
  return status && { ...status, sinceMs: Math.max(status.sinceMs, earliestMs), lastUse: notBefore(status, earliestMs) };
}

/** A last use from before the claim was made would be read as none. */
function notBefore({ lastUse }: ClaimStatus, earliestMs: number): LastUse | undefined {
  if (lastUse === undefined || lastUse.releasedAtMs >= earliestMs - 1_000) return lastUse;
  const { releasedAtMs, uncertaintyMs } = lastUse;
  // It may have ended as early as it could before.
  const isSure = uncertaintyMs !== undefined;
  return {
    ...lastUse,
    releasedAtMs: earliestMs,
    uncertaintyMs: isSure ? uncertaintyMs + earliestMs - releasedAtMs : undefined,
  };
}

/** A claim in use is kept for that; of one that is unused, whether its volume is still staged is told beside it. */
function withStaged(status: ClaimStatus | undefined, facts: ClaimFacts): ClaimStatus | undefined {
  const base = status ?? facts.stored;
  if (base === undefined) return undefined;
  const staged = base.unused ? stagedBy(facts) : undefined;
  return base.staged === staged ? status : { ...base, staged };
}

/** What is stored stays until the nodes have reported on which the volume may be staged. */
function stagedBy({ stored, stagedOn, pendingNodes }: ClaimFacts): string | undefined {
  if (stagedOn === undefined) return undefined;
  if (stagedOn.length > 0) return stagedMessage(stagedOn);
  return pendingNodes.length > 0 ? stored?.staged : undefined;
}

function statusBy(facts: ClaimFacts): ClaimStatus | undefined {
  const known = knownOf(facts);
  if (facts.holders.length > 0) return mounted(facts, known);
  if (facts.references.length > 0 && !isHolderAwaited(facts)) return referenced(facts, known);
  if (facts.pendingNodes.length > 0 || facts.isUnwatched) return awaiting(facts, known);
  return unused(facts, known);
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

/** What is stored, as far as it can be believed, and what is learnt beside it. */
interface Known {
  readonly stored: ClaimStatus | undefined;
  /** The end of the last use was assumed, and the node has come back. */
  readonly isRefuted: boolean;
  readonly ends: readonly UseEnd[];
  /** The latest of the uses that are over, and nothing where none is known. */
  readonly lastUse: LastUse | undefined;
}

/** A time is in the future, beyond what clocks are not sure of. */
function isAfter(ms: number, nowMs: number): boolean {
  return ms > nowMs + FUTURE_MS;
}

/**
 * Anyone who may edit claims can forge what is stored, so a use that ends in the future is dropped. When the status is from the future too,
 * and later than the use, the API server's clock was set back after both were written: the use is over by now.
 */
function believedUse({ lastUse, sinceMs }: ClaimStatus, nowMs: number): LastUse | undefined {
  if (lastUse === undefined || !isAfter(lastUse.releasedAtMs, nowMs)) return lastUse;
  const isRolledBack = isAfter(sinceMs, nowMs) && lastUse.releasedAtMs <= sinceMs;
  return isRolledBack ? { ...lastUse, releasedAtMs: nowMs, uncertaintyMs: undefined } : undefined;
}

/** What is stored, as far as it can be believed by the clock. */
function knownOf({ stored, ends, unobservedEnd, isNodeBack, nowMs }: ClaimFacts): Known {
  const isFuture = (ms: number): boolean => isAfter(ms, nowMs);
  const all = typeof unobservedEnd === "object" ? [...ends, unobservedEnd] : ends;
  const isRefuted = isNodeBack === true && stored?.lastUse?.evidence === "node-gone";
  const use = isRefuted || stored === undefined ? undefined : believedUse(stored, nowMs);
  const dated = all
    .map((end) => datedAsStored(end, use))
    .map((end) => (isFuture(end.byMs) ? { ...end, byMs: nowMs } : end));
  const sinceMs = isFuture(stored?.sinceMs ?? 0) ? nowMs : (stored?.sinceMs ?? 0);
  const believed = stored && { ...withoutGap(stored), sinceMs, lastUse: use };
  return { stored: believed, isRefuted, ends: dated, lastUse: latestUse(believed?.lastUse, dated) };
}

function mounted(facts: ClaimFacts, { stored, ends }: Known): ClaimStatus {
  const mountedOn = mountedOnOf(facts, { known: stored?.mountedOn, ends });
  return {
    unused: false,
    reason: "Mounted",
    message:
      facts.references.length > 0
        ? mountedMessage(mountedOn)
        : leftMountedMessage(mountedOn, silentHolders(facts, mountedOn)),
    sinceMs: inUseSince(stored, facts.nowMs),
    mountedOn,
    // Ends of use beside one that goes on change nothing that somebody waits for: not a reason to write.
    lastUse: stored?.lastUse,
  };
}

/** Nodes that are said to have it mounted, and that are Stale. */
function silentHolders({ holders, pendingNodes }: ClaimFacts, mountedOn: MountedOn | undefined): readonly string[] {
  const named = new Set([...holders, ...(mountedOn?.nodes ?? [])]);
  return pendingNodes.filter(({ node, isSilent }) => isSilent && named.has(node)).map(({ node }) => node);
}

/**
 * The nodes to write. A further one is news, one that drops out is not; when there is news those are left out that need not be
 * asked after a start: they have dropped out, and their unmount records are settled.
 */
function mountedOnOf(
  { holders, pendingNodes }: ClaimFacts,
  { known, ends }: { readonly known: MountedOn | undefined; readonly ends: readonly UseEnd[] },
): MountedOn {
  const open = new Set([...pendingNodes, ...ends].map(({ node }) => node));
  const kept = known?.nodes.filter((node) => open.has(node)) ?? [];
  const nodes = [...new Set([...holders, ...kept])].sort();
  const more = nodes.length > MAX_NODES || (known?.more === true && pendingNodes.length > 0);
  const isNews = holders.some((node) => known?.nodes.includes(node) !== true) && !(known?.more && more);
  return known === undefined || isNews ? { nodes: nodes.slice(0, MAX_NODES), more } : known;
}

function referenced({ nowMs }: ClaimFacts, { stored, lastUse }: Known): ClaimStatus {
  return {
    unused: false,
    reason: "Referenced",
    message: REFERENCED,
    sinceMs: inUseSince(stored, nowMs),
    mountedOn: undefined,
    lastUse: stored?.reason === "Referenced" ? stored.lastUse : lastUse,
  };
}

/** Since when the claim is in use: the time stays over a change of reason. */
function inUseSince(stored: ClaimStatus | undefined, nowMs: number): number {
  return stored?.unused === false ? stored.sinceMs : Math.max(nowMs, stored?.sinceMs ?? 0);
}

/** The status stays until the nodes have answered; of those that should have long ago, the message tells. */
function awaiting(facts: ClaimFacts, known: Known): ClaimStatus | undefined {
  const { stored } = known;
  const silent = facts.pendingNodes.filter(({ isSilent }) => isSilent);
  if (stored === undefined) {
    // A node may be silent for good: what nobody may believe is not left standing there for so long.
    return facts.isDisbelieved && silent.length > 0 ? notKnown(facts, known, silentMessage(silent)) : undefined;
  }
  const pods = facts.pendingNodes.filter(({ pod }) => pod !== undefined);
  // A pod that names it keeps it in use anyhow: a start while nodes are Stale is no reason to write.
  const isHeldUp = silent.length > 0 && facts.references.length === 0;
  if (!stored.unused) return isHeldUp ? heldUp(facts, stored, silent) : undefined;
  // Waiting would only leave a time that is known to be too early. One in the future is not, and what takes its place is news.
  if (pods.length === 0) return isBehindBarrier(facts) && isInvalid(facts) ? undefined : unused(facts, known);
  // It was referenced meanwhile and may be mounted still, although nothing was written of it.
  return notKnown(facts, known, silent.length === 0 ? awaitedMessage(pods) : silentMessage(silent));
}

function isBehindBarrier({ pendingNodes, isUnwatched = false }: ClaimFacts): boolean {
  return isUnwatched || pendingNodes.some(({ why }) => why === undefined);
}

/** Its stored time is in the future: somebody has forged it, or the clock was set back since. */
function isInvalid({ stored, nowMs }: ClaimFacts): boolean {
  return stored !== undefined && isAfter(stored.sinceMs, nowMs);
}

/** As the leader before said it that had reports of the nodes: a change of leader is no reason to write. */
function heldUp(facts: ClaimFacts, stored: ClaimStatus, silent: readonly PendingNode[]): ClaimStatus {
  const { mountedOn } = stored;
  const holders = silentHolders(facts, mountedOn);
  const isLeft = mountedOn !== undefined && holders.length === silent.length;
  return { ...stored, message: isLeft ? leftMountedMessage(mountedOn, holders) : silentMessage(silent) };
}

/** It may be in use, so it counts as in use. */
function notKnown({ nowMs }: ClaimFacts, { stored, lastUse }: Known, message: string): ClaimStatus {
  const sinceMs = inUseSince(stored, nowMs);
  return { unused: false, reason: "Referenced", message, sinceMs, mountedOn: undefined, lastUse };
}

const ALL_SEEN: Unobserved = { times: [] };

function unused(facts: ClaimFacts, known: Known): ClaimStatus | undefined {
  const { stored, unobserved = ALL_SEEN, nowMs } = facts;
  return withGap(asIfWatched(facts, known), { stored, unobserved, nowMs });
}

/** The status of an idle claim by all that was seen. */
function asIfWatched(facts: ClaimFacts, known: Known): ClaimStatus | undefined {
  const { stored, isRefuted, ends, lastUse } = known;
  const found = latestOf(ends);
  const latest = found && laterOf(found, lastUse);
  if (stored?.unused === true && !isRefuted) return stillUnused(facts, { stored, latest, lastUse });
  const sinceMs = stored?.sinceMs ?? 0;
  const isUnknown =
    facts.unobservedEnd === "unknown" || (isRefuted && !ends.some((end) => explains(end, facts.stored?.lastUse)));
  if (latest !== undefined && !isUnknown) {
    return unusedSince(latest, { sinceMs: Math.max(sinceMs, latest.byMs), lastUse });
  }
  const idle = {
    unused: true,
    sinceMs: Math.max(sinceMs, facts.nowMs, latest?.byMs ?? 0),
    mountedOn: undefined,
    lastUse,
  };
  if (stored === undefined) return { ...idle, reason: "NeverObservedInUse", message: NEVER_OBSERVED };
  // In use by what is stored, and nothing tells how that ended: now is the earliest time that is surely not too early.
  return { ...idle, reason: "NoPodUsing", message: END_UNKNOWN };
}

/** What is written when something is learnt of a claim that counts as unused already, or when what stood there was invalid. */
function stillUnused(
  facts: ClaimFacts,
  known: {
    readonly stored: ClaimStatus;
    readonly latest: UseEnd | undefined;
    readonly lastUse: LastUse | undefined;
  },
): ClaimStatus | undefined {
  const { stored, latest, lastUse } = known;
  if (latest !== undefined && latest.byMs > stored.sinceMs)
    return unusedSince(latest, { sinceMs: latest.byMs, lastUse });
  if (lastUse !== undefined && lastUse.releaseId !== stored.lastUse?.releaseId) {
    // Who used it last is learnt later than that nobody does: the time stays.
    const { sinceMs } = stored;
    const isAboutUse = facts.stored !== undefined && tellsOfUse(facts.stored);
    return isAboutUse ? unusedSince(endOf(lastUse), { sinceMs, lastUse }) : { ...stored, lastUse };
  }
  const isValid = stored.sinceMs === facts.stored?.sinceMs && stored.lastUse === facts.stored.lastUse;
  return isValid ? undefined : stored;
}

/** False where a pod that came and went unused, or an end that nobody saw, is later than the last use and is told instead. */
function tellsOfUse({ reason, sinceMs, blindGap, lastUse }: ClaimStatus): boolean {
  if (reason !== "NoPodUsing") return true;
  if (lastUse === undefined || blindGap !== undefined) return lastUse !== undefined;
  return lastUse.evidence === "pod-status" && Math.ceil(lastUse.releasedAtMs / 1_000) === Math.ceil(sinceMs / 1_000);
}

function unusedSince(
  end: UseEnd,
  { sinceMs, lastUse }: { readonly sinceMs: number; readonly lastUse: LastUse | undefined },
): ClaimStatus {
  return { unused: true, reason: end.reason, message: endMessage(end), sinceMs, mountedOn: undefined, lastUse };
}
