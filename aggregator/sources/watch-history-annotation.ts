import * as v from "valibot";
import { formatMillisecondsUp, parseTimestamp } from "../../common/storage/timestamp.ts";
import { MAX_OPEN_NODES, MAX_UNSTORED, type UnstoredClaim, type WatchHistory } from "../core/pod-watch/history.ts";

/** The Lease's annotation by which a leader hands over its pod watch history to the next one. */
export const COVERAGE_ANNOTATION = "mooring.dev/pod-coverage";

/** Another version is not understood: no replica may overlook a gap. */
const VERSION = 2;
/** The clocks of two replicas differ by less. Milliseconds. */
const AHEAD_MS = 5_000;

const time = v.pipe(
  v.string(),
  v.transform((text) => parseTimestamp(text) ?? Number.NaN),
  v.number(),
  v.finite(),
);
const version = v.pipe(v.string(), v.regex(/^\d{1,20}$/));
const gap = v.object({
  from: v.optional(time),
  reached: v.optional(version),
  all: v.optional(v.boolean(), false),
  open: v.optional(v.pipe(v.array(v.pipe(v.string(), v.minLength(1))), v.maxLength(MAX_OPEN_NODES)), []),
});
const unstored = v.object({ uid: v.pipe(v.string(), v.minLength(1), v.maxLength(128)), since: v.optional(time) });
const schema = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({
    version: v.literal(VERSION),
    since: time,
    reached: version,
    reachedAt: time,
    gap: v.optional(gap),
    unstored: v.optional(v.pipe(v.array(unstored), v.maxLength(MAX_UNSTORED)), []),
  }),
);

/** Undefined where it is not understood or lies after `nowMs`: then no replica is known to have watched. */
export function readCoverage(
  text: string | undefined,
  nowMs: number,
): (WatchHistory & { readonly unstored: readonly UnstoredClaim[] }) | undefined {
  const decoded = v.safeParse(schema, text);
  if (!decoded.success) return undefined;
  const { since, reached, reachedAt, gap, unstored: claims } = decoded.output;
  const latest = claims.reduce((most, one) => Math.max(most, one.since ?? 0), Math.max(since, reachedAt));
  if ((gap?.from ?? since) > since || latest > nowMs + AHEAD_MS) return undefined;
  const handedOver = gap && { fromMs: gap.from, toMs: since, reached: gap.reached, isForAll: gap.all, open: gap.open };
  const unstored = claims.map((one) => ({ uid: one.uid, sinceMs: one.since }));
  return { sinceMs: since, gap: handedOver, reached, reachedAtMs: reachedAt, unstored };
}

/** The annotation's text. Times are rounded to the side that makes a gap longer. */
export function writeCoverage(
  { sinceMs, gap, reached, reachedAtMs }: WatchHistory,
  unstored: readonly UnstoredClaim[] = [],
): string {
  return JSON.stringify({
    version: VERSION,
    since: formatMillisecondsUp(sinceMs),
    reached,
    reachedAt: downText(reachedAtMs),
    gap: gap && { from: downText(gap.fromMs), reached: gap.reached, all: gap.isForAll, open: gap.open },
    unstored: unstored.map(({ uid, sinceMs: ms }) => ({
      uid,
      since: ms === undefined ? undefined : formatMillisecondsUp(ms),
    })),
  });
}

function downText(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : formatMillisecondsUp(Math.floor(ms));
}
