import type { Starvation } from "../../rig/process/starvation.ts";
import { type Author, type ClaimState, type PublishedCondition, saidBy } from "./claim-states.ts";
import type { Expected, Truth } from "./scenario.ts";
import { useFaults } from "./told-use.ts";

/**
 * How much later than the true end a published time may be, milliseconds; whole seconds, rounded up, are part of it. What the machine made
 * everybody wait meanwhile comes on top.
 */
export const BUDGET_MS = 1_500;

/** After a change of leaders a claim waits for each node's word, and one with nothing to tell says it a heartbeat, and a fifth, after its last. */
const HEARD_LIMIT_MS = 36_000;
/** How long Mooring may take to say what is expected, once the last use is over; its time counts, not its haste. */
export const SAID_LIMIT_MS = HEARD_LIMIT_MS + 20_000;

/** What there is to judge. */
export interface Case {
  readonly expected: Expected;
  readonly truth: Truth | undefined;
  readonly states: readonly ClaimState[];
  readonly starvation: Starvation;
}

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
  readonly final: Readonly<Record<Author, Saying | undefined>>;
  /** When an author first called the claim unused while it was in use, milliseconds since the epoch. */
  readonly wronglyUnusedAt: Readonly<Record<Author, number | undefined>>;
  /** Mooring's own words on the last use, for whoever looks for the cause of a fault. */
  readonly lastUse: string | undefined;
}

export function judge(found: Case): Verdict {
  const final = { mooring: finalOf("mooring", found), kubernetes: finalOf("kubernetes", found) };
  const wronglyUnusedAt = { mooring: wronglyUnused("mooring", found), kubernetes: wronglyUnused("kubernetes", found) };
  const faults = [...idleFaults(found), ...earlyFaults(found), ...finalFaults(found, final.mooring)];
  return { faults, final, wronglyUnusedAt, lastUse: lastUseIn(found.states) };
}

function lastUseIn(states: readonly ClaimState[]): string | undefined {
  return states.flatMap(({ words }) => (words === "gone" ? [] : [words.lastUse])).at(-1);
}

/** Reasons of Mooring's that speak of the end of a use, whether the use was told of or not. */
const ENDS: readonly string[] = ["Unmounted", "NoPodUsing", "NodeGone"];

/** How much was said before the first word on a use: till then, a claim may well be called unused. */
function countBeforeUse(said: readonly PublishedCondition[]): number {
  const begin = said.findIndex(({ status, reason }) => status === "False" || ENDS.includes(reason));
  return begin < 0 ? said.length : begin;
}

function saidSinceUse(author: Author, states: readonly ClaimState[]): ReturnType<typeof saidBy> {
  const said = saidBy(author, states);
  return said.slice(countBeforeUse(said));
}

function wronglyUnused(author: Author, { truth, states }: Case): number | undefined {
  if (truth === undefined) return undefined;
  return saidSinceUse(author, states).find(({ status, seenMs }) => status === "True" && seenMs < truth.afterMs)?.seenMs;
}

/** Still called unused when a use had begun long before. */
function idleFaults({ truth, states, starvation }: Case): readonly string[] {
  if (truth?.beganMs === undefined) return [];
  const { beganMs, afterMs } = truth;
  const said = saidBy("mooring", states);
  return said.slice(0, countBeforeUse(said)).flatMap(({ status, reason, seenMs }, index) => {
    const untilMs = Math.min(said[index + 1]?.seenMs ?? afterMs, afterMs);
    const wrongMs = untilMs - Math.max(seenMs, beganMs + BUDGET_MS + starvation(beganMs, untilMs));
    return status === "True" && wrongMs > 0 ? [`${reason} stood for ${seconds(wrongMs)} too long`] : [];
  });
}

/** True while it was not, or since a time at which it was not. */
function earlyFaults({ truth, states }: Case): readonly string[] {
  if (truth === undefined) return [];
  const unused = saidSinceUse("mooring", states).filter(({ status }) => status === "True");
  return unused.flatMap(({ seenMs, sinceMs, reason }) => [
    ...(seenMs < truth.afterMs ? [`${reason} was published ${seconds(truth.afterMs - seenMs)} before the end`] : []),
    ...(sinceMs < truth.afterMs ? [`${reason} was dated ${seconds(truth.afterMs - sinceMs)} before the end`] : []),
  ]);
}

function finalFaults({ expected, truth, states, starvation }: Case, final: Saying | undefined): readonly string[] {
  const isGone = states.at(-1)?.words === "gone";
  if (expected === "gone" && !isGone) return ["the claim is still there"];
  if (expected !== "gone" && isGone) return ["the claim is gone"];
  if (final === undefined) return ["nothing was published"];
  // Nobody could read to the end what was said of a claim that is gone.
  if (expected === "gone") return [];
  const { status, reason } = final;
  if (status !== expected.status || reason !== expected.reason)
    return [`${status} ${reason} is not ${expected.status} ${expected.reason}`];
  if (truth === undefined) return useFaults(expected, truth, lastUseIn(states));
  const mayDiffer = truth.isDrawnOut === true || wasHidden(truth, starvation);
  const isSeen = mayDiffer ? undefined : expected.isSeen;
  return [...lateFaults(truth, final, starvation), ...useFaults({ ...expected, isSeen }, truth, lastUseIn(states))];
}

/** The machine took most of the use away, and left less of it than a read may need. */
function wasHidden({ beganMs, byMs }: Truth, starvation: Starvation): boolean {
  if (beganMs === undefined) return false;
  const starvedMs = starvation(beganMs, byMs);
  const leftMs = byMs - beganMs - starvedMs;
  return leftMs < starvedMs && leftMs < BUDGET_MS;
}

function lateFaults(truth: Truth, { status, reason, sinceMs }: Saying, starvation: Starvation): readonly string[] {
  if (status !== "True") return [];
  const { byMs, outageUntilMs = 0, waitsMs = 0 } = truth;
  // The machine may also take its time while Mooring waits: what the wait is for comes later then.
  const beginMs = Math.max(byMs, outageUntilMs);
  const [lateMs, starvedMs] = [sinceMs - beginMs - waitsMs, starvation(beginMs, sinceMs)];
  if (lateMs <= BUDGET_MS + starvedMs) return [];
  return [`${reason} is dated ${seconds(lateMs)} after the end, ${seconds(starvedMs)} of it for want of the machine`];
}

function finalOf(author: Author, { truth, states }: Case): Saying | undefined {
  const last = saidBy(author, states).at(-1);
  return last === undefined ? undefined : { ...last, errorMs: errorOf(last, truth) };
}

function errorOf({ status, sinceMs }: PublishedCondition, truth: Truth | undefined): number | undefined {
  if (truth === undefined || status !== "True") return undefined;
  if (sinceMs < truth.afterMs) return sinceMs - truth.afterMs;
  return Math.max(0, sinceMs - truth.byMs);
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(3)} s`;
}
