import { Docket } from "../../judge/docket.ts";
import type { Published } from "../../judge/published.ts";
import type { Case } from "../../judge/record.ts";
import { judgeMeanwhile, judgeRest } from "../../judge/rest.ts";
import type { Tally } from "../../judge/tally.ts";
import { isSame, judgeWrite, KNOWN_WITHIN_MS } from "../../judge/writes.ts";
import { NO_STARVATION, type Starvation } from "../../rig/process/starvation.ts";
import { type Author, conditionsBy, type PublishedCondition } from "./claim-states.ts";
import type { Expected, Truth } from "./scenario.ts";
import { caseOf, dueFromMs, type Found, sceneOf } from "./witness.ts";

/** After a change of leaders a claim is pending until each node has reported: a node without changes reports 1.2 heartbeats after its last report. */
const REPORTED_LIMIT_MS = 36_000;
/** Mooring may publish the expected status this long after the last use. Only the published time has to be exact. */
export const PUBLISHED_LIMIT_MS = REPORTED_LIMIT_MS + 20_000;

/** An author's last condition, compared with the truth. */
export interface FinalCondition {
  readonly status: string;
  readonly reason: string;
  /** The published time, milliseconds since the epoch. */
  readonly sinceMs: number;
  /** When it was first observed. */
  readonly seenMs: number;
  /** Published time minus true end; undefined where the condition is not about an end. */
  readonly errorMs: number | undefined;
}

/** The last conditions of both authors, and Mooring's faults. */
export interface Verdict {
  /** Sentences; empty when all is right. */
  readonly faults: readonly string[];
  readonly chances: Tally;
  readonly final: Readonly<Record<Author, FinalCondition | undefined>>;
  /** When an author first called the claim unused while it was in use, milliseconds since the epoch. */
  readonly wronglyUnusedAt: Readonly<Record<Author, number | undefined>>;
  /** Mooring's last use: it helps to find the cause of a fault. */
  readonly lastUse: Published["lastUse"];
}

interface ObservedStatus {
  readonly seenMs: number;
  /** When the next status was observed. */
  readonly untilMs: number;
  readonly published: Published;
}

/** Has the judge check a claim, and compares it with what the scenario expects. */
export function judge(found: Found): Verdict {
  const docket = new Docket();
  const claim = caseOf(found);
  const observed = observedOf(found);
  judgeWrites(docket, claim, { found, observed });
  judgeUses(docket, claim, { found, observed });
  const now = observed.at(-1)?.published;
  const isGone = found.states.at(-1)?.statuses === "gone";
  // The last write before a deletion may have gone unobserved.
  if (found.expected !== "gone" && !isGone)
    judgeRest(docket, claim, { now, scene: sceneOf(found, claim, now?.sinceMs ?? 0) });
  return {
    faults: [...docket.broken.map(({ detail }) => detail), ...unexpected(found.expected, now, isGone)],
    chances: docket.chances,
    final: { mooring: finalOf("mooring", found), kubernetes: finalOf("kubernetes", found) },
    wronglyUnusedAt: { mooring: wronglyUnused("mooring", found), kubernetes: wronglyUnused("kubernetes", found) },
    lastUse: now?.lastUse,
  };
}

/** Mooring's statuses, and when each was first observed. A write that changes nothing is not observed. */
function observedOf({ states }: Found): readonly ObservedStatus[] {
  const all = states.flatMap(({ seenMs, statuses }) => {
    return statuses === "gone" || statuses.mooring === undefined ? [] : [{ seenMs, published: statuses.mooring }];
  });
  const changes = all.filter(({ published }, index) => !isSame(published, all[index - 1]?.published));
  return changes.map((one, index) => ({ ...one, untilMs: changes[index + 1]?.seenMs ?? Number.POSITIVE_INFINITY }));
}

interface Judged {
  readonly found: Found;
  readonly observed: readonly ObservedStatus[];
}

/** Judges each status when it was first observed. */
function judgeWrites(docket: Docket, claim: Case, { found: { starvation }, observed }: Judged): void {
  for (const [index, { seenMs, published: now }] of observed.entries()) {
    const before = observed[index - 1];
    const due = claim.uses.filter((use) => dueFromMs(use, seenMs, starvation) <= seenMs);
    const knownUntilMs = Math.max(0, ...due.map(({ beganMs }) => beganMs));
    const knownBeforeMs = (before?.seenMs ?? 0) - KNOWN_WITHIN_MS;
    const times = { knownBeforeMs, sentMs: seenMs, presentMs: seenMs, knownUntilMs };
    judgeWrite(docket, claim, { now, before: before?.published, ...times });
  }
}

/** Judges each status during a use that had to be published by then. */
function judgeUses(docket: Docket, claim: Case, { found: { starvation }, observed }: Judged): void {
  for (const use of claim.uses)
    for (const { seenMs, untilMs, published } of observed) {
      const endMs = Math.min(untilMs, use.endedMs ?? untilMs);
      const isLong = (starved: Starvation): boolean => endMs > Math.max(seenMs, dueFromMs(use, endMs, starved));
      const excuse = isLong(starvation) ? undefined : "the machine was too busy";
      const known = { ...use, promisedEnd: undefined, isKnown: true, excuse };
      if (isLong(NO_STARVATION)) judgeMeanwhile(docket, { ...claim, uses: [known] }, published);
    }
}

/** How the last status differs from what the scenario expects. */
function unexpected(expected: Expected, now: Published | undefined, isGone: boolean): readonly string[] {
  if (expected === "gone" && !isGone) return ["the claim is still there"];
  if (expected !== "gone" && isGone) return ["the claim is gone"];
  if (now === undefined) return ["nothing was published"];
  if (expected === "gone") return [];
  const { reason, evidence } = expected;
  // The judge has checked whether it is unused.
  if (now.isUnused && now.reason !== reason) return [`${now.reason} is not ${reason}`];
  if (!now.isUnused) return [];
  const known = now.lastUse?.evidence ?? "none";
  return evidence === "any" || evidence === known ? [] : [`the last use is known by ${known}, not by ${evidence}`];
}

function wronglyUnused(author: Author, { truth, states }: Found): number | undefined {
  const all = conditionsBy(author, states);
  // Until the author first publishes a use, the claim may be called unused.
  const begin = all.findIndex(({ status }) => status === "False");
  if (truth === undefined || begin < 0) return undefined;
  return all.slice(begin).find(({ status, seenMs }) => status === "True" && seenMs < truth.afterMs)?.seenMs;
}

function finalOf(author: Author, { truth, states }: Found): FinalCondition | undefined {
  const last = conditionsBy(author, states).at(-1);
  return last === undefined ? undefined : { ...last, errorMs: errorOf(last, truth) };
}

function errorOf({ status, sinceMs }: PublishedCondition, truth: Truth | undefined): number | undefined {
  if (truth === undefined || status !== "True") return undefined;
  if (sinceMs < truth.afterMs) return sinceMs - truth.afterMs;
  return Math.max(0, sinceMs - truth.byMs);
}
