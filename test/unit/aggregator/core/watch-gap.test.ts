import { describe, expect, it } from "vitest";
import {
  type AgentCoverage,
  agentCoverage,
  answerOf,
  type GapNode,
  reachOf,
  spansOf,
} from "../../../../aggregator/core/watch-gap.ts";
import type { GapTime } from "../../../../aggregator/core/watch-history.ts";
import { NOON, nodeWith, reportWith } from "../world.ts";

const MIN = 60_000;
/** No replica watched pods from one to eleven minutes past noon. */
const GAP: GapTime = { fromMs: NOON + MIN, toMs: NOON + 11 * MIN };
const SINCE_EVER: GapTime = { ...GAP, fromMs: undefined };
const EVER = Number.NEGATIVE_INFINITY;

/** Minutes past noon. */
function span(from: number, to: number) {
  return { fromMs: from === EVER ? EVER : NOON + from * MIN, toMs: NOON + to * MIN };
}

/** An agent that came up with its node an hour before noon and has read its table twelve minutes past noon. */
function coverageWith(fields: Partial<AgentCoverage> = {}): AgentCoverage {
  const booted = NOON - 60 * MIN;
  return {
    bootedAfterMs: booted,
    bootedByMs: booted + 1,
    isFirstBoot: true,
    agentGaps: [{ fromMs: booted, toMs: booted + MIN }],
    scanBeganMs: NOON + 12 * MIN,
    ...fields,
  };
}

function nodeIn(fields: Partial<GapNode> = {}): GapNode {
  const base = {
    agentState: "Reporting",
    createdAtMs: NOON - 99 * MIN,
    isOverdue: false,
  } as const;
  return { ...base, coverage: undefined, ...fields };
}

/** An agent that did not watch in these times of its boot. */
function awayIn(...agentGaps: AgentCoverage["agentGaps"]): GapNode {
  return nodeIn({ coverage: coverageWith({ agentGaps }) });
}

/** A node that came up so many minutes past noon, and was read by its agent a minute later. */
function booted(at: number, fields: Partial<GapNode> = {}, machine: Partial<AgentCoverage> = {}): GapNode {
  const { fromMs } = span(at, at);
  const coverage = coverageWith({
    bootedAfterMs: fromMs - 1,
    bootedByMs: fromMs,
    agentGaps: [span(at, at + 1)],
    scanBeganMs: NOON + 99 * MIN,
    ...machine,
  });
  return nodeIn({ coverage, ...fields });
}

describe("what is known of uses on a node in a gap", () => {
  it.each([
    {
      name: "an agent that watched all the time tells them by unmount records",
      node: nodeIn({ coverage: coverageWith() }),
      agentGaps: [],
    },
    { name: "an agent that was away before only, too", node: awayIn(span(-9, 0.99)), agentGaps: [] },
    { name: "an agent that was away after it only, too", node: awayIn(span(11, 12)), agentGaps: [] },
    {
      name: "an agent that was away within it: until it read again",
      node: awayIn(span(3, 4)),
      agentGaps: [span(3, 4)],
    },
    {
      name: "an agent that was away already: from the begin of the gap",
      node: awayIn(span(-5, 4)),
      agentGaps: [span(1, 4)],
    },
    {
      name: "an agent that was away longer: until its first scan, by then also what a vanished pod left is unmounted or seen",
      node: awayIn(span(9, 12)),
      agentGaps: [span(9, 12)],
    },
    {
      name: "an agent that was away twice: from the first to the last time",
      node: awayIn(span(2, 3), span(9, 10)),
      agentGaps: [span(2, 10)],
    },
    {
      name: "before a known time nobody is known to have watched: whenever the agent did not either",
      gap: SINCE_EVER,
      node: awayIn(span(-30, -20)),
      agentGaps: [span(EVER, -20)],
    },
    {
      name: "a node that was rebooted in it: of its boot before nothing is known, of this one only from the first scan on",
      node: booted(5),
      agentGaps: [span(1, 6)],
    },
    { name: "a node that was rebooted after it: until then", node: booted(20), agentGaps: [span(1, 20)] },
    {
      name: "a node that was made after it: nothing was used there",
      node: booted(20, { createdAtMs: NOON + 11 * MIN }),
      agentGaps: [],
    },
    {
      name: "a node whose object was made anew after it, and that was off meanwhile: what is not known of its boot before",
      node: booted(20, { createdAtMs: NOON + 11 * MIN }, { isFirstBoot: false }),
      agentGaps: [span(1, 20)],
    },
    {
      name: "an agent that had read its table when it ended: what it tells",
      node: nodeIn({ coverage: coverageWith({ agentGaps: [span(3, 4)], scanBeganMs: GAP.toMs }) }),
      agentGaps: [span(3, 4)],
    },
    {
      name: "an agent that was away until it began: none has seen that moment",
      node: awayIn(span(-5, 1)),
      agentGaps: [span(1, 1)],
    },
    {
      name: "a node whose object was made anew after it, and that was rebooted in it: what is not known of its boot before",
      node: booted(5, { createdAtMs: NOON + 12 * MIN }),
      agentGaps: [span(1, 6)],
    },
    {
      name: "a node whose object was made anew after it has the life that it had",
      node: { ...awayIn(span(3, 4)), createdAtMs: NOON + 12 * MIN },
      agentGaps: [span(3, 4)],
    },
    {
      name: "an agentless node: anything, as long as the gap was",
      node: nodeIn({ agentState: "NoAgent" }),
      agentGaps: [span(1, 11)],
    },
    { name: "a node that is gone: the same", node: nodeIn({ agentState: "Gone" }), agentGaps: [span(1, 11)] },
  ])("$name", ({ node, agentGaps, gap = GAP }) => {
    const { isOpen, times } = answerOf(gap, node);

    const during = times.filter(({ isBefore }) => !isBefore);
    expect(isOpen).toBe(false);
    expect(during).toMatchObject(agentGaps.map(({ toMs }) => ({ toMs })));
    expect(during.map(({ fromMs }) => Math.round(fromMs / MIN))).toEqual(
      agentGaps.map(({ fromMs }) => Math.round(fromMs / MIN)),
    );
    // Of what is dated after such a gap nothing is known to have been seen before it.
    expect(new Set(during.map(({ datedBeforeMs }) => datedBeforeMs))).toEqual(
      new Set(agentGaps.map(() => (gap === GAP ? undefined : gap.toMs))),
    );
  });

  it.each([
    { name: "has not reported yet", node: nodeIn(), agentGaps: [] },
    {
      name: "has not read its table since the gap",
      node: nodeIn({ coverage: coverageWith({ agentGaps: [span(3, 4)], scanBeganMs: GAP.toMs - 1 }) }),
      agentGaps: [],
    },
    { name: "was made after the gap and has not reported", node: nodeIn({ createdAtMs: GAP.toMs }), agentGaps: [] },
    { name: "is silent for a short time", node: nodeIn({ agentState: "Stale" }), agentGaps: [] },
    { name: "is late, but may still come", node: nodeIn({ isOverdue: true }), agentGaps: [] },
    {
      name: "is silent for long, and counts for the time of the gap until it answers",
      node: nodeIn({ agentState: "Stale", isOverdue: true }),
      agentGaps: [span(1, 11)],
    },
  ])("is open as long as the node $name", ({ node, agentGaps }) => {
    expect(answerOf(GAP, node)).toEqual({ isOpen: true, times: agentGaps.map((one) => ({ ...one, isBefore: false })) });
  });
});

describe("what an agent did not watch before a gap", () => {
  it.each([
    { name: "is the last time that was over by then", node: awayIn(span(-9, -8), span(-3, -2)), before: span(-3, -2) },
    { name: "is no time that ended just then", node: awayIn(span(-9, -8), span(-3, 1)), before: span(-9, -8) },
    { name: "is no time that was not over by then", node: awayIn(span(-9, -8), span(-3, 2)), before: span(-9, -8) },
    {
      name: "is that before its boot at the least",
      node: awayIn(),
      before: { fromMs: EVER, toMs: NOON - 60 * MIN + 1 },
    },
    {
      name: "is nothing where no replica is known to have watched before",
      gap: SINCE_EVER,
      node: awayIn(),
      before: undefined,
    },
  ])("$name", ({ node, before, gap = GAP }) => {
    expect(answerOf(gap, node).times.filter(({ isBefore }) => isBefore)).toEqual(
      before === undefined ? [] : [{ ...before, isBefore: true }],
    );
  });
});

describe("what a report says of its agent's gaps", () => {
  it("is dated so that a gap is rather longer than shorter", () => {
    const report = reportWith({
      ...{ scan: { beganAt: 899_000, endedAt: 900_000 }, sentAt: 1_000_000, driftPpm: 200_000 },
      ...{ observedSince: 800_000, agentGaps: [{ to: 100_000 }, { from: 700_000, to: 800_000 }] },
    });

    const coverage = agentCoverage(report, { atMs: NOON, widthMs: 50 });

    expect(coverage).toEqual({
      bootedAfterMs: NOON - 50 - 1_250_000,
      bootedByMs: NOON - 800_000,
      isFirstBoot: false,
      agentGaps: [
        { fromMs: NOON - 50 - 1_250_000, toMs: NOON - 720_000 },
        { fromMs: NOON - 50 - 375_000, toMs: NOON - 160_000 },
      ],
      scanBeganMs: NOON - 50 - 126_250,
    });
  });
});

describe("where a volume can be used", () => {
  const requirement = { key: "zone", operator: "In", values: ["a"] };
  const nodeAffinity = JSON.stringify({ nodeSelectorTerms: [{ matchExpressions: [requirement] }] });
  const nodes = [
    { ...nodeWith("a1"), labels: { zone: "a" } },
    { ...nodeWith("b1"), labels: { zone: "b" } },
  ];

  it.each([
    { name: "anywhere without an affinity", volume: {}, node: "b1", mayBe: true },
    { name: "on a node that its affinity admits", volume: { nodeAffinity }, node: "a1", mayBe: true },
    { name: "not on one that it excludes", volume: { nodeAffinity }, node: "b1", mayBe: false },
    { name: "on one that is no more", volume: { nodeAffinity }, node: "x9", mayBe: true },
  ])("is $name", ({ volume, node, mayBe }) => {
    expect(reachOf(volume, (name) => nodes.find(({ key }) => key === name))(node)).toBe(mayBe);
  });
});

describe("times of several nodes and gaps", () => {
  it("become one of each kind, from the first begin to the last end", () => {
    const during = [span(3, 4), span(1, 2), span(9, 12)].map((one) => ({ ...one, isBefore: false }));
    const before = [span(-3, -2), span(0, 1)].map((one) => ({ ...one, isBefore: true }));
    const first = { ...span(EVER, 4), isBefore: false, datedBeforeMs: NOON };

    expect(spansOf([...during, first, ...before])).toEqual([
      { ...span(1, 12), isBefore: false },
      first,
      { ...span(-3, 1), isBefore: true },
    ]);
  });
});
