import type { Owner } from "../rig/process/owner.ts";
import { startLimit } from "../rig/process/starvation.ts";
import { lostAt } from "./judge.ts";
import { earliestEnd } from "./judged.ts";
import type { CrashRecord, TrueUse } from "./record.ts";

/** How long the end of a use is awaited to be told, with all that is killed meanwhile. What is not told by then is lost. */
const TOLD_LIMIT_MS = 90_000;
/**
 * How much longer it is awaited whose use it was: a leader that begins may say that a claim is unused before its nodes have found it. They
 * try again within 5 s, and one that does not is silent after as long.
 */
const NAMED_LIMIT_MS = 12_000;
const LOOK_MS = { told: 20, named: 250 } as const;

/** Where all that has happened so far is read. */
export interface Following {
  readonly owner: Pick<Owner, "clock" | "signal">;
  readonly record: () => CrashRecord;
}

/** Waits until of each of these uses, the last ones of their claims, is told that it is over and whose it was, or too late for that. */
export async function untilTold(
  { owner: { clock, signal }, record }: Following,
  uses: readonly TrueUse[],
): Promise<void> {
  const until = async (holds: () => boolean, limitMs: number, lookMs: number): Promise<void> => {
    const isOver = startLimit(limitMs, { clock });
    while (!holds() && !isOver() && !signal.aborted) await clock.sleep(lookMs, signal);
  };
  await until(() => uses.every((use) => isTold(record(), use)), TOLD_LIMIT_MS, LOOK_MS.told);
  const named = (): boolean => uses.every(({ claim }) => !isLost(record(), { claim, atMs: clock.wallMs() }));
  await until(named, NAMED_LIMIT_MS, LOOK_MS.named);
}

/** True when what is stored tells of this use's end or of a later one. */
export function isTold({ claims }: Pick<CrashRecord, "claims">, use: TrueUse): boolean {
  const words = claims.find(({ claim }) => claim === use.claim)?.states.at(-1)?.words;
  return words?.isUnused === true && words.sinceMs >= earliestEnd(use);
}

/** True when an end would count as lost at this moment. */
export function isLost(record: CrashRecord, at: { readonly claim: string; readonly atMs: number }): boolean {
  return lostAt(record, at).findings.length > 0;
}
