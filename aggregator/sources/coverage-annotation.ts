import * as v from "valibot";
import { formatMillisecondsUp, parseTimestamp } from "../../common/storage/timestamp.ts";
import type { Coverage } from "../core/coverage.ts";

/** The annotation of the Lease by which a leader tells its successor what pods were watched. */
export const COVERAGE_ANNOTATION = "mooring.dev/pod-coverage";

const time = v.pipe(
  v.string(),
  v.transform((text) => parseTimestamp(text) ?? Number.NaN),
  v.number(),
  v.finite(),
);
const schema = v.object({
  since: time,
  blindFrom: v.optional(time),
  reached: v.pipe(v.string(), v.regex(/^\d{1,20}$/)),
  reachedAt: time,
});

/** What stands in the annotation; nothing for what is not understood: then nobody is known to have watched. */
export function readCoverage(text: string | undefined): Coverage | undefined {
  const decoded = v.safeParse(schema, parseJson(text));
  if (!decoded.success) return undefined;
  const { since, blindFrom, reached, reachedAt } = decoded.output;
  return { sinceMs: since, blindFromMs: blindFrom, reached, reachedAtMs: reachedAt };
}

/** The annotation's text. Times are rounded to the side on which a gap is rather longer than shorter. */
export function writeCoverage({ sinceMs, blindFromMs, reached, reachedAtMs }: Coverage): string {
  return JSON.stringify({
    since: formatMillisecondsUp(sinceMs),
    ...(blindFromMs === undefined ? {} : { blindFrom: formatMillisecondsUp(Math.floor(blindFromMs)) }),
    reached,
    reachedAt: formatMillisecondsUp(Math.floor(reachedAtMs)),
  });
}

function parseJson(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? "");
  } catch {
    return undefined;
  }
}
