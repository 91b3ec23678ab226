import { formatMillisecondsUp } from "../../common/storage/timestamp.ts";
import type { ClaimHistory, Lives, Span, StoredState, StoredWords, TrueUse } from "./record.ts";

/** What may be wrong with what was published. All but the last are lies; a release is lost when it never comes to be told. */
export const RULES = [
  "too early",
  "unused while mounted",
  "kept unused while mounted",
  "moved back",
  "last use too early",
  "uncertainty too small",
  "last use by nobody",
  "lost",
] as const;
export type Rule = (typeof RULES)[number];

/** One thing that is wrong. */
export interface Finding {
  readonly claim: string;
  readonly rule: Rule;
  /** Wall clock, milliseconds. */
  readonly atMs: number;
  readonly text: string;
}

/** What everybody is given to learn of a change. Milliseconds. */
export interface Patience {
  /** A use counts as known to whoever writes when it had begun this long before the write. */
  readonly knownMs: number;
  /** A mount has to be told when all that tell it have been up for this long. */
  readonly toldMs: number;
}

/** A claim with all that decides on it. */
export interface JudgedClaim extends ClaimHistory {
  /** Those of this claim alone. */
  readonly uses: readonly TrueUse[];
  readonly lives: Lives;
  readonly patience: Patience;
}

/** The states with words in them. */
export function writesOf(
  states: readonly StoredState[],
): readonly { readonly seenMs: number; readonly words: StoredWords }[] {
  return states.flatMap(({ seenMs, words }) => (words === undefined ? [] : [{ seenMs, words }]));
}

/** What stood there at a moment. */
export function wordsAt(states: readonly StoredState[], atMs: number): StoredWords | undefined {
  return states.findLast(({ seenMs }) => seenMs <= atMs)?.words;
}

/** The use was not over before this moment; one that goes on never is. */
export function earliestEnd({ unmounted }: TrueUse): number {
  return unmounted?.fromMs ?? Number.POSITIVE_INFINITY;
}

/** The use that ended last. */
export function lastOf(uses: readonly TrueUse[]): TrueUse | undefined {
  return uses.reduce<TrueUse | undefined>(
    (last, use) => (last === undefined || earliestEnd(use) > earliestEnd(last) ? use : last),
    undefined,
  );
}

/** What is in one of the spans of each list; none of it is empty. */
export function common(...lists: readonly (readonly Span[])[]): readonly Span[] {
  const [first = [], ...others] = lists;
  return others.reduce(
    (found, list) =>
      found.flatMap((one) =>
        list.flatMap((other) => {
          const fromMs = Math.max(one.fromMs, other.fromMs);
          const toMs = Math.min(one.toMs, other.toMs);
          return fromMs < toMs ? [{ fromMs, toMs }] : [];
        }),
      ),
    first,
  );
}

/** Time of day with milliseconds, UTC. */
export function clockTime(ms: number): string {
  return Number.isFinite(ms) ? formatMillisecondsUp(ms).slice(11, 23) : "-";
}
