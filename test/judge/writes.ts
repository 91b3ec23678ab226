import type { Docket } from "./docket.ts";
import { FORGED_TIME, isForgedTime, whyEarlier, whyNamed } from "./forged.ts";
import type { Published, PublishedUse } from "./published.ts";
import { type Case, describeUse, type Use } from "./record.ts";

/** A status that was stored. */
export interface Write {
  readonly now: Published;
  /** What stood there. */
  readonly before: Published | undefined;
  /** What Mooring had written last, where somebody else has written since. */
  readonly own?: Published | undefined;
  /** Since when. */
  readonly beforeMs: number;
  /** When it was sent: what happened since cannot be in it. */
  readonly sentMs: number;
  /** What an API server's clock showed at least when it was stored. */
  readonly presentMs: number;
  /** What had begun by then its writer had been running for long enough to hear of. */
  readonly heardMs: number;
}

/** A use may go unread for so long, from its begin on, while whoever writes runs. Milliseconds. */
export const UNREAD_MS = 2_000;

/** Each write is judged when it is stored, whatever went wrong: to be too early nothing is an excuse that the writer could have asked for. */
export function judgeWrite(docket: Docket, claim: Case, write: Write): void {
  const { now, before } = write;
  const { name } = claim;
  judgeDirection(docket, claim, write);
  judgeNews(docket, name, write);
  judgeAnew(docket, claim, now);
  judgeTime(docket, claim, write);
  if (now.lastUse?.release !== before?.lastUse?.release) judgeLastUse(docket, claim, now);
}

/** docs/claim-status.md: a time that is more than this in the future is none, and is replaced by now. Milliseconds. */
const FUTURE_MS = 5_000;

function judgeDirection(docket: Docket, claim: Case, { now, before, own, presentMs }: Write): void {
  const { name } = claim;
  // What says neither that it is in use nor that it is not tells no time of either: Mooring never writes that.
  const isKept = before === undefined || now.sinceMs >= before.sinceMs || !(before.isUnused || before.isInUse);
  const isOwnKept = own === undefined || now.sinceMs >= own.sinceMs;
  if (!isKept && before.sinceMs > presentMs + FUTURE_MS) docket.excuse("never-earlier", "the time was in the future");
  else if (!isKept && (own === undefined ? isForgedTime(claim, before.sinceMs) : isOwnKept))
    docket.excuse("never-earlier", FORGED_TIME);
  else docket.judge("never-earlier", isKept, () => `${name} went back from ${before?.sinceMs} to ${now.sinceMs}`);
}

/** A write says something that does not stand there. */
export function judgeNews(docket: Docket, name: string, { now, before }: Pick<Write, "now" | "before">): void {
  docket.judge("one-write", !isSame(now, before), () => `${name} is written and nothing changed: ${now.reason}`);
}

/** Nobody knows at what time of its second a claim was made. */
const SECOND_MS = 1_000;

/** What somebody else wrote of a last use may stand there until the next write takes it away. */
function judgeAnew(docket: Docket, claim: Case, now: Published): void {
  const theirs = now.lastUse && whyNamed(claim, now.lastUse);
  const { isKept, told } = anew(claim, theirs === undefined ? now : { ...now, lastUse: undefined });
  docket.judge("anew", isKept, told);
}

/** Nothing that is told of a claim is from before it was made. */
export function anew(
  { name, made }: Case,
  { sinceMs, lastUse }: Published,
): { readonly isKept: boolean; readonly told: () => string } {
  const words = `since ${sinceMs}, used until ${lastUse?.releasedAtMs ?? "never"}`;
  return {
    isKept: sinceMs >= made.afterMs && (lastUse?.releasedAtMs ?? sinceMs) >= made.afterMs - SECOND_MS,
    told: () => `${name} was made at ${made.afterMs}, and is told of ${words}`,
  };
}

/** It is called unused: no use that had begun goes on, or ended later than the time that is published. */
function judgeTime(docket: Docket, claim: Case, { now, before, beforeMs, sentMs, heardMs }: Write): void {
  // One apply carries both conditions: where only the volume is staged, or is no longer, nothing is said of when it was used.
  if (before !== undefined && isSame({ ...now, staged: undefined }, { ...before, staged: undefined })) return;
  // What stood there and is moved later only gets better; how long it may stand there, and how early it may be at rest, is judged then.
  if (!now.isUnused || (before?.isUnused === true && now.sinceMs > before.sinceMs)) return;
  const begun = claim.uses.filter(({ beganMs }) => beganMs <= sentMs);
  const against = begun.filter((use) => isOn(use, sentMs) || now.sinceMs < (use.promisedEnd?.afterMs ?? 0));
  // Whoever wrote that it is in use was awake then, and no write overlooks what stands there.
  const everHeardMs = before?.isUnused === false ? Math.max(heardMs, beforeMs - UNREAD_MS) : heardMs;
  // Somebody else wrote that time, and this write only puts other things right.
  const theirs = before?.sinceMs === now.sinceMs && isForgedTime(claim, now.sinceMs) ? FORGED_TIME : undefined;
  const excuses = against.map(
    (use) => excuseOf(claim, use, everHeardMs) ?? whyEarlier(claim, use, now.sinceMs) ?? theirs,
  );
  const worst = against.find((_, index) => excuses[index] === undefined);
  const promise = worst !== undefined && isOn(worst, sentMs) ? "never-unused-while-mounted" : "never-longer";
  const [excuse] = excuses;
  if (worst === undefined && excuse !== undefined) docket.excuse(promise, excuse);
  else docket.judge(promise, worst === undefined, () => `${claim.name} counts since ${now.sinceMs}: ${wordsOf(worst)}`);
}

function excuseOf({ dispute }: Case, { beganMs, excuse, unseen }: Use, heardMs: number): string | undefined {
  return dispute ?? unseen ?? excuse ?? (beganMs > heardMs ? "began just before" : undefined);
}

function isOn({ endedMs = Number.POSITIVE_INFINITY }: Use, atMs: number): boolean {
  return endedMs > atMs;
}

function wordsOf(use: Use | undefined): string {
  return use === undefined ? "" : describeUse(use);
}

/** Who is named did use the claim, or named it where no scan is said to have shown a mount; and an end that was seen is within its uncertainty. */
function judgeLastUse(docket: Docket, claim: Case, { lastUse }: Published): void {
  if (lastUse === undefined) return;
  const { podUid, node, pod, evidence, uncertaintyMs } = lastUse;
  const { lookalikes, lookalikesOn = [] } = claim;
  const isLike = podUid === undefined ? lookalikesOn.includes(node ?? "") : lookalikes.includes(podUid);
  const lookalike = isLike ? "a lookalike" : undefined;
  const excuse = claim.dispute ?? lookalike ?? whyNamed(claim, lastUse);
  if (excuse !== undefined) {
    docket.excuse("last-user", excuse);
    return;
  }
  const own = claim.uses.filter((use) => {
    // Of one whose name was never heard, the UID stands in for it.
    const isName = fits(pod, use.pod) || pod === use.podUid;
    return fits(podUid, use.podUid) && fits(node, use.node) && isName;
  });
  // Whose mount it was that a scan is said to have shown, is known then.
  const wasSeen = podUid !== undefined && evidence === "mount-table" && uncertaintyMs !== undefined;
  const isOne = own.length > 0 || (!wasSeen && claim.namedBy.some((uid) => fits(podUid, uid)));
  docket.judge("last-user", isOne, () => {
    return `${claim.name} is said to have been used by ${podUid} (${pod}) on ${node}, known by ${evidence}`;
  });
  // Whose end it is that is told without a pod, is known where it is known which of them scans showed.
  const isKnown = podUid !== undefined || own.every(({ isScanned }) => isScanned !== undefined);
  if (evidence === "mount-table" && own.length > 0 && isKnown) judgeUncertainty(docket, claim.name, { own, lastUse });
}

/** What is not told fits. */
function fits(told: string | undefined, real: string): boolean {
  return told === undefined || told === real;
}

/** What is stored is in whole milliseconds; and of what is summed up a little is lost. */
const ROUNDED_MS = 2;

interface ToldEnd {
  /** Those of whoever is named, or of all there where nobody is. */
  readonly own: readonly Use[];
  readonly lastUse: PublishedUse;
}

/** How sure an end is, is told exactly where a scan had shown the mount; and the true end is within that. */
function judgeUncertainty(docket: Docket, name: string, { own, lastUse }: ToldEnd): void {
  const { releasedAtMs, uncertaintyMs } = lastUse;
  const isWithin = own.some(({ ended, isScanned = uncertaintyMs !== undefined }) => {
    if (ended === undefined || isScanned !== (uncertaintyMs !== undefined)) return false;
    return releasedAtMs >= ended.afterMs && releasedAtMs - (uncertaintyMs ?? releasedAtMs) - ROUNDED_MS <= ended.byMs;
  });
  const told = `${releasedAtMs} with ${uncertaintyMs ?? "unknown"} ms of uncertainty`;
  docket.judge("uncertainty", isWithin, () => `${name}: released at ${told}; ${own.map(describeUse).join(", ")}`);
}

export function isSame(one: Published, other: Published | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
