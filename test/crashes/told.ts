import type { Owner } from "../process/owner.ts";
import { earliestEnd } from "./judged.ts";
import type { StoredWords, TrueUse } from "./record.ts";

/** How long the end of a use is awaited to be told, with all that is killed meanwhile. What is not told by then is lost. */
const TOLD_LIMIT_MS = 90_000;
/**
 * How much longer it is awaited whose use it was: a leader that begins may say that a claim is unused before its nodes have found it. They
 * try again within 5 s, and one that does not is silent after as long. Of a use that nobody saw nothing more comes.
 */
const NAMED_LIMIT_MS = 12_000;
const LOOK_MS = 20;

/** What is stored of a claim. */
type WordsOf = (claim: string) => StoredWords | undefined;

/** Waits until of each of these uses, the last ones of their claims, is told that it is over and whose it was, or too late for that. */
export async function untilTold(
  { clock, signal }: Pick<Owner, "clock" | "signal">,
  wordsOf: WordsOf,
  uses: readonly TrueUse[],
): Promise<void> {
  const until = async (holds: (words: StoredWords | undefined, use: TrueUse) => boolean, limitMs: number) => {
    const lastMs = clock.monotonicMs() + limitMs;
    const allHold = (): boolean => uses.every((use) => holds(wordsOf(use.claim), use));
    while (!allHold() && clock.monotonicMs() < lastMs && !signal.aborted) await clock.sleep(LOOK_MS, signal);
  };
  await until(isTold, TOLD_LIMIT_MS);
  await until(isNamed, NAMED_LIMIT_MS);
}

/** True when what is stored tells of this use's end or of a later one. */
export function isTold(words: StoredWords | undefined, use: TrueUse): boolean {
  return words?.unused === true && words.sinceMs >= earliestEnd(use);
}

/** True when the last use that is stored may be this one, or a later one. */
export function isNamed(words: StoredWords | undefined, use: TrueUse): boolean {
  return words?.lastUse !== undefined && words.lastUse.releasedAtMs >= earliestEnd(use);
}
