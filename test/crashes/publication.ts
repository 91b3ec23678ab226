import type { Owner } from "../rig/process/owner.ts";
import { startLimit } from "../rig/process/starvation.ts";
import { lostAt } from "./judge.ts";
import type { CrashRecord, TrueUse } from "./record.ts";
import { earliestEnd } from "./states.ts";

/** How long the end of a use may take to be published, with all kills meanwhile. After that it counts as lost. */
const PUBLICATION_LIMIT_MS = 90_000;
/**
 * How much longer the last use may take to be named: a new leader may publish `True` before a node's first report. Agents retry within 5 s,
 * and a node without a report is Stale after as long.
 */
const LAST_USE_LIMIT_MS = 12_000;
const POLL_MS = { published: 20, named: 250 } as const;

/** Access to the record so far. */
export interface PublicationSource {
  readonly owner: Pick<Owner, "clock" | "signal">;
  readonly record: () => CrashRecord;
}

/** Waits until the end of each of these uses, the last of their claims, is published and named, or the limit has passed. */
export async function untilPublished(
  { owner: { clock, signal }, record }: PublicationSource,
  uses: readonly TrueUse[],
): Promise<void> {
  const until = async (holds: () => boolean, limitMs: number, pollMs: number): Promise<void> => {
    const isOver = startLimit(limitMs, { clock });
    while (!holds() && !isOver() && !signal.aborted) await clock.sleep(pollMs, signal);
  };
  await until(() => uses.every((use) => isPublished(record(), use)), PUBLICATION_LIMIT_MS, POLL_MS.published);
  const named = (): boolean => uses.every(({ claim }) => !wouldBeLost(record(), { claim, atMs: clock.wallMs() }));
  await until(named, LAST_USE_LIMIT_MS, POLL_MS.named);
}

/** True when the stored status has this use's end or a later one. */
export function isPublished({ claims }: Pick<CrashRecord, "claims">, use: TrueUse): boolean {
  const published = claims.find(({ claim }) => claim === use.claim)?.states.at(-1)?.published;
  return published?.isUnused === true && published.sinceMs >= earliestEnd(use);
}

/** True when an end would count as lost at this moment. */
export function wouldBeLost(record: CrashRecord, at: { readonly claim: string; readonly atMs: number }): boolean {
  return lostAt(record, at).findings.length > 0;
}
