import type { Docket } from "./docket.ts";
import { JUST_FORGED, whyEarlier, whyHeld, whyUnnamed } from "./forged.ts";
import type { Published, PublishedUse } from "./published.ts";
import { type Case, describeUse, type Moment, type Scene, type Use } from "./record.ts";
import { anew } from "./writes.ts";

/** How much later than the truth a time may be where nothing went wrong: a second of rounding, up to a second that `Date` leaves open, a scan. */
export const EXACT_MS = 3_000;

/** At any time: what all who are to tell of it have had the time to tell stands there. */
export function judgeMeanwhile(docket: Docket, claim: Case, now: Published | undefined): void {
  const { name, uses, dispute, isJustForged } = claim;
  for (const use of uses) {
    if (use.promisedEnd !== undefined || !use.isKnown) continue;
    const excuse = dispute ?? use.excuse ?? (isJustForged ? JUST_FORGED : undefined);
    const isKept = now?.isUnused !== true;
    if (!isKept && excuse !== undefined) docket.excuse("never-unused-while-mounted", excuse);
    else docket.judge("never-unused-while-mounted", isKept, () => `${name} is called unused: ${describeUse(use)}`);
  }
}

/** Everything has worked for long enough: what stands there is the truth. */
export function judgeRest(
  docket: Docket,
  claim: Case,
  found: { readonly now: Published | undefined; readonly scene: Scene },
): void {
  const { now, scene } = found;
  if (now === undefined) {
    docket.judge("exact", false, () => `${claim.name} has no status`);
    return;
  }
  judgeState(docket, claim, { now, scene });
  judgeEnds(docket, claim, now);
  if (!now.isUnused) return;
  judgeLateness(docket, claim, { now, scene });
  judgeLastUser(docket, claim, { now, scene });
}

interface Found {
  readonly now: Published;
  readonly scene: Scene;
}

function judgeState(docket: Docket, claim: Case, { now, scene }: Found): void {
  const { name, dispute } = claim;
  const excuse = dispute ?? whyHeld(claim, now, scene);
  if (excuse !== undefined) {
    docket.excuse("exact", excuse);
    return;
  }
  const { mounts, references, stagedOn } = scene;
  const [user, reference] = [mounts[0], references[0]];
  const free = reference === undefined ? "unused" : "Referenced";
  const expected = user === undefined ? free : "Mounted";
  const said = now.isUnused ? "unused" : now.reason;
  const isRight = said === expected || (scene.isInterrupted === true && said === "Mounted");
  docket.judge("exact", isRight, () => {
    return `${name} is called ${said} (${now.reason}) and is ${expected}: ${user ?? reference ?? "nobody uses it"}`;
  });
  const isStaged = now.isUnused && stagedOn.length > 0;
  docket.judge("exact", isStaged === (now.staged !== undefined), () => {
    return `${name} is staged on ${stagedOn.join(", ") || "no node"}, and says "${now.staged ?? ""}"`;
  });
}

/** Everything has worked for a while: no use that ended before is forgotten. */
export function judgeEnds(docket: Docket, claim: Case, now: Published | undefined): void {
  if (now?.isUnused !== true) return;
  const { isKept, told } = anew(claim, now);
  docket.judge("anew", isKept, told);
  for (const use of claim.uses) {
    const excuse = use.unseen ?? whyEarlier(claim, use, now.sinceMs);
    judgeKept(docket, claim, { now, use });
    // One that goes on is no matter of time.
    if (use.promisedEnd === undefined || now.sinceMs >= use.promisedEnd.afterMs)
      docket.judge("never-longer", true, () => "");
    else if (excuse !== undefined) docket.excuse("never-longer", excuse);
    else docket.judge("never-longer", false, () => `${claim.name} counts since ${now.sinceMs}: ${describeUse(use)}`);
  }
}

function judgeLateness(docket: Docket, { name, dispute }: Case, { now, scene: { last, mayBeLateMs } }: Found): void {
  if (mayBeLateMs === undefined) return;
  if (dispute !== undefined) {
    docket.excuse("exact", dispute);
    return;
  }
  const lateMs = Math.round(now.sinceMs - last.byMs);
  docket.judge(
    "exact",
    lateMs <= mayBeLateMs,
    () => `${name} (${now.reason}) is ${lateMs} ms late, and may be ${Math.round(mayBeLateMs)}`,
  );
}

/** It is named that ended last, or one of which what is published leaves that open. */
function judgeLastUser(docket: Docket, claim: Case, { now: { lastUse }, scene: { isLastNamed } }: Found): void {
  if (!isLastNamed || claim.dispute !== undefined) return;
  const told = claim.uses.filter(({ isShown, forgotten, ended }) => isShown && forgotten === undefined && ended);
  if (told.length === 0) return;
  const last = Math.max(...told.map(endOf));
  const users = claim.uses.filter((use) => endOf(use) >= last);
  const named = lastUse?.podUid;
  const forgotten = users.find((use) => use.forgotten !== undefined)?.forgotten;
  if (named === undefined && lastUse !== undefined && lastUse.releasedAtMs >= last && forgotten !== undefined) {
    docket.excuse("last-user", forgotten);
    return;
  }
  const known = [...users.map(({ podUid }) => podUid), ...claim.lookalikes];
  const lastByMs = Math.max(...told.map(({ ended }) => ended?.byMs ?? 0));
  const isRight = known.includes(named ?? "") || mayBeLast(claim, lastUse, { afterMs: last, byMs: lastByMs });
  const who = users.map(({ pod }) => pod).join(" or ");
  docket.judge("last-user", isRight, () => `${claim.name} was last used by ${who}, named is ${named ?? "nobody"}`);
}

function endOf({ ended }: Use): number {
  return ended?.afterMs ?? 0;
}

/** It did use the claim, and what is published of its end leaves open whether it was the last, by whichever server's clock. */
function mayBeLast({ uses }: Case, lastUse: PublishedUse | undefined, last: Moment): boolean {
  const { releasedAtMs = 0, uncertaintyMs = Number.POSITIVE_INFINITY, podUid } = lastUse ?? {};
  const isUser = uses.some((use) => use.isShown && use.podUid === podUid);
  return isUser && releasedAtMs >= last.afterMs && releasedAtMs - uncertaintyMs <= last.byMs;
}

/** What a node had told, or had on a disk that keeps what it is given, has become a last use, or somebody used the claim later. */
function judgeKept(docket: Docket, claim: Case, { now, use }: { readonly now: Published; readonly use: Use }): void {
  if (!use.isShown || use.promisedEnd === undefined) return;
  const isKept = (now.lastUse?.releasedAtMs ?? Number.NEGATIVE_INFINITY) >= use.promisedEnd.afterMs;
  const excuse = claim.dispute ?? use.unseen ?? use.excuse ?? use.forgotten ?? whyUnnamed(claim, use);
  if (!isKept && excuse !== undefined) docket.excuse("last-user", excuse);
  else docket.judge("last-user", isKept, () => `${claim.name}: ${describeUse(use)}, told is ${now.lastUse?.release}`);
}
