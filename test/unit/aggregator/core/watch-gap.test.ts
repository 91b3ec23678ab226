import { describe, expect, it } from "vitest";
import type { Node } from "../../../../aggregator/core/cluster-objects.ts";
import type { NodeView } from "../../../../aggregator/core/nodes/node-view.ts";
import { answerOf, type GapAnswer, type GapNode, reachOf, spansOf } from "../../../../aggregator/core/pod-watch/gap.ts";
import type { WatchGap } from "../../../../aggregator/core/pod-watch/history.ts";
import type { Gap } from "../../../../common/storage/claim-status.ts";
import { NOON, nodeWith, reportWith, viewWith } from "../world.ts";
import { viewAfter } from "./reported.ts";

const MIN = 60_000;
/** No replica watched pods from one to eleven minutes past noon. */
const GAP: WatchGap = { fromMs: NOON + MIN, toMs: NOON + 11 * MIN, reached: "500", isForAll: true, open: [] };
const SINCE_EVER: WatchGap = { ...GAP, fromMs: undefined };
const EVER = Number.NEGATIVE_INFINITY;

/** Minutes past noon. */
function span(from: number, to: number) {
  return { fromMs: from === EVER ? EVER : NOON + from * MIN, toMs: NOON + to * MIN };
}

/** An agent that came up with its node an hour before noon and has read its table twelve minutes past noon. */
function coverageWith(agentGaps: readonly Gap[], fields: Partial<NodeView> = {}): NodeView {
  const booted = { bootedAfterMs: NOON - 60 * MIN, bootedByMs: NOON - 60 * MIN + 1, isFirstBoot: true };
  const gaps = agentGaps.map((one) => ({ ...one, to: 0 }));
  return viewWith({ ...booted, agentGaps: gaps, scanBeganMs: NOON + 12 * MIN, ...fields });
}

function nodeIn({ createdAtMs = NOON - 99 * MIN, ...fields }: Partial<GapNode> & Partial<Node> = {}): GapNode {
  const object = { ...nodeWith("n1"), resourceVersion: "1", createdAtMs };
  return { name: "n1", object, agentState: "Reporting", isOverdue: false, view: undefined, ...fields };
}

/** An agent that did not watch in these times of its boot. */
function awayIn(...agentGaps: readonly Gap[]): GapNode {
  return nodeIn({ view: coverageWith(agentGaps) });
}

/** A node that came up so many minutes past noon, and was read by its agent a minute later. */
function booted(at: number, fields: Partial<Node> = {}): GapNode {
  const atMs = NOON + at * MIN;
  const read = { bootedAfterMs: atMs - 1, bootedByMs: atMs, scanBeganMs: NOON + 99 * MIN };
  return nodeIn({ view: coverageWith([span(at, at + 1)], read), ...fields });
}

const FIRST_SEEN = { createdAtMs: NOON + 11 * MIN };
const MADE_LATER = { createdAtMs: NOON + 12 * MIN };
const scanned = (scanBeganMs: number) => nodeIn({ view: coverageWith([span(3, 4)], { scanBeganMs }) });

/** Times in minutes past noon, those of an answer that is still to come after "open". */
function inMinutes({ isOpen, times }: GapAnswer): string {
  const minute = (ms: number) => (ms === EVER ? "ever" : `${Math.round((ms - NOON) / MIN)}`);
  const texts = times.filter(({ isBefore }) => !isBefore).map((one) => `${minute(one.fromMs)} to ${minute(one.toMs)}`);
  return [...(isOpen ? ["open"] : []), ...texts].join(" ");
}

describe("nothing is unobserved on", () => {
  const away = { ...nodeWith("n1"), isUnreachable: true, resourceVersion: "500" };

  it.each([
    { name: "a node that was unreachable before the gap and has not changed since", isAway: true },
    { name: "no node that has changed since", node: { resourceVersion: "501" } },
    { name: "no node whose kubelet lives", node: { isUnreachable: false } },
    { name: "no node that was up in an earlier gap", of: { open: ["n1"] } },
    { name: "no node where versions prove nothing", of: { reached: undefined } },
  ])("$name", ({ node = {}, of = {}, isAway = false }) => {
    const silent = nodeIn({ object: { ...away, ...node }, agentState: "Stale" });

    expect(answerOf({ ...GAP, ...of }, silent)).toEqual({ isOpen: !isAway, times: [] });
  });
});

describe("what is not known of uses on a node in a gap", () => {
  it.each<readonly [name: string, node: GapNode, times: string]>(
    // biome-ignore format: a row is a line
    [
      ["is nothing where its agent watched all the time: it reports them as unmount records", awayIn(), ""],
      ["is nothing where its agent was away only after it", awayIn(span(11, 12)), ""],
      ["is its first moment, where its agent was away until then", awayIn(span(-5, 1)), "1 to 1"],
      ["is what it did not watch, where it had read its table just when the gap ended", scanned(GAP.toMs), "3 to 4"],
      ["is nothing where the node was made after it", booted(20, FIRST_SEEN), ""],
      ["is all until the first scan, where its object was made anew and it was rebooted", booted(5, MADE_LATER), "1 to 6"],
      ["is all of it without an agent", nodeIn({ agentState: "NoAgent" }), "1 to 11"],
      ["is all of it without an agent, where its object was made anew", nodeIn({ agentState: "NoAgent", ...MADE_LATER }), "1 to 11"],
      ["is unanswered by a Stale node whose object is new", nodeIn({ agentState: "Stale", isOverdue: true, ...MADE_LATER }), "open"],
      ["is all of it on a node that is gone", nodeIn({ agentState: "Gone" }), "1 to 11"],
      ["is unanswered before a scan since the gap", scanned(GAP.toMs - 1), "open"],
      ["is unanswered for a node that was made after it", nodeIn(FIRST_SEEN), "open"],
      ["is unanswered for a node that is late", nodeIn({ isOverdue: true }), "open"],
      ["is all of it until a Stale node answers", nodeIn({ agentState: "Stale", isOverdue: true }), "open 1 to 11"],
    ],
  )("%s", (_, node, times) => {
    expect(inMinutes(answerOf(GAP, node))).toBe(times);
  });

  it("is every gap of the agent where no replica is known to have watched before, for earlier times only", () => {
    expect(answerOf(SINCE_EVER, awayIn(span(-30, -20))).times).toEqual([
      { ...span(EVER, -20), isBefore: false, datedBeforeMs: GAP.toMs },
    ]);
  });
});

describe("what an agent did not watch before a gap", () => {
  const sinceBoot = { fromMs: EVER, toMs: NOON - 60 * MIN + 1 };
  it.each([
    {
      name: "is the last time that was over when the gap began",
      node: awayIn(span(-9, -8), span(-3, -2)),
      before: span(-3, -2),
    },
    {
      name: "is no time that ended just as the gap began",
      node: awayIn(span(-9, -8), span(-3, 1)),
      before: span(-9, -8),
    },
    {
      name: "is no time that was not over when the gap began",
      node: awayIn(span(-9, -8), span(-3, 2)),
      before: span(-9, -8),
    },
    { name: "is the time before its boot at the least", node: awayIn(), before: sinceBoot },
  ])("$name", ({ node, before }) => {
    expect(answerOf(GAP, node).times.filter(({ isBefore }) => isBefore)).toEqual([{ ...before, isBefore: true }]);
  });
});

it("a report's gaps are dated so that each is rather longer than shorter", () => {
  const report = reportWith({
    ...{ scan: { beganAt: 899_000, endedAt: 900_000 }, sentAt: 1_000_000, driftPpm: 200_000 },
    ...{ observedSince: 800_000, agentGaps: [{ to: 100_000 }, { from: 700_000, to: 800_000 }] },
  });

  const bootedAfterMs = NOON - 50 - 1_250_000;
  const second = { fromMs: NOON - 50 - 375_000, toMs: NOON - 160_000, to: 800_000 };
  expect(viewAfter({ report, receipt: { atMs: NOON, widthMs: 50, nodeBootId: undefined } })).toMatchObject({
    ...{ bootedAfterMs, bootedByMs: NOON - 800_000, isFirstBoot: false, scanBeganMs: NOON - 50 - 126_250 },
    agentGaps: [{ fromMs: EVER, toMs: NOON - 720_000, to: 100_000 }, second],
  });
});

it("a volume can be used on a node that is no more, whatever its affinity", () => {
  const requirement = { key: "zone", operator: "In", values: ["a"] };
  const nodeAffinity = JSON.stringify({ nodeSelectorTerms: [{ matchExpressions: [requirement] }] });

  expect(reachOf({ nodeAffinity }, () => undefined)("x9")).toBe(true);
});

it("times of several nodes and gaps become one of each kind, from the first begin to the last end", () => {
  const during = [span(3, 4), span(1, 2), span(9, 12)].map((one) => ({ ...one, isBefore: false }));
  const before = [span(-3, -2), span(0, 1)].map((one) => ({ ...one, isBefore: true }));
  const first = { ...span(EVER, 4), isBefore: false, datedBeforeMs: NOON };

  expect(spansOf([...during, first, ...before])).toEqual([
    { ...span(1, 12), isBefore: false },
    first,
    { ...span(-3, 1), isBefore: true },
  ]);
});
