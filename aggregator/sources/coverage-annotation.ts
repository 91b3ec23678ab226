import * as v from "valibot";
import { formatMillisecondsUp, parseTimestamp } from "../../common/storage/timestamp.ts";
import { type Coverage, type CoverageGap, MAX_GAPS, MAX_OPEN_NODES } from "../core/coverage.ts";

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
const schema = v.object({
  version: v.literal(VERSION),
  since: time,
  reached: version,
  reachedAt: time,
  leases: v.optional(version),
  gaps: v.optional(v.pipe(v.array(gap), v.maxLength(MAX_GAPS)), []),
});

/**
 * What stands in the annotation; nothing for what is not understood, or tells of what is still to come: then nobody is known to have
 * watched. `nowMs` is the API server's clock.
 */
export function readCoverage(text: string | undefined, nowMs: number): Coverage | undefined {
  const decoded = v.safeParse(schema, parseJson(text));
  if (!decoded.success) return undefined;
  const { since, reached, reachedAt, leases, gaps } = decoded.output;
  const isPossible = gaps.every(({ from, to }) => (from ?? to) <= to && to <= since);
  if (!isPossible || Math.max(since, reachedAt) > nowMs + AHEAD_MS) return undefined;
  return { sinceMs: since, gaps: gaps.map(gapOf), reached, reachedAtMs: reachedAt, leasesAt: leases };
}

function gapOf({ from, to, leases, open }: v.InferOutput<typeof gap>): CoverageGap {
  return { fromMs: from, toMs: to, leasesAt: leases, openNodes: open };
}

/** The annotation's text. Times are rounded to the side on which a gap is rather longer than shorter. */
export function writeCoverage({ sinceMs, gaps, reached, reachedAtMs, leasesAt }: Coverage): string {
  return JSON.stringify({
    version: VERSION,
    since: formatMillisecondsUp(sinceMs),
    reached,
    reachedAt: formatMillisecondsUp(Math.floor(reachedAtMs)),
    // JSON leaves out what is undefined.
    leases: leasesAt,
    gaps: gaps.length === 0 ? undefined : gaps.map(gapText),
  });
}

function gapText({ fromMs, toMs, leasesAt, openNodes }: CoverageGap): object {
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
