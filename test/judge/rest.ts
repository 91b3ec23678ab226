import type { Docket } from "./docket.ts";
import { JUST_FORGED, whyCalledMounted, whyEarlier, whyOlder } from "./forged.ts";
import type { Published, PublishedUse } from "./published.ts";
import { type Case, describeUse, type Moment, type Scene, type Use } from "./record.ts";
import { anew } from "./writes.ts";

/** Without faults a time is at most this late: a second of rounding, a `Date` header without fractions of a second, and a scan. */
export const EXACT_MS = 3_000;

/** At any time: a claim is not called unused during a use that a leader had the time to write. */
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

/** Everything has worked for long enough: the status is the truth. */
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
  const excuse = dispute ?? whyCalledMounted(claim, now, scene);
  if (excuse !== undefined) {
    docket.excuse("exact", excuse);
    return;
  }
  const { mounts, references, stagedOn } = scene;
  const [user, reference] = [mounts[0], references[0]];
  const unmounted = reference === undefined ? "unused" : "Referenced";
  const expected = user === undefined ? unmounted : "Mounted";
  const said = now.isUnused ? "unused" : now.reason;
  const isRight = said === expected || (scene.isInterrupted === true && said === "Mounted");
  docket.judge("exact", isRight, () => {
    return `${name} is called ${said} (${now.reason}) and is ${expected}: ${user ?? reference ?? "no pod uses it"}`;
  });
  const isStaged = now.isUnused && stagedOn.length > 0;
  docket.judge("exact", isStaged === (now.staged !== undefined), () => {
    return `${name} is staged on ${stagedOn.join(", ") || "no node"}, and says "${now.staged ?? ""}"`;
  });
}

/** Everything has worked for a while: the status has the end of each use that is over. */
export function judgeEnds(docket: Docket, claim: Case, now: Published | undefined): void {
  if (now?.isUnused !== true) return;
  const { isKept, text } = anew(claim, now);
  docket.judge("anew", isKept, text);
  for (const use of claim.uses) {
    const excuse = use.unobserved ?? whyEarlier(claim, use, now.sinceMs);
    judgeKept(docket, claim, { now, use });
    // `judgeMeanwhile` and `judgeState` judge a use that goes on.
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

/** The last use names the pod that ended last, or one that may have ended last within its stated uncertainty. */
function judgeLastUser(docket: Docket, claim: Case, { now: { lastUse }, scene: { isLastNamed } }: Found): void {
  if (!isLastNamed || claim.dispute !== undefined) return;
  const certain = claim.uses.filter(({ isShown, unnamed, ended }) => isShown && unnamed === undefined && ended);
  if (certain.length === 0) return;
  const last = Math.max(...certain.map(endOf));
  const users = claim.uses.filter((use) => endOf(use) >= last);
  const named = lastUse?.podUid;
  const unnamed = users.find((use) => use.unnamed !== undefined)?.unnamed;
  if (named === undefined && lastUse !== undefined && lastUse.endedByMs >= last && unnamed !== undefined) {
    docket.excuse("last-user", unnamed);
    return;
  }
  const known = [...users.map(({ podUid }) => podUid), ...claim.lookalikes];
  const lastByMs = Math.max(...certain.map(({ ended }) => ended?.byMs ?? 0));
  const isRight = known.includes(named ?? "") || mayBeLast(claim, lastUse, { afterMs: last, byMs: lastByMs });
  const who = users.map(({ pod }) => pod).join(" or ");
  docket.judge("last-user", isRight, () => `${claim.name} was last used by ${who}, named is ${named ?? "no pod"}`);
}

function endOf({ ended }: Use): number {
  return ended?.afterMs ?? 0;
}

/** The named pod used the claim and, within the stated uncertainty and the difference of the API servers' clocks, may have ended last. */
function mayBeLast({ uses }: Case, lastUse: PublishedUse | undefined, last: Moment): boolean {
  const { endedByMs = 0, uncertaintyMs = Number.POSITIVE_INFINITY, podUid } = lastUse ?? {};
  const isUser = uses.some((use) => use.isShown && use.podUid === podUid);
  return isUser && endedByMs >= last.afterMs && endedByMs - uncertaintyMs <= last.byMs;
}

/** An end that a node had reported, or had in a sound journal, is the last use in the status, or a later end is. */
function judgeKept(docket: Docket, claim: Case, { now, use }: { readonly now: Published; readonly use: Use }): void {
  if (!use.isShown || use.promisedEnd === undefined) return;
  const { lastUse } = now;
  const isKept = (lastUse?.endedByMs ?? Number.NEGATIVE_INFINITY) >= use.promisedEnd.afterMs;
  const excuse = claim.dispute ?? use.unobserved ?? use.excuse ?? use.unnamed ?? whyOlder(claim, use);
  if (!isKept && excuse !== undefined) docket.excuse("last-user", excuse);
  else docket.judge("last-user", isKept, () => `${claim.name}: ${describeUse(use)}, stored: ${lastUse?.unmountRecord}`);
}
