import { describe, expect, it } from "vitest";
import {
  type AgentCoverage,
  agentCoverage,
  type GapNode,
  unobservedTimes,
  type VolumeReach,
  wordOn,
} from "../../../../aggregator/core/watch-gap.ts";
import type { WatchGap } from "../../../../aggregator/core/watch-history.ts";
import { NOON, nodeWith, reportWith } from "../world.ts";

const MIN = 60_000;
/** Nobody watched pods from one to eleven minutes past noon. */
const GAP: WatchGap = { fromMs: NOON + MIN, toMs: NOON + 11 * MIN, leasesAt: "50", openNodes: undefined };
const SINCE_EVER: WatchGap = { ...GAP, fromMs: undefined };
const EVER = Number.NEGATIVE_INFINITY;

/** Minutes past noon. */
function span(from: number, to: number) {
  return { fromMs: from === EVER ? EVER : NOON + from * MIN, toMs: NOON + to * MIN };
}

/** An agent that came up with its node an hour before noon and has read its table twelve minutes past noon. */
function sightWith(fields: Partial<AgentCoverage> = {}): AgentCoverage {
  const booted = NOON - 60 * MIN;
  return {
    bootedAfterMs: booted,
    bootedByMs: booted + 1,
    isFirstBoot: true,
    agentGaps: [{ fromMs: booted, toMs: booted + MIN }],
    readBeganMs: NOON + 12 * MIN,
    ...fields,
  };
}

function nodeIn(fields: Partial<GapNode> = {}): GapNode {
  const base = {
    agentState: "Reporting",
    createdAtMs: NOON - 99 * MIN,
    isKubeletAway: false,
    isOverdue: false,
  } as const;
  return { ...base, sight: undefined, ...fields };
}

/** An agent that did not watch in these times of its boot. */
function blindIn(...agentGaps: AgentCoverage["agentGaps"]): GapNode {
  return nodeIn({ sight: sightWith({ agentGaps }) });
}

/** A node that came up so many minutes past noon, and was read by its agent a minute later. */
function booted(at: number, fields: Partial<GapNode> = {}, machine: Partial<AgentCoverage> = {}): GapNode {
  const { fromMs } = span(at, at);
  const sight = sightWith({
    bootedAfterMs: fromMs - 1,
    bootedByMs: fromMs,
    agentGaps: [span(at, at + 1)],
    readBeganMs: NOON + 99 * MIN,
    ...machine,
  });
  return nodeIn({ sight, ...fields });
}

describe("what is known of uses on a node in a gap", () => {
  it.each([
    {
      name: "an agent that watched all the time tells them by unmount records",
      node: nodeIn({ sight: sightWith() }),
      agentGaps: [],
    },
    { name: "an agent that was away before only, too", node: blindIn(span(-9, 0.99)), agentGaps: [] },
    { name: "an agent that was away after it only, too", node: blindIn(span(11, 12)), agentGaps: [] },
    {
      name: "an agent that was away within it: until it read again",
      node: blindIn(span(3, 4)),
      agentGaps: [span(3, 4)],
    },
    {
      name: "an agent that was away already: from the begin of the gap",
      node: blindIn(span(-5, 4)),
      agentGaps: [span(1, 4)],
    },
    {
      name: "an agent that was away longer: until its first read, by then also what a vanished pod left is unmounted or seen",
      node: blindIn(span(9, 12)),
      agentGaps: [span(9, 12)],
    },
    {
      name: "an agent that was away twice: both times",
      node: blindIn(span(2, 3), span(9, 10)),
      agentGaps: [span(2, 3), span(9, 10)],
    },
    {
      name: "before a known time nobody is known to have watched: whenever the agent did not either",
      gap: SINCE_EVER,
      node: blindIn(span(-30, -20)),
      agentGaps: [{ fromMs: EVER, toMs: NOON - 60 * MIN + 1 }, span(-30, -20)],
    },
    {
      name: "a node that was rebooted in it: of its boot before nothing is known, of this one only from the first read on",
      node: booted(5),
      agentGaps: [span(1, 5), span(5, 6)],
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
      name: "a node that was made after it and has not reported: the same",
      node: nodeIn({ createdAtMs: GAP.toMs }),
      agentGaps: [],
    },
    {
      name: "an agent that had read its table when it ended: what it tells",
      node: nodeIn({ sight: sightWith({ agentGaps: [span(3, 4)], readBeganMs: GAP.toMs }) }),
      agentGaps: [span(3, 4)],
    },
    {
      name: "an agent that was away until it began: none has seen that moment",
      node: blindIn(span(-5, 1)),
      agentGaps: [span(1, 1)],
    },
    {
      name: "a node whose object was made anew after it, and that was rebooted in it: what is not known of its boot before",
      node: booted(5, { createdAtMs: NOON + 12 * MIN }),
      agentGaps: [span(1, 5), span(5, 6)],
    },
    {
      name: "a node whose object was made anew after it has the life that it had",
      node: { ...blindIn(span(3, 4)), createdAtMs: NOON + 12 * MIN },
      agentGaps: [span(3, 4)],
    },
    {
      name: "a node whose kubelet was away all the time: nothing was used there",
      node: { ...blindIn(span(-5, 12)), isKubeletAway: true },
      agentGaps: [],
    },
    {
      name: "an agentless node: anything, as long as the gap was",
      node: nodeIn({ agentState: "NoAgent" }),
      agentGaps: [span(1, 11)],
    },
    { name: "a node that is gone: the same", node: nodeIn({ agentState: "Gone" }), agentGaps: [span(1, 11)] },
  ])("$name", ({ node, agentGaps, gap = GAP }) => {
    const word = wordOn(gap, node);

    expect(word.isOpen).toBe(false);
    expect(word.agentGaps.map(({ toMs }) => toMs)).toEqual(agentGaps.map(({ toMs }) => toMs));
    for (const [index, { fromMs }] of word.agentGaps.entries()) {
      expect(Math.abs(fromMs - (agentGaps[index]?.fromMs ?? 0)) || 0).toBeLessThanOrEqual(1);
    }
  });

  it.each([
    { name: "has not reported yet", node: nodeIn(), agentGaps: [] },
    {
      name: "has not read its table since the gap",
      node: nodeIn({ sight: sightWith({ agentGaps: [span(3, 4)], readBeganMs: GAP.toMs - 1 }) }),
      agentGaps: [],
    },
    { name: "is silent for a short time", node: nodeIn({ agentState: "Stale" }), agentGaps: [] },
    { name: "is late, but may still come", node: nodeIn({ isOverdue: true }), agentGaps: [] },
    {
      name: "is silent for long, and counts for the time of the gap until it tells",
      node: nodeIn({ agentState: "Stale", isOverdue: true }),
      agentGaps: [span(1, 11)],
    },
  ])("is open as long as the node $name", ({ node, agentGaps }) => {
    expect(wordOn(GAP, node)).toEqual({ isOpen: true, agentGaps });
  });
});

describe("what an agent did not watch before a gap", () => {
  it.each([
    { name: "is the last time that was over by then", node: blindIn(span(-9, -8), span(-3, -2)), before: span(-3, -2) },
    { name: "is no time that ended just then", node: blindIn(span(-9, -8), span(-3, 1)), before: span(-9, -8) },
    { name: "is no time that was not over by then", node: blindIn(span(-9, -8), span(-3, 2)), before: span(-9, -8) },
    {
      name: "is that before its boot at the least",
      node: blindIn(),
      before: { fromMs: EVER, toMs: NOON - 60 * MIN + 1 },
    },
    {
      name: "is nothing where nobody is known to have watched before",
      gap: SINCE_EVER,
      node: blindIn(),
      before: undefined,
    },
  ])("$name", ({ node, before, gap = GAP }) => {
    expect(wordOn(gap, node).before).toEqual(before);
  });

  it("is told for each gap beside what was not seen in it", () => {
    const agentGaps = new Map([["n1", [span(3, 4)]]]);
    const word = { gap: GAP, agentGaps, before: new Map([["n2", span(-3, -2)]]) };

    const about = { gapEndedMs: GAP.toMs, hasBegin: true };
    expect(unobservedTimes({ isHostPath: false }, [word], () => undefined)).toEqual([
      { ...span(-3, -2), isBefore: true, ...about },
      { ...span(3, 4), isBefore: false, ...about },
    ]);
  });
});

describe("what a report says of its agent's blindness", () => {
  it("is dated so that a blind time is rather longer than shorter", () => {
    const report = reportWith({
      ...{ read: { beganAt: 899_000, endedAt: 900_000 }, sentAt: 1_000_000, driftPpm: 200_000 },
      ...{ observedSince: 800_000, agentGaps: [{ to: 100_000 }, { from: 700_000, to: 800_000 }] },
    });

    const sight = agentCoverage(report, { atMs: NOON, widthMs: 50 });

    expect(sight).toEqual({
      bootedAfterMs: NOON - 50 - 1_250_000,
      bootedByMs: NOON - 800_000,
      isFirstBoot: false,
      agentGaps: [
        { fromMs: NOON - 50 - 1_250_000, toMs: NOON - 720_000 },
        { fromMs: NOON - 50 - 375_000, toMs: NOON - 160_000 },
      ],
      readBeganMs: NOON - 50 - 126_250,
    });
  });
});

describe("when a volume may have been used unseen", () => {
  const anywhere: VolumeReach = { isHostPath: false };
  const onZone = (zone: string): VolumeReach => ({
    isHostPath: false,
    nodeAffinity: JSON.stringify({
      nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In", values: [zone] }] }],
    }),
  });
  const nodes = [
    { ...nodeWith("a1"), labels: { zone: "a" } },
    { ...nodeWith("b1"), labels: { zone: "b" } },
  ];
  const nodeOf = (name: string) => nodes.find(({ key }) => key === name);
  const word = (gap: WatchGap, agentGaps: Readonly<Record<string, AgentCoverage["agentGaps"]>>) => ({
    gap,
    agentGaps: new Map(Object.entries(agentGaps)),
    before: new Map(),
  });

  it.each([
    { name: "never where every node was seen", reach: anywhere, agentGaps: {}, times: [] },
    {
      name: "when one of the nodes was not seen",
      reach: anywhere,
      agentGaps: { a1: [span(3, 4)] },
      times: [span(3, 4)],
    },
    {
      name: "from the first to the last such time",
      reach: anywhere,
      agentGaps: { a1: [span(3, 4)], b1: [span(2, 3), span(9, 12)] },
      times: [span(2, 12)],
    },
    {
      name: "only where it can be mounted",
      reach: onZone("a"),
      agentGaps: { a1: [span(3, 4)], b1: [span(9, 12)] },
      times: [span(3, 4)],
    },
    {
      name: "never where it can be mounted on no such node",
      reach: onZone("c"),
      agentGaps: { a1: [span(3, 4)] },
      times: [],
    },
    {
      name: "also on a node that is no more",
      reach: onZone("c"),
      agentGaps: { x9: [span(3, 4)] },
      times: [span(3, 4)],
    },
    { name: "all the time where it shows no mount", reach: { isHostPath: true }, agentGaps: {}, times: [span(1, 11)] },
    {
      name: "all the time where it shows no mount, also when no node is left that could have had it",
      reach: { ...onZone("c"), isHostPath: true },
      agentGaps: {},
      times: [span(1, 11)],
    },
  ])("$name", ({ reach, agentGaps, times }) => {
    const found = unobservedTimes(reach, [word(GAP, agentGaps)], nodeOf);

    expect(found).toEqual(times.map((time) => ({ ...time, isBefore: false, gapEndedMs: GAP.toMs, hasBegin: true })));
  });

  it("is told for each gap", () => {
    const later = { ...GAP, fromMs: NOON + 20 * MIN, toMs: NOON + 30 * MIN };

    const found = unobservedTimes(
      anywhere,
      [word(SINCE_EVER, { a1: [span(EVER, 4)] }), word(later, { a1: [span(21, 22)] })],
      nodeOf,
    );

    expect(found).toEqual([
      { ...span(EVER, 4), isBefore: false, gapEndedMs: GAP.toMs, hasBegin: false },
      { ...span(21, 22), isBefore: false, gapEndedMs: later.toMs, hasBegin: true },
    ]);
  });
});
