import { type AgentGap, MAX_AGENT_GAPS, type ScanSpan } from "../../common/storage/node-report.ts";

/**
 * What stands behind the last complete scan: `none` in this run of the agent, `unbroken` when it has watched ever since, `broken` when a
 * read failed or was damaged since.
 */
export type Coverage = "none" | "broken" | "unbroken";

/**
 * Between two scans that are further apart than this, in milliseconds, an agent did not watch: it was stopped, or starved. One that
 * runs reads within a second or two of a change, or by its timer: what came and went in a longer time it would not have seen.
 */
export const LONGEST_GLANCE_MS = 5_000;

/** What the coverage is after another scan. */
export function coverageAfter(coverage: Coverage, isComplete: boolean): Coverage {
  if (isComplete) return "unbroken";
  return coverage === "none" ? "none" : "broken";
}

/**
 * True when nothing lasting can have been missed between the last complete scan and a complete one that begins at `beganAt`.
 * What the kernel says of a span without changes counts when that began before the scan.
 */
export function hasWatched(
  { coverage, scan }: { readonly coverage: Coverage; readonly scan: ScanSpan | undefined },
  next: {
    readonly beganAt: number;
    readonly unchanged?: { readonly from: number; readonly until: number } | undefined;
  },
): boolean {
  if (coverage !== "unbroken" || scan === undefined) return false;
  const { beganAt, unchanged = { from: 0, until: 0 } } = next;
  const watchedUntil = unchanged.from <= scan.beganAt ? Math.max(scan.endedAt, unchanged.until) : scan.endedAt;
  return beganAt - watchedUntil <= LONGEST_GLANCE_MS;
}

/**
 * Since when it is not known what came and went when no scan follows the last complete one in time: since the begin of that. A scan shows
 * one moment of the time that it takes, and where it takes long, what was mounted after that moment began before its end.
 */
export function agentGapSince({ scan, agentGaps }: Covered): number | undefined {
  return scan && Math.max(scan.beganAt, agentGaps.at(-1)?.to ?? 0);
}

interface Covered {
  readonly scan: ScanSpan | undefined;
  readonly agentGaps: readonly AgentGap[];
}

/** The gaps with one more. Of too many the two oldest become one, which claims a longer gap than there was, never a shorter. */
export function withAgentGap(spans: readonly AgentGap[], { from, to }: AgentGap): readonly AgentGap[] {
  const all = [...spans, from === undefined ? { to } : { from, to }];
  const [first, second, ...rest] = all;
  if (all.length <= MAX_AGENT_GAPS || first === undefined || second === undefined) return all;
  return [{ ...first, to: second.to }, ...rest];
}
