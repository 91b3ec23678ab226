import { describe, expect, it } from "vitest";
import { figureRows, latenessOf, writesIn } from "../../crashes/figures.ts";
import type { ClaimHistory, CrashRecord, Kill, StoredState, TrueUse } from "../../crashes/record.ts";
import { shortfalls } from "../../crashes/shortfall.ts";
import { storyOf } from "../../crashes/story.ts";
import { stored, usedLast } from "./stored.ts";

function use(name: string, fromMs: number, toMs: number): TrueUse {
  return {
    claim: "claim",
    pod: `shop/${name}`,
    podUid: `uid-${name}`,
    node: "node-a",
    askedMs: fromMs - 10,
    mounted: { fromMs, toMs: fromMs + 1 },
    unmounted: { fromMs: toMs - 1, toMs },
    removedMs: toMs + 10,
  };
}

function state(seenMs: number, unused: boolean, [sinceMs, name]: readonly [number, string?]): StoredState {
  const use = { podUid: `uid-${name}`, endedByMs: sinceMs, uncertaintyMs: 1 };
  const published = stored(unused, sinceMs, name === undefined ? undefined : usedLast(use));
  return { seenMs, published: { ...published, reason: "Reason", message: "published" } };
}

const USES = [use("one", 10_000, 20_000), use("two", 30_000, 40_000)];
const HISTORY: ClaimHistory = {
  claim: "claim",
  states: [
    { seenMs: 500, published: undefined },
    state(1_000, true, [1_000]),
    state(10_100, false, [10_050]),
    state(20_300, true, [21_000, "one"]),
    state(30_100, false, [30_050, "one"]),
    state(30_200, false, [30_050, "one"]),
    state(40_700, true, [41_000, "two"]),
    state(41_700, true, [42_000, "two"]),
  ],
};
const KILLS: readonly Kill[] = [
  { victim: "leader", name: "aggregator-0", atMs: 20_100 },
  { victim: "leader", name: "aggregator-1", atMs: 30_100 },
  { victim: "standby", name: "aggregator-0", atMs: 35_000 },
];
const RECORD: CrashRecord = {
  uses: USES,
  claims: [HISTORY],
  uptimes: { agents: { "node-a": [{ fromMs: 9_000, toMs: 50_000 }] }, aggregators: [], leaders: [], apiServer: [] },
  checkpoints: [{ atMs: 45_000, claim: "all" }],
  kills: KILLS,
};

describe("the figures of a campaign", () => {
  it("measure each end of a use by the first write that names it", () => {
    const late = latenessOf(RECORD);

    expect(late).toEqual({ publishedMs: [1_000, 1_000], publicationMs: [300, 700] });
  });

  it("do not measure a write about a use that is no longer the last one", () => {
    const states = [state(40_300, true, [40_000, "one"]), state(40_900, true, [41_000, "two"])];

    const late = latenessOf({ uses: USES, claims: [{ claim: "claim", states }] });

    expect(late).toEqual({ publishedMs: [1_000], publicationMs: [900] });
  });

  it("count writes, and how many of them were transitions", () => {
    const counted = writesIn([HISTORY]);

    expect(counted).toEqual({ writes: 7, transitions: 6 });
  });

  it("are a table with the kills of each, the faults of each kind and the worst cases", () => {
    const finding = { claim: "claim", promise: "exact", atMs: 1, text: "why" } as const;
    const chances = { exact: { judged: 3, excused: { "unobserved: no agent and no replica saw it": 1 } } };

    const rows = figureRows(RECORD, { findings: [finding, finding], chances });

    expect(rows).toEqual(
      expect.arrayContaining([
        ["kill -9 of the leader", "2"],
        ["kill -9 of the agent of node-a", "0"],
        ["unmounts", "2"],
        ["published after the end", "2", "300 ms", "700 ms", "700 ms"],
        ["writes", "7", "1.17 a transition"],
        ["exact", "3", "2 broken"],
        ["exact, excused: unobserved: no agent and no replica saw it", "1"],
      ]),
    );
  });
});

describe("what a campaign falls short of", () => {
  const size = { seed: 1, rounds: 1, unmounts: 2, kills: 0, apiServerKills: 0, absences: 0, blackouts: 0 };

  it.each([
    { name: "nothing, where the plan was carried out", asked: size, missing: [] },
    { name: "unmounts", asked: { ...size, unmounts: 3 }, missing: ["2 unmounts instead of 3"] },
    { name: "rounds", asked: { ...size, rounds: 2 }, missing: ["1 rounds instead of 2"] },
    {
      name: "kills of each role",
      asked: { ...size, kills: 2, apiServerKills: 1 },
      missing: [
        "0 kills of the agent of node-a instead of 2",
        "0 kills of the agent of node-b instead of 2",
        "1 kills of the standby instead of 2",
        "0 kills of the kube-apiserver instead of 1",
      ],
    },
  ])("is $name", ({ asked, missing }) => {
    expect(shortfalls(asked, RECORD)).toEqual(missing);
  });
});

describe("the story of a claim", () => {
  it("lists its uses, kills and writes, ordered by time", () => {
    const story = storyOf("claim", RECORD);

    expect(story.slice(0, 5)).toEqual([
      "00:00:00.500      STORED nothing",
      "00:00:01.000      STORED True Reason since 00:00:01.000, no last use: published",
      "00:00:09.000   the agent of node-a is up",
      "00:00:09.990 shop/one is created on node-a (uid-one)",
      "00:00:10.001 shop/one MOUNTED on node-a",
    ]);
    expect(story).toContain("00:00:20.100   kill -9 of the leader (aggregator-0)");
    expect(story).toContain("00:00:20.000 shop/one UNMOUNTED on node-a, not before 00:00:19.999");
    expect(story.at(-1)).toBe("00:00:45.000   CHECKPOINT");
  });
});
