import * as v from "valibot";
import { formatMillisecondsUp, parseTimestamp } from "../../common/storage/timestamp.ts";
import {
  MAX_GAPS,
  MAX_OPEN_NODES,
  MAX_UNSTORED,
  type UnstoredClaim,
  type WatchGap,
  type WatchHistory,
} from "../core/watch-history.ts";

/** The annotation of the Lease by which a leader tells its successor what pods were watched. */
export const COVERAGE_ANNOTATION = "mooring.dev/pod-coverage";

/** A newer one may mean something else by the same fields. */
const VERSION = 1;
/** Clocks of two replicas differ by less. Milliseconds. */
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
  to: time,
  leases: v.optional(version),
  open: v.optional(v.pipe(v.array(v.pipe(v.string(), v.minLength(1))), v.maxLength(MAX_OPEN_NODES))),
});
const unstored = v.object({ uid: v.pipe(v.string(), v.minLength(1), v.maxLength(128)), since: v.optional(time) });
const schema = v.object({
  version: v.literal(VERSION),
  since: time,
  reached: version,
  reachedAt: time,
  leases: v.optional(version),
  gaps: v.optional(v.pipe(v.array(gap), v.maxLength(MAX_GAPS)), []),
  unstored: v.optional(v.pipe(v.array(unstored), v.maxLength(MAX_UNSTORED)), []),
});

/** What a leader leaves to its successor. */
export interface HandOver extends WatchHistory {
  readonly unstored: readonly UnstoredClaim[];
}

/**
 * What stands in the annotation; nothing for what is not understood, or tells of what is still to come: then nobody is known to have
 * watched. `nowMs` is the API server's clock.
 */
export function readCoverage(text: string | undefined, nowMs: number): HandOver | undefined {
  const decoded = v.safeParse(schema, parseJson(text));
  if (!decoded.success) return undefined;
  const { since, reached, reachedAt, leases, gaps, unstored: claims } = decoded.output;
  const isPossible = gaps.every(({ from, to }) => (from ?? to) <= to && to <= since);
  const latest = claims.reduce((most, one) => Math.max(most, one.since ?? 0), Math.max(since, reachedAt));
  if (!isPossible || latest > nowMs + AHEAD_MS) return undefined;
  return {
    ...{ sinceMs: since, gaps: gaps.map(gapOf), reached, reachedAtMs: reachedAt, leasesAt: leases },
    unstored: claims.map((one) => ({ uid: one.uid, sinceMs: one.since })),
  };
}

function gapOf({ from, to, leases, open }: v.InferOutput<typeof gap>): WatchGap {
  return { fromMs: from, toMs: to, leasesAt: leases, openNodes: open };
}

/** The annotation's text. Times are rounded to the side on which a gap is rather longer than shorter. */
export function writeCoverage(
  { sinceMs, gaps, reached, reachedAtMs, leasesAt }: WatchHistory,
  claims: readonly UnstoredClaim[] = [],
): string {
  return JSON.stringify({
    version: VERSION,
    since: formatMillisecondsUp(sinceMs),
    reached,
    reachedAt: formatMillisecondsUp(Math.floor(reachedAtMs)),
    // JSON leaves out what is undefined.
    leases: leasesAt,
    gaps: gaps.length === 0 ? undefined : gaps.map(gapText),
    unstored: claims.length === 0 ? undefined : claims.map(unstoredText),
  });
}

function unstoredText({ uid, sinceMs }: UnstoredClaim): object {
  return { uid, since: sinceMs === undefined ? undefined : formatMillisecondsUp(sinceMs) };
}

function gapText({ fromMs, toMs, leasesAt, openNodes }: WatchGap): object {
  return {
    from: fromMs === undefined ? undefined : formatMillisecondsUp(Math.floor(fromMs)),
    to: formatMillisecondsUp(toMs),
    leases: leasesAt,
    open: openNodes,
  };
}

function parseJson(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? "");
  } catch {
    return undefined;
  }
}
