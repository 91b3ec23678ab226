import { type AgentGap, MAX_AGENT_GAPS, type ScanSpan } from "../../common/storage/node-report.ts";

/**
 * How far the last complete scan can be continued: `none` without one in this run of the agent, `unbroken` when the agent has watched
 * ever since, `broken` when a scan failed or was damaged since.
 */
export type Coverage = "none" | "broken" | "unbroken";

/**
 * Between two scans that are further apart than this, in milliseconds, an agent did not watch: it was stopped, or starved. A running
 * agent scans within a second or two of a change, or by its timer; in a longer time it would have missed what came and went.
 */
export const LONGEST_SCAN_INTERVAL_MS = 5_000;

/** The coverage after another scan. */
export function coverageAfter(coverage: Coverage, isComplete: boolean): Coverage {
  if (isComplete) return "unbroken";
  return coverage === "none" ? "none" : "broken";
}

/**
 * True when no lasting change can have been missed between the last complete scan and a complete one that begins at `beganAt`. A time
 * for which the kernel reports no changes counts if it began before the scan.
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
  return beganAt - watchedUntil <= LONGEST_SCAN_INTERVAL_MS;
}

/**
 * Since when changes are unknown if no scan follows the last complete one in time: since that scan's begin. A scan shows one moment of
 * the time that it takes; in a long one, what was mounted after that moment began before its end.
 */
export function agentGapSince({ scan, agentGaps }: Covered): number | undefined {
  return scan && Math.max(scan.beganAt, agentGaps.at(-1)?.to ?? 0);
}

interface Covered {
  readonly scan: ScanSpan | undefined;
  readonly agentGaps: readonly AgentGap[];
}

/** The gaps with one more. With too many, the two oldest become one, which is never shorter than both. */
export function withAgentGap(spans: readonly AgentGap[], { from, to }: AgentGap): readonly AgentGap[] {
  const all = [...spans, from === undefined ? { to } : { from, to }];
  const [first, second, ...rest] = all;
  if (all.length <= MAX_AGENT_GAPS || first === undefined || second === undefined) return all;
  return [{ ...first, to: second.to }, ...rest];
}
