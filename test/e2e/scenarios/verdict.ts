import { Docket } from "../../judge/docket.ts";
import type { Published } from "../../judge/published.ts";
import type { Case } from "../../judge/record.ts";
import { judgeMeanwhile, judgeRest } from "../../judge/rest.ts";
import type { Tally } from "../../judge/tally.ts";
import { isSame, judgeWrite } from "../../judge/writes.ts";
import { NO_STARVATION, type Starvation } from "../../rig/process/starvation.ts";
import { type Author, type PublishedCondition, saidBy } from "./claim-states.ts";
import type { Expected, Truth } from "./scenario.ts";
import { caseOf, type Found, sceneOf, toldFrom } from "./witness.ts";

/** After a change of leaders a claim waits for each node's word, and one with nothing to tell says it a heartbeat, and a fifth, after its last. */
const HEARD_LIMIT_MS = 36_000;
/** How long Mooring may take to say what is expected, once the last use is over; its time counts, not its haste. */
export const SAID_LIMIT_MS = HEARD_LIMIT_MS + 20_000;

/** What an author says in the end, measured by the truth. */
export interface Saying {
  readonly status: string;
  readonly reason: string;
  /** The published time, milliseconds since the epoch. */
  readonly sinceMs: number;
  /** When it was seen first. */
  readonly seenMs: number;
  /** By how much the time differs from the true end: negative when it is earlier; nothing when it is not about an end. */
  readonly errorMs: number | undefined;
}

/** What both said, and what Mooring got wrong. */
export interface Verdict {
  /** Each a sentence; empty when all is right. */
  readonly faults: readonly string[];
  readonly chances: Tally;
  readonly final: Readonly<Record<Author, Saying | undefined>>;
  /** When an author first called the claim unused while it was in use, milliseconds since the epoch. */
  readonly wronglyUnusedAt: Readonly<Record<Author, number | undefined>>;
  /** What Mooring told of the last use, for whoever looks for the cause of a fault. */
  readonly lastUse: Published["lastUse"];
}

interface Word {
  readonly seenMs: number;
  /** Until something else was seen. */
  readonly untilMs: number;
  readonly said: Published;
}

/** Brings a claim before the judge, and says where the scenario's own expectation is not met. */
export function judge(found: Found): Verdict {
  const docket = new Docket();
  const claim = caseOf(found);
  const words = wordsOf(found);
  judgeWords(docket, claim, { found, words });
  judgeUses(docket, claim, { found, words });
  const now = words.at(-1)?.said;
  const isGone = found.states.at(-1)?.words === "gone";
  // Nobody could read to the end what was said of a claim that is gone.
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

/** What Mooring said, each when it was seen first: what is written in the same words is not to be seen here. */
function wordsOf({ states }: Found): readonly Word[] {
  const all = states.flatMap(({ seenMs, words }) => {
    return words === "gone" || words.mooring === undefined ? [] : [{ seenMs, said: words.mooring }];
  });
  const changes = all.filter(({ said }, index) => !isSame(said, all[index - 1]?.said));
  return changes.map((one, index) => ({ ...one, untilMs: changes[index + 1]?.seenMs ?? Number.POSITIVE_INFINITY }));
}

interface Judged {
  readonly found: Found;
  readonly words: readonly Word[];
}

/** Each of Mooring's words when it was seen. */
function judgeWords(docket: Docket, claim: Case, { found: { starvation }, words }: Judged): void {
  for (const [index, { seenMs, said: now }] of words.entries()) {
    const before = words[index - 1];
    const heard = claim.uses.filter((use) => toldFrom(use, seenMs, starvation) <= seenMs);
    const knownUntilMs = Math.max(0, ...heard.map(({ beganMs }) => beganMs));
    const times = { beforeMs: before?.seenMs ?? 0, sentMs: seenMs, presentMs: seenMs, knownUntilMs };
    judgeWrite(docket, claim, { now, before: before?.said, ...times });
  }
}

/** What stood there while a use that had to be told by then went on. */
function judgeUses(docket: Docket, claim: Case, { found: { starvation }, words }: Judged): void {
  for (const use of claim.uses)
    for (const { seenMs, untilMs, said } of words) {
      const endMs = Math.min(untilMs, use.endedMs ?? untilMs);
      const isLong = (patience: Starvation): boolean => endMs > Math.max(seenMs, toldFrom(use, endMs, patience));
      const excuse = isLong(starvation) ? undefined : "the machine was too busy";
      const known = { ...use, promisedEnd: undefined, isKnown: true, excuse };
      if (isLong(NO_STARVATION)) judgeMeanwhile(docket, { ...claim, uses: [known] }, said);
    }
}

/** In what the last words differ from what the scenario expects. */
function unexpected(expected: Expected, now: Published | undefined, isGone: boolean): readonly string[] {
  if (expected === "gone" && !isGone) return ["the claim is still there"];
  if (expected !== "gone" && isGone) return ["the claim is gone"];
  if (now === undefined) return ["nothing was published"];
  if (expected === "gone") return [];
  const { reason, evidence } = expected;
  // Whether it is unused the judge has said.
  if (now.isUnused && now.reason !== reason) return [`${now.reason} is not ${reason}`];
  if (!now.isUnused) return [];
  const known = now.lastUse?.evidence ?? "none";
  return evidence === "any" || evidence === known ? [] : [`the last use is known by ${known}, not by ${evidence}`];
}

function wronglyUnused(author: Author, { truth, states }: Found): number | undefined {
  const said = saidBy(author, states);
  // Until the first word on a use a claim may well be called unused.
  const begin = said.findIndex(({ status }) => status === "False");
  if (truth === undefined || begin < 0) return undefined;
  return said.slice(begin).find(({ status, seenMs }) => status === "True" && seenMs < truth.afterMs)?.seenMs;
}

function finalOf(author: Author, { truth, states }: Found): Saying | undefined {
  const last = saidBy(author, states).at(-1);
  return last === undefined ? undefined : { ...last, errorMs: errorOf(last, truth) };
}

function errorOf({ status, sinceMs }: PublishedCondition, truth: Truth | undefined): number | undefined {
  if (truth === undefined || status !== "True") return undefined;
  if (sinceMs < truth.afterMs) return sinceMs - truth.afterMs;
  return Math.max(0, sinceMs - truth.byMs);
}
