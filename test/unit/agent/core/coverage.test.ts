import { describe, expect, it } from "vitest";
import { coverageAfter, LONGEST_SCAN_INTERVAL_MS, withAgentGap } from "../../../../agent/core/coverage.ts";
import { type RootRule, scanMountedVolumes } from "../../../../agent/core/mounted-volumes.ts";
import { initialState, loseCoverage } from "../../../../agent/core/node-state.ts";
import { extendCoverage, observe } from "../../../../agent/core/observe.ts";
import type { AgentGap } from "../../../../common/storage/node-report.ts";
import { formatMountLine, tokenMountPoint } from "../../../fakes/mount-table.ts";

const RULE: RootRule = { by: "own-pod", podUid: "agent-1", override: undefined };
const TABLE = formatMountLine({ mountPoint: tokenMountPoint("agent-1") });

/** What happens to an agent: a complete, a damaged or a failed read at a time; `quiet` is what the kernel says of the time before it. */
interface Scan {
  readonly at: number;
  /** How long the scan takes; by default 1. */
  readonly tookMs?: number;
  readonly what?: "damaged" | "failed";
  readonly quiet?: { readonly from: number; readonly until: number };
}

function gapAfter(scans: readonly Scan[]): readonly AgentGap[] {
  let state = initialState("boot-1");
  for (const { at, what, quiet, tookMs = 1 } of scans) {
    if (quiet !== undefined) state = extendCoverage(state, quiet);
    if (what === "failed") {
      state = loseCoverage(state);
      continue;
    }
    const text = what === "damaged" ? `${TABLE}36 35 8:1` : TABLE;
    const scan = scanMountedVolumes({ text, beganAt: at, endedAt: at + tookMs }, RULE);
    const pods = new Map();
    state = observe(state, { scan, unchanged: quiet, podsResourceVersion: "1", pods }).state;
  }
  return state.agentGaps;
}

describe("the gaps of a run", () => {
  const late = 11 + LONGEST_SCAN_INTERVAL_MS;
  it.each<{ readonly name: string; readonly scans: readonly Scan[]; readonly agentGaps: readonly AgentGap[] }>([
    { name: "are none before the first complete scan", scans: [{ at: 10, what: "damaged" }], agentGaps: [] },
    { name: "begin with all the time before it", scans: [{ at: 10 }], agentGaps: [{ to: 11 }] },
    {
      name: "have no other after damaged scans",
      scans: [{ at: 10, what: "damaged" }, { at: 15, what: "failed" }, { at: 20 }],
      agentGaps: [{ to: 21 }],
    },
    { name: "have no other while all scans are complete", scans: [{ at: 10 }, { at: 20 }], agentGaps: [{ to: 11 }] },
    {
      name: "have one between two complete scans around a damaged one",
      scans: [{ at: 10 }, { at: 20, what: "damaged" }, { at: 30 }, { at: 40 }],
      agentGaps: [{ to: 11 }, { from: 11, to: 31 }],
    },
    {
      name: "have one around a scan that failed",
      scans: [{ at: 10 }, { at: 20, what: "failed" }, { at: 30 }],
      agentGaps: [{ to: 11 }, { from: 11, to: 31 }],
    },
    {
      name: "have one that begins with the last scan, which need not have shown a mount that was made during it",
      scans: [{ at: 10 }, { at: 1_000, tookMs: 900 }, { at: 9_000 }],
      agentGaps: [{ to: 11 }, { from: 1_000, to: 9_001 }],
    },
    {
      name: "do not include an open gap",
      scans: [{ at: 10 }, { at: 20, what: "failed" }, { at: 30, what: "damaged" }],
      agentGaps: [{ to: 11 }],
    },
    {
      name: "have none between scans that are just close enough",
      scans: [{ at: 10 }, { at: late }],
      agentGaps: [{ to: 11 }],
    },
    {
      name: "have one when the agent was stopped between two scans",
      scans: [{ at: 10 }, { at: late + 1 }],
      agentGaps: [{ to: 11 }, { from: 11, to: late + 2 }],
    },
    {
      name: "have one when the agent was paused for so long that a pod can have come and gone",
      scans: [{ at: 10 }, { at: 12_000 }],
      agentGaps: [{ to: 11 }, { from: 11, to: 12_001 }],
    },
    {
      name: "have none for a long time without changes",
      scans: [{ at: 10 }, { at: late + 5_000, quiet: { from: 5, until: late } }],
      agentGaps: [{ to: 11 }],
    },
    {
      name: "have none for a long time without changes that began with the last scan",
      scans: [{ at: 10 }, { at: late + 5_000, quiet: { from: 10, until: late } }],
      agentGaps: [{ to: 11 }],
    },
    {
      name: "have one when the long time without changes began only after the last scan",
      scans: [{ at: 10 }, { at: late + 5_000, quiet: { from: 12, until: late } }],
      agentGaps: [{ to: 11 }, { from: 11, to: late + 5_001 }],
    },
    {
      name: "have one for a long time after the last poll for changes",
      scans: [{ at: 10 }, { at: late + 6_001, quiet: { from: 5, until: 6_000 } }],
      agentGaps: [{ to: 11 }, { from: 11, to: late + 6_002 }],
    },
  ])("$name", ({ scans, agentGaps }) => {
    expect(gapAfter(scans)).toEqual(agentGaps);
  });
});

describe("coverageAfter", () => {
  it.each([
    { name: "the first complete scan starts it", coverage: "none", isComplete: true, after: "unbroken" },
    { name: "a complete scan restores it", coverage: "broken", isComplete: true, after: "unbroken" },
    { name: "a damaged scan breaks it", coverage: "unbroken", isComplete: false, after: "broken" },
    { name: "stays broken until a complete scan", coverage: "broken", isComplete: false, after: "broken" },
    // Else a restarted agent would report what its journal says as if it had seen it.
    { name: "a damaged scan does not start it", coverage: "none", isComplete: false, after: "none" },
  ] as const)("$name", ({ coverage, isComplete, after }) => {
    expect(coverageAfter(coverage, isComplete)).toBe(after);
  });
});

describe("withAgentGap", () => {
  const many = Array.from({ length: 16 }, (_, at) => ({ from: 10 * at + 1, to: 10 * at + 5 }));

  it.each<{ readonly name: string; readonly spans: readonly AgentGap[]; readonly all: readonly AgentGap[] }>([
    { name: "adds a gap after the others", spans: [{ to: 5 }], all: [{ to: 5 }, { from: 200, to: 210 }] },
    {
      name: "merges the two oldest gaps when there are too many",
      spans: many,
      all: [{ from: 1, to: 15 }, ...many.slice(2), { from: 200, to: 210 }],
    },
    {
      name: "keeps the unknown begin of the oldest gap",
      spans: [{ to: 5 }, ...many.slice(1)],
      all: [{ to: 15 }, ...many.slice(2), { from: 200, to: 210 }],
    },
    {
      name: "keeps as many gaps as a report may have",
      spans: many.slice(1),
      all: [...many.slice(1), { from: 200, to: 210 }],
    },
  ])("$name", ({ spans, all }) => {
    expect(withAgentGap(spans, { from: 200, to: 210 })).toEqual(all);
  });

  it("adds a gap with an unknown begin", () => {
    expect(withAgentGap([], { to: 5 })).toStrictEqual([{ to: 5 }]);
  });
});
