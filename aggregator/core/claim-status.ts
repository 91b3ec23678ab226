import {
  type ClaimStatus,
  type Evidence,
  type LastUse,
  MAX_NODES,
  type MountedOn,
  type UnusedReason,
} from "../../common/storage/claim-status.ts";

/** The end of one use of a claim, from whatever it is known. Milliseconds of the API server's wall clock. */
export interface UseEnd {
  readonly id: string;
  readonly reason: Extract<UnusedReason, "Unmounted" | "NoPodUsing" | "NodeGone">;
  readonly evidence: Evidence;
  /** At or after the truth. */
  readonly byMs: number;
  readonly widthMs: number | undefined;
  readonly node: string | undefined;
  /** Nothing for a use that ended while nobody watched. */
  readonly pod: string | undefined;
  readonly podUid: string | undefined;
  /** False for a reference that never led to a mount: it ends a reference, but nobody used the volume. */
  readonly wasUse: boolean;
}

/** A node whose answer is needed before a claim may count as unused. */
export interface Awaited {
  readonly node: string;
  /** It should have answered long ago. */
  readonly isSilent: boolean;
}

/** Everything that decides a claim's status. */
export interface ClaimFacts {
  /** Only bound claims that are not being deleted get a status. */
  readonly isEligible: boolean;
  readonly stored: ClaimStatus | undefined;
  /** Nodes with a use-hold. */
  readonly holders: readonly string[];
  /** Pods that name the claim and are not over. */
  readonly references: readonly string[];
  readonly awaited: readonly Awaited[];
  readonly ends: readonly UseEnd[];
  /** When a use that nobody here witnessed is known to have ended; see `blindEnd`. */
  readonly blindEnd: UseEnd | "unknown" | undefined;
  readonly nowMs: number;
}

/** A stored time this far in the future is invalid; our own rounding and clock bound reach a little into it, too. */
const FUTURE_MS = 5_000;

/** The status that a claim should have, or nothing when what stands there is to be left alone. */
export function desiredClaimStatus(facts: ClaimFacts): ClaimStatus | undefined {
  if (!facts.isEligible) return undefined;
  const stored = credible(facts);
  if (facts.holders.length > 0) return mounted(facts, stored);
  if (facts.references.length > 0) return referenced(facts, stored);
  if (facts.awaited.length > 0) return awaiting(facts, stored);
  return unused(facts, stored);
}

function credible({ stored, nowMs }: ClaimFacts): ClaimStatus | undefined {
  if (stored === undefined || stored.sinceMs <= nowMs + FUTURE_MS) return stored;
  return { ...stored, sinceMs: nowMs };
}

function mounted({ holders, nowMs }: ClaimFacts, stored: ClaimStatus | undefined): ClaimStatus {
  const known = stored?.mountedOn;
  const nodes = [...new Set([...(known?.nodes ?? []), ...holders])].sort();
  const mountedOn: MountedOn = {
    nodes: nodes.slice(0, MAX_NODES),
    more: (known?.more ?? false) || nodes.length > MAX_NODES,
  };
  return {
    unused: false,
    reason: "Mounted",
    message: `Mounted on ${listed(mountedOn.nodes)}${mountedOn.more ? " and further nodes" : ""}`,
    sinceMs: inUseSince(stored, nowMs),
    mountedOn,
    // Ends of use beside one that goes on change nothing that somebody waits for: not a reason to write.
    lastUse: stored?.lastUse,
  };
}

function referenced(facts: ClaimFacts, stored: ClaimStatus | undefined): ClaimStatus {
  const { references, nowMs } = facts;
  return {
    unused: false,
    reason: "Referenced",
    message: `Not mounted, but ${references.length === 1 ? "a pod that is not finished names" : "pods that are not finished name"} the claim`,
    sinceMs: inUseSince(stored, nowMs),
    mountedOn: undefined,
    lastUse: stored?.reason === "Referenced" ? stored.lastUse : latestUse(stored, facts),
  };
}

/** Since when the claim is in use: the time stays over a change of reason. */
function inUseSince(stored: ClaimStatus | undefined, nowMs: number): number {
  return stored?.unused === false ? stored.sinceMs : Math.max(nowMs, stored?.sinceMs ?? 0);
}

/** The status stays until the nodes have answered; of those that should have long ago, the message tells. */
function awaiting(facts: ClaimFacts, stored: ClaimStatus | undefined): ClaimStatus | undefined {
  // Where it counts as unused already, waiting would only leave a time that is known to be too early.
  const moved = stored?.unused === true ? unused(facts, stored) : undefined;
  if (moved !== undefined) return moved;
  const silent = facts.awaited.filter(({ isSilent }) => isSilent).map(({ node }) => node);
  if (silent.length === 0 || stored === undefined) return undefined;
  const message = `Not known to be unused: no report from ${listed([...new Set(silent)].sort())}`;
  return { ...stored, message };
}

function unused(facts: ClaimFacts, stored: ClaimStatus | undefined): ClaimStatus | undefined {
  const { blindEnd, nowMs } = facts;
  const ends = blindEnd === undefined || blindEnd === "unknown" ? facts.ends : [...facts.ends, blindEnd];
  const found = ends.reduce<UseEnd | undefined>((best, end) => (best && best.byMs >= end.byMs ? best : end), undefined);
  const lastUse = latestUse(stored, { ends, nowMs });
  const latest = found && laterOf(found, lastUse);
  const sinceMs = Math.max(stored?.sinceMs ?? 0, latest?.byMs ?? nowMs);
  if (stored?.unused === true) return stillUnused(facts, { stored, latest, lastUse });
  if (latest !== undefined && blindEnd !== "unknown") return unusedSince(latest, { sinceMs, lastUse });
  const idle = { unused: true, sinceMs: Math.max(sinceMs, nowMs), mountedOn: undefined, lastUse };
  if (stored === undefined) {
    return { ...idle, reason: "NeverObservedInUse", message: "Not seen in use since Mooring first saw the claim" };
  }
  // In use by what is stored, and nothing tells how that ended: now is the earliest time that is surely not too early.
  return { ...idle, reason: "NoPodUsing", message: "No pod uses the claim; when the last one stopped is not known" };
}

/** A use whose end is stored already may have ended later than those that are learnt now. */
function laterOf(end: UseEnd, lastUse: LastUse | undefined): UseEnd {
  return lastUse === undefined || lastUse.releasedAtMs <= end.byMs ? end : endOf(lastUse);
}

/** The end of the use that is stored as the last one. */
export function endOf({ releaseId, evidence, releasedAtMs, uncertaintyMs, node, pod, podUid }: LastUse): UseEnd {
  const user = { node, pod, podUid, wasUse: true };
  return { id: releaseId, reason: REASONS[evidence], evidence, byMs: releasedAtMs, widthMs: uncertaintyMs, ...user };
}

const REASONS = { "mount-table": "Unmounted", "pod-status": "NoPodUsing", "node-gone": "NodeGone" } as const;

/** A later end learnt while the claim already counts as unused moves the time; so does a time that was invalid. */
function stillUnused(
  facts: ClaimFacts,
  known: {
    readonly stored: ClaimStatus;
    readonly latest: UseEnd | undefined;
    readonly lastUse: LastUse | undefined;
  },
): ClaimStatus | undefined {
  const { stored, latest, lastUse } = known;
  const isNews = latest !== undefined && latest.byMs > stored.sinceMs && latest.id !== stored.lastUse?.releaseId;
  if (isNews) return unusedSince(latest, { sinceMs: latest.byMs, lastUse });
  return stored.sinceMs === facts.stored?.sinceMs ? undefined : stored;
}

function unusedSince(
  end: UseEnd,
  { sinceMs, lastUse }: { readonly sinceMs: number; readonly lastUse: LastUse | undefined },
): ClaimStatus {
  return { unused: true, reason: end.reason, message: messageOf(end), sinceMs, mountedOn: undefined, lastUse };
}

function messageOf({ reason, node, pod, wasUse }: UseEnd): string {
  const where = node === undefined ? "" : ` on ${node}`;
  if (reason === "NodeGone") return `Last mounted${where}, which is gone`;
  if (reason === "Unmounted") {
    return pod === undefined ? `Unmounted${where} while nobody watched` : `Unmounted${where}, last used by pod ${pod}`;
  }
  return wasUse
    ? `Pod ${pod}${where} ended; its mount could not be observed`
    : `Pod ${pod} ended without having used the volume`;
}

/** What is stored may be forged by whoever may edit claims: a use that ends in the future is none. */
function latestUse(
  stored: ClaimStatus | undefined,
  { ends, nowMs }: Pick<ClaimFacts, "ends" | "nowMs">,
): LastUse | undefined {
  const known = stored?.lastUse;
  return ends
    .filter(({ wasUse }) => wasUse)
    .map(toLastUse)
    .reduce(
      (best, use) => (best === undefined || use.releasedAtMs > best.releasedAtMs ? use : best),
      known === undefined || known.releasedAtMs > nowMs + FUTURE_MS ? undefined : known,
    );
}

function toLastUse({ id, node, pod, podUid, byMs, widthMs, evidence }: UseEnd): LastUse {
  return { releaseId: id, node, pod, podUid, releasedAtMs: byMs, uncertaintyMs: widthMs, evidence };
}

function listed(names: readonly string[]): string {
  return names.length <= 3 ? names.join(", ") : `${names.slice(0, 3).join(", ")} and ${names.length - 3} more`;
}

/** True when writing `desired` over `stored` would change nothing. */
export function isSameStatus(stored: ClaimStatus | undefined, desired: ClaimStatus): boolean {
  return (
    stored !== undefined &&
    stored.unused === desired.unused &&
    stored.reason === desired.reason &&
    stored.message === desired.message &&
    Math.ceil(stored.sinceMs / 1000) === Math.ceil(desired.sinceMs / 1000) &&
    stored.lastUse?.releaseId === desired.lastUse?.releaseId &&
    nodesText(stored.mountedOn) === nodesText(desired.mountedOn)
  );
}

function nodesText(mountedOn: MountedOn | undefined): string {
  return mountedOn === undefined ? "" : [...mountedOn.nodes, String(mountedOn.more)].join(" ");
}

/** True when two statuses differ in no more than why the claim is used: such changes can wait a little and be one write. */
export function isReasonOnlyChange(stored: ClaimStatus | undefined, desired: ClaimStatus): boolean {
  return stored !== undefined && !stored.unused && !desired.unused;
}
