import {
  clockTime,
  common,
  earliestEnd,
  type Finding,
  type JudgedClaim,
  lastOf,
  type Patience,
  wordsAt,
  writesOf,
} from "./judged.ts";
import type { CrashRecord, Span, StoredWords, TrueUse } from "./record.ts";

export const PATIENCE: Patience = { knownMs: 2_000, toldMs: 6_000 };

/** What is recorded is in whole milliseconds, and so is what is stored. */
const ROUNDED_MS = 2;

/** Everything that is wrong, in the order of time. */
export function judge(record: CrashRecord, patience = PATIENCE): readonly Finding[] {
  const { uses, claims, lives, checkpoints } = record;
  const findings = claims.flatMap((history) => {
    const judged = { ...history, uses: uses.filter(({ claim }) => claim === history.claim), lives, patience };
    return [
      ...earlyTimes(judged),
      ...keptUnused(judged),
      ...movedBack(judged),
      ...wrongUses(judged),
      ...checkpoints
        .filter(({ claim }) => claim === "all" || claim === history.claim)
        .flatMap(({ atMs }) => lostAt(judged, atMs)),
    ];
  });
  return findings.toSorted((one, other) => one.atMs - other.atMs);
}

/** Never `True` with a time before the end of a use that whoever wrote it could know of, and never while one goes on. */
function earlyTimes({ claim, uses, states, patience }: JudgedClaim): readonly Finding[] {
  return writesOf(states).flatMap(({ seenMs, words }) => {
    if (!words.unused) return [];
    const known = uses.filter(({ mounted }) => mounted.toMs + patience.knownMs <= seenMs);
    return known.flatMap((use): Finding[] => {
      const endMs = earliestEnd(use);
      if (endMs > seenMs) {
        const text = `${words.reason} was written while ${use.pod} had it mounted on ${use.node}`;
        return [{ claim, rule: "unused while mounted", atMs: seenMs, text }];
      }
      if (words.sinceMs >= endMs) return [];
      const text = `${words.reason} says ${clockTime(words.sinceMs)}, ${endMs - words.sinceMs} ms before the end of ${use.pod}`;
      return [{ claim, rule: "too early", atMs: seenMs, text }];
    });
  });
}

/** A mount is told as long as its agent, a leader and the API server are up: not at once, but never unsaid again. */
function keptUnused({ claim, uses, states, lives, patience }: JudgedClaim): readonly Finding[] {
  return uses.flatMap((use) => {
    const mounted = [{ fromMs: use.mounted.toMs, toMs: earliestEnd(use) }];
    const told = common(mounted, lives.agents[use.node] ?? [], lives.leaders, lives.apiServer);
    return told.flatMap(({ fromMs, toMs }): Finding[] => {
      const atMs = fromMs + patience.toldMs;
      if (atMs >= toMs) return [];
      const isUnused = [wordsAt(states, atMs), ...states.filter(within(atMs, toMs)).map(({ words }) => words)].some(
        (words) => words?.unused === true,
      );
      const text = `${use.pod} has it mounted on ${use.node}, all are up, and it counts as unused`;
      return isUnused ? [{ claim, rule: "kept unused while mounted", atMs, text }] : [];
    });
  });
}

function within(fromMs: number, toMs: number): (state: { readonly seenMs: number }) => boolean {
  return ({ seenMs }) => seenMs > fromMs && seenMs < toMs;
}

/** `lastTransitionTime` never moves earlier, whatever else changes. */
function movedBack({ claim, states }: JudgedClaim): readonly Finding[] {
  const writes = writesOf(states);
  return writes.flatMap(({ seenMs, words }, index): Finding[] => {
    const before = writes[index - 1]?.words.sinceMs ?? words.sinceMs;
    if (words.sinceMs >= before) return [];
    const text = `${words.reason} moved the time back by ${before - words.sinceMs} ms`;
    return [{ claim, rule: "moved back", atMs: seenMs, text }];
  });
}

/** A last use was one, ended no later than it says, and no earlier than its uncertainty allows. */
function wrongUses({ claim, uses, states }: JudgedClaim): readonly Finding[] {
  return writesOf(states).flatMap(({ seenMs, words: { lastUse } }): Finding[] => {
    // Nothing is said of who it was: then nobody saw it.
    if (lastUse?.podUid === undefined) return [];
    const use = uses.find(({ podUid }) => podUid === lastUse.podUid);
    if (use === undefined) {
      const text = `pod ${lastUse.podUid} never used it`;
      return [{ claim, rule: "last use by nobody", atMs: seenMs, text }];
    }
    const { releasedAtMs, uncertaintyMs } = lastUse;
    if (releasedAtMs < earliestEnd(use)) {
      const text = `the use by ${use.pod} is said to have ended at ${clockTime(releasedAtMs)}, its end is ${clockTime(earliestEnd(use))}`;
      return [{ claim, rule: "last use too early", atMs: seenMs, text }];
    }
    const latestMs = use.unmounted?.toMs ?? Number.POSITIVE_INFINITY;
    const beforeMs = releasedAtMs - (uncertaintyMs ?? Number.POSITIVE_INFINITY) - latestMs;
    if (beforeMs <= ROUNDED_MS) return [];
    const text = `the use by ${use.pod} ended ${beforeMs} ms before the earliest that is said to be possible`;
    return [{ claim, rule: "uncertainty too small", atMs: seenMs, text }];
  });
}

/** At a checkpoint every claim that was used says that it is unused, and names the last use, unless nobody could see it. */
function lostAt({ claim, uses, states, lives, patience }: JudgedClaim, atMs: number): readonly Finding[] {
  const over = uses.filter(({ unmounted }) => unmounted !== undefined && unmounted.toMs <= atMs);
  const last = lastOf(over);
  const goesOn = uses.some(({ askedMs, removedMs = Number.POSITIVE_INFINITY }) => askedMs <= atMs && removedMs > atMs);
  if (last === undefined || goesOn) return [];
  const found = (text: string): readonly Finding[] => [{ claim, rule: "lost", atMs, text }];
  const words = wordsAt(states, atMs);
  if (words === undefined) return found("nothing is said of it");
  if (!words.unused) return found(`it is still ${words.reason}: ${words.message}`);
  if (words.sinceMs < earliestEnd(last)) return found(`the time is of a use before that by ${last.pod}`);
  const sight = (use: TrueUse): Sight => sightOf(use, states, { lives, patience });
  if (words.lastUse?.podUid === last.podUid || sight(last) === "nobody") return [];
  if (isUnnamed(last, words) || isEqual({ last, over, sightOf: sight }, words)) return [];
  return found(`the last use is not that by ${last.pod}`);
}

/** Who could see a use: its agent the mount in the mount table, or a replica of the aggregator the pod. */
type Sight = "agent" | "replica" | "nobody";

function sightOf(
  use: TrueUse,
  states: JudgedClaim["states"],
  { lives: { agents, aggregators, apiServer }, patience }: Pick<JudgedClaim, "lives" | "patience">,
): Sight {
  const mounted = { fromMs: use.mounted.toMs, toMs: earliestEnd(use) };
  const there = { fromMs: use.mounted.toMs, toMs: use.removedMs ?? Number.POSITIVE_INFINITY };
  const sees = (span: Span, ...lives: readonly (readonly Span[])[]): boolean =>
    common([span], ...lives).some(({ fromMs, toMs }) => toMs - fromMs >= patience.knownMs);
  // An agent writes down what it has seen; a replica that is killed before it has told takes it along.
  if (sees(mounted, agents[use.node] ?? [])) return "agent";
  const toldMs = writesOf(states).find(({ words }) => words.unused && words.sinceMs >= earliestEnd(use))?.seenMs ?? 0;
  const survivors = aggregators.filter(({ toMs }) => toMs >= toldMs);
  // Nobody but the API server tells it of pods.
  return sees(there, survivors, apiServer) ? "replica" : "nobody";
}

/** Its end is told, but not whose it was. */
export function isUnnamed(use: TrueUse, { lastUse }: StoredWords): boolean {
  return lastUse !== undefined && lastUse.podUid === undefined && lastUse.releasedAtMs >= earliestEnd(use);
}

interface LastUse {
  readonly last: TrueUse;
  readonly over: readonly TrueUse[];
  readonly sightOf: (use: TrueUse) => Sight;
}

/**
 * Another use that ended within the stated uncertainty is as good an answer: nobody could tell which was the last. The uncertainty is not
 * known of a use that no read has shown: it may have gone on until the read that is told.
 */
function isEqual({ last, over, sightOf }: LastUse, { lastUse }: StoredWords): boolean {
  const named = over.find(({ podUid }) => podUid === lastUse?.podUid);
  const endMs = earliestEnd(last);
  if (lastUse === undefined || named === undefined || endMs > lastUse.releasedAtMs) return false;
  if (lastUse.uncertaintyMs === undefined) return sightOf(named) !== "agent";
  return endMs >= lastUse.releasedAtMs - lastUse.uncertaintyMs;
}
