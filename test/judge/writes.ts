import type { Docket } from "./docket.ts";
import { FORGED_TIME, isForgedTime, whyEarlier, whyOtherUser } from "./forged.ts";
import type { Published, PublishedUse } from "./published.ts";
import { type Case, describeUse, type Use } from "./record.ts";

/** A status that was stored. */
export interface Write {
  readonly now: Published;
  /** The status that it replaced. */
  readonly before: Published | undefined;
  /** Mooring's own last status, where another client has written since. */
  readonly own?: Published | undefined;
  /** The writer of `before` had to know each use that had begun by then. */
  readonly knownBeforeMs: number;
  /** When the write was sent: it cannot contain what happened later. */
  readonly sentMs: number;
  /** An API server's clock showed at least this when the write was stored. */
  readonly presentMs: number;
  /** Its writer has to know each use that had begun by then. */
  readonly knownUntilMs: number;
}

/** A running writer knows a use this long after it began. Milliseconds. */
export const KNOWN_WITHIN_MS = 2_000;

/** Judges a write when it is stored. A fault never excuses a time that is too early if the writer could have asked before it wrote. */
export function judgeWrite(docket: Docket, claim: Case, write: Write): void {
  const { now, before } = write;
  judgeDirection(docket, claim, write);
  judgeChange(docket, claim.name, write);
  judgeAnew(docket, claim, now);
  judgeTime(docket, claim, write);
  if (now.lastUse?.unmountRecord !== before?.lastUse?.unmountRecord) judgeLastUse(docket, claim, now);
}

/** docs/claim-status.md: a time more than this in the future is invalid, and is replaced by now. Milliseconds. */
const FUTURE_MS = 5_000;

function judgeDirection(docket: Docket, claim: Case, { now, before, own, presentMs }: Write): void {
  const { name } = claim;
  const isKept = before === undefined || now.sinceMs >= before.sinceMs || !isMoorings(before);
  const isOwnKept = own === undefined || now.sinceMs >= own.sinceMs;
  if (!isKept && before.sinceMs > presentMs + FUTURE_MS)
    docket.excuse("never-earlier", "the stored time was in the future");
  else if (!isKept && (own === undefined ? isForgedTime(claim, before.sinceMs) : isOwnKept))
    docket.excuse("never-earlier", FORGED_TIME);
  else docket.judge("never-earlier", isKept, () => `${name} went back from ${before?.sinceMs} to ${now.sinceMs}`);
}

/** Every reason that Mooring writes (docs/claim-status.md). */
const REASONS: ReadonlySet<string> = new Set([
  ...["Unmounted", "NoPodUsing", "NodeGone", "NeverObservedInUse"],
  ...["Mounted", "Referenced"],
]);

/** Mooring never writes a status that is neither `True` nor `False`, nor one with another reason: the time of such a status does not count. */
function isMoorings({ isUnused, isInUse, reason }: Published): boolean {
  return (isUnused || isInUse) && REASONS.has(reason);
}

/** A write changes the status. */
export function judgeChange(docket: Docket, name: string, { now, before }: Pick<Write, "now" | "before">): void {
  docket.judge("one-write", !isSame(now, before), () => `${name} is written and nothing changed: ${now.reason}`);
}

/** A creation time has no fraction of a second. */
const SECOND_MS = 1_000;

/** Another client's last use may stay until the next write removes it. */
function judgeAnew(docket: Docket, claim: Case, now: Published): void {
  const forged = now.lastUse && whyOtherUser(claim, now.lastUse);
  const { isKept, text } = anew(claim, forged === undefined ? now : { ...now, lastUse: undefined });
  docket.judge("anew", isKept, text);
}

/** No time in the status is from before the claim's creation. */
export function anew(
  { name, made }: Case,
  { sinceMs, lastUse }: Published,
): { readonly isKept: boolean; readonly text: () => string } {
  const published = `since ${sinceMs}, used until ${lastUse?.endedByMs ?? "never"}`;
  return {
    isKept: sinceMs >= made.afterMs && (lastUse?.endedByMs ?? sinceMs) >= made.afterMs - SECOND_MS,
    text: () => `${name} was created at ${made.afterMs}, and its status has ${published}`,
  };
}

/** When a write calls the claim unused, each use that had begun is over, and ended no later than the published time. */
function judgeTime(docket: Docket, claim: Case, { now, before, knownBeforeMs, sentMs, knownUntilMs }: Write): void {
  // One apply carries both conditions: a change of staging alone says nothing new about the last use.
  if (before !== undefined && isSame({ ...now, staged: undefined }, { ...before, staged: undefined })) return;
  // A later time only gets better. How long the earlier one may stay, and how early it may be at rest, is judged elsewhere.
  if (!now.isUnused || (before?.isUnused === true && now.sinceMs > before.sinceMs)) return;
  const begun = claim.uses.filter(({ beganMs }) => beganMs <= sentMs);
  const contrary = begun.filter((use) => isOngoing(use, sentMs) || now.sinceMs < (use.promisedEnd?.afterMs ?? 0));
  // The process that wrote the stored status in use was running then, and each writer reads the stored status.
  const mustKnowMs = before?.isUnused === false ? Math.max(knownUntilMs, knownBeforeMs) : knownUntilMs;
  // Another client wrote that time, and this write only repairs something else.
  const forged = before?.sinceMs === now.sinceMs && isForgedTime(claim, now.sinceMs) ? FORGED_TIME : undefined;
  const excuses = contrary.map(
    (use) => excuseOf(claim, use, mustKnowMs) ?? whyEarlier(claim, use, now.sinceMs) ?? forged,
  );
  const worst = contrary.find((_, index) => excuses[index] === undefined);
  const promise = worst !== undefined && isOngoing(worst, sentMs) ? "never-unused-while-mounted" : "never-longer";
  const [excuse] = excuses;
  if (worst === undefined && excuse !== undefined) docket.excuse(promise, excuse);
  else docket.judge(promise, worst === undefined, () => `${claim.name} counts since ${now.sinceMs}: ${textOf(worst)}`);
}

function excuseOf({ dispute }: Case, { beganMs, excuse, unobserved }: Use, knownUntilMs: number): string | undefined {
  return dispute ?? unobserved ?? excuse ?? (beganMs > knownUntilMs ? "began just before the write" : undefined);
}

function isOngoing({ endedMs = Number.POSITIVE_INFINITY }: Use, atMs: number): boolean {
  return endedMs > atMs;
}

function textOf(use: Use | undefined): string {
  return use === undefined ? "" : describeUse(use);
}

/** The named pod used the claim, or named it where the evidence is no scan; and the true end of a scanned use is within its uncertainty. */
function judgeLastUse(docket: Docket, claim: Case, { lastUse }: Published): void {
  if (lastUse === undefined) return;
  const { podUid, node, pod, evidence, uncertaintyMs } = lastUse;
  const { lookalikes, lookalikesOn = [] } = claim;
  const isLike = podUid === undefined ? lookalikesOn.includes(node ?? "") : lookalikes.includes(podUid);
  const lookalike = isLike ? "its pod used a claim or volume of the same name" : undefined;
  const excuse = claim.dispute ?? lookalike ?? whyOtherUser(claim, lastUse);
  if (excuse !== undefined) {
    docket.excuse("last-user", excuse);
    return;
  }
  const own = claim.uses.filter((use) => {
    // Where the pod's name is not known, its UID stands for it.
    const isName = fits(pod, use.pod) || pod === use.podUid;
    return fits(podUid, use.podUid) && fits(node, use.node) && isName;
  });
  // A scan that showed the mount also showed whose it was.
  const wasScanned = podUid !== undefined && evidence === "mount-table" && uncertaintyMs !== undefined;
  const isOne = own.length > 0 || (!wasScanned && claim.namedBy.some((uid) => fits(podUid, uid)));
  docket.judge("last-user", isOne, () => {
    return `${claim.name}: the last use names ${podUid} (${pod}) on ${node}, by ${evidence}`;
  });
  // Without a pod, the end can be judged only if it is known for each of the uses whether a scan showed it.
  const isKnown = podUid !== undefined || own.every(({ isScanned }) => isScanned !== undefined);
  if (evidence === "mount-table" && own.length > 0 && isKnown) judgeUncertainty(docket, claim.name, { own, lastUse });
}

/** A field that the status leaves out fits any use. */
function fits(published: string | undefined, real: string): boolean {
  return published === undefined || published === real;
}

/** Stored times are whole milliseconds, and sums lose a little. */
const ROUNDED_MS = 2;

interface PublishedEnd {
  /** The uses of the named pod, or all uses on the node where no pod is named. */
  readonly own: readonly Use[];
  readonly lastUse: PublishedUse;
}

/** The status states an uncertainty exactly where a scan had shown the mount, and the true end is within it. */
function judgeUncertainty(docket: Docket, name: string, { own, lastUse }: PublishedEnd): void {
  const { endedByMs, uncertaintyMs } = lastUse;
  const isWithin = own.some(({ ended, isScanned = uncertaintyMs !== undefined }) => {
    if (ended === undefined || isScanned !== (uncertaintyMs !== undefined)) return false;
    return endedByMs >= ended.afterMs && endedByMs - (uncertaintyMs ?? endedByMs) - ROUNDED_MS <= ended.byMs;
  });
  const published = `${endedByMs} with ${uncertaintyMs ?? "unknown"} ms of uncertainty`;
  docket.judge("uncertainty", isWithin, () => `${name}: ended by ${published}; ${own.map(describeUse).join(", ")}`);
}

export function isSame(one: Published, other: Published | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
