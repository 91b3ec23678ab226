import { percentile } from "../bench/statistics.ts";
import { PROMISES } from "../judge/docket.ts";
import type { Verdict } from "./judge.ts";
import { OFTEN_KILLED } from "./plan.ts";
import type { ClaimHistory, CrashRecord, TrueUse, Victim } from "./record.ts";
import { lastOf, writesOf } from "./states.ts";

/** How much later than the truth, in milliseconds. */
export interface Lateness {
  /** The published time. */
  readonly publishedMs: readonly number[];
  /** The write that published it. */
  readonly publicationMs: readonly number[];
}

/** For every use that was published as the last one while it was: by the first write that names it. */
export function latenessOf({ uses, claims }: Pick<CrashRecord, "uses" | "claims">): Lateness {
  const found = claims.flatMap((history) =>
    firstPublications(
      history,
      uses.filter(({ claim }) => claim === history.claim),
    ),
  );
  return { publishedMs: found.map(({ lateMs }) => lateMs), publicationMs: found.map(({ delayMs }) => delayMs) };
}

function firstPublications(
  { states }: ClaimHistory,
  uses: readonly TrueUse[],
): readonly { readonly lateMs: number; readonly delayMs: number }[] {
  const seen = new Set<string>();
  return writesOf(states).flatMap(({ seenMs, published }) => {
    const podUid = published.isUnused ? published.lastUse?.podUid : undefined;
    const over = uses.filter(({ unmounted }) => (unmounted?.toMs ?? Number.POSITIVE_INFINITY) <= seenMs);
    const last = lastOf(over);
    if (last?.unmounted === undefined || last.podUid !== podUid || seen.has(podUid)) return [];
    seen.add(podUid);
    const endMs = last.unmounted.toMs;
    return [{ lateMs: published.sinceMs - endMs, delayMs: seenMs - endMs }];
  });
}

/** Counts writes with a change, and transitions: changes between in use and unused, and later times of unused claims. */
export function writesIn(claims: readonly ClaimHistory[]): { readonly writes: number; readonly transitions: number } {
  const all = claims.map(({ states }) => writesOf(states));
  const isTransition = (writes: ReturnType<typeof writesOf>, index: number): boolean => {
    const [before, now] = [writes[index - 1]?.published, writes[index]?.published];
    if (before === undefined || now === undefined) return true;
    return before.isUnused !== now.isUnused || (now.isUnused && now.sinceMs > before.sinceMs);
  };
  return {
    writes: all.reduce((sum, writes) => sum + writes.length, 0),
    transitions: all.reduce((sum, writes) => sum + writes.filter((_, index) => isTransition(writes, index)).length, 0),
  };
}

/** The result of a campaign as a table. */
export function figureRows(record: CrashRecord, { findings, chances }: Verdict): readonly (readonly string[])[] {
  const { uses, claims, kills, checkpoints } = record;
  const late = latenessOf(record);
  const { writes, transitions } = writesIn(claims);
  const victims: readonly Victim[] = [...OFTEN_KILLED, "kube-apiserver"];
  const ended = uses.filter(({ unmounted }) => unmounted !== undefined).length;
  return [
    ["WHAT", "HOW OFTEN", "P50", "P99", "MAX"],
    ...victims.map((victim) => [`kill -9 of the ${victim}`, String(killsOf(kills, victim))]),
    ["unmounts", String(ended)],
    ["checkpoints", String(checkpoints.length)],
    ["published time after the truth", ...summary(late.publishedMs)],
    ["published after the end", ...summary(late.publicationMs)],
    ["writes", String(writes), `${(writes / Math.max(1, transitions)).toFixed(2)} a transition`],
    ...Object.keys(PROMISES).flatMap((promise) => {
      const { judged = 0, excused = {} } = chances[promise] ?? {};
      const broken = findings.filter((one) => one.promise === promise).length;
      return [
        ...(judged > 0 ? [[promise, String(judged), `${broken} broken`]] : []),
        ...Object.entries(excused).map(([why, count]) => [`${promise}, excused: ${why}`, String(count)]),
      ];
    }),
  ];
}

export function killsOf(kills: CrashRecord["kills"], victim: Victim): number {
  return kills.filter((kill) => kill.victim === victim).length;
}

function summary(samples: readonly number[]): readonly string[] {
  const at = (fraction: number): string => `${Math.round(percentile(samples, fraction))} ms`;
  return samples.length === 0 ? ["0"] : [String(samples.length), at(0.5), at(0.99), at(1)];
}
