import { describe, expect, it } from "vitest";
import { judge } from "../../crashes/judge.ts";
import type { CrashRecord, StoredState, TrueUse, Uptimes } from "../../crashes/record.ts";
import type { PublishedUse } from "../../judge/published.ts";
import { stored, usedLast } from "./stored.ts";

/** All times of the rows are milliseconds after this moment. */
const ALWAYS = [{ fromMs: 0, toMs: 1_000_000 }];
const UP: Uptimes = {
  agents: { "node-a": ALWAYS, "node-b": ALWAYS },
  aggregators: ALWAYS,
  leaders: ALWAYS,
  apiServer: ALWAYS,
};

/** `used("one", [10_000, 20_000])`: mounted by a pod of this name from the first to the second moment; each call takes 5 ms. */
function used(name: string, [fromMs, toMs]: readonly [number, number?], more: Partial<TrueUse> = {}): TrueUse {
  return {
    claim: "claim",
    pod: `shop/${name}`,
    podUid: `uid-${name}`,
    node: "node-a",
    askedMs: fromMs - 100,
    mounted: { fromMs, toMs: fromMs + 5 },
    unmounted: toMs === undefined ? undefined : { fromMs: toMs, toMs: toMs + 5 },
    removedMs: toMs === undefined ? undefined : toMs + 50,
    ...more,
  };
}

const inUse = (seenMs: number, sinceMs: number): StoredState => ({ seenMs, published: stored(false, sinceMs) });

/** Unused since a time, last used by the pod of this name, with an uncertainty of 300 ms before `endedByMs`. */
function unused(
  [seenMs, sinceMs]: readonly [number, number],
  name?: string,
  use: Partial<PublishedUse> = {},
): StoredState {
  const lastUse = usedLast({ podUid: `uid-${name}`, endedByMs: sinceMs, uncertaintyMs: 300, ...use });
  return { seenMs, published: stored(true, sinceMs, name === undefined ? undefined : lastUse) };
}

interface Row {
  readonly name: string;
  readonly uses: readonly TrueUse[];
  readonly states: readonly StoredState[];
  readonly uptimes?: Partial<Uptimes>;
  readonly checkpoint?: number;
  readonly found: readonly string[];
}

function rulesOf({ uses, states, uptimes, checkpoint = 60_000 }: Row): readonly string[] {
  const record: CrashRecord = {
    uses,
    claims: [{ claim: "claim", states }],
    uptimes: { ...UP, ...uptimes },
    checkpoints: [
      { atMs: checkpoint, claim: "all" },
      { atMs: checkpoint, claim: "another" },
    ],
    kills: [],
  };
  return [...new Set(judge(record).findings.map(({ promise }) => promise))];
}

const one = used("one", [10_000, 20_000]);
const two = used("two", [30_000, 40_000]);
const exact = [inUse(10_200, 10_000), unused([20_200, 20_100], "one")];

describe("the judge of crashes", () => {
  it.each<Row>([
    { name: "finds nothing in a claim without a use", uses: [], states: [unused([1_000, 1_000])], found: [] },
    { name: "finds nothing in a use that is published exactly", uses: [one], states: exact, found: [] },
    {
      name: "finds nothing in a time at the begin of the unmount call",
      uses: [one],
      states: [inUse(10_200, 10_000), unused([20_200, 20_000], "one")],
      found: [],
    },
    {
      name: "finds nothing in a claim that is unused until its new mount is reported",
      uses: [one],
      states: [unused([9_000, 9_000]), unused([10_900, 9_500]), ...exact],
      found: [],
    },
    {
      name: "finds a time that is a millisecond before the end",
      uses: [one],
      states: [inUse(10_200, 10_000), unused([20_200, 19_999], "one", { endedByMs: 20_100 })],
      found: ["never-longer"],
    },
    {
      name: "finds a time of the use before the last one",
      uses: [one, two],
      states: [...exact, inUse(30_200, 30_000), unused([40_200, 30_500], "one", { endedByMs: 20_100 })],
      found: ["never-longer", "last-user"],
    },
    {
      name: "finds the same when it is corrected later",
      uses: [one, two],
      states: [
        ...exact,
        inUse(30_200, 30_000),
        unused([40_200, 30_500], "one", { endedByMs: 20_100 }),
        unused([40_900, 40_100], "two"),
      ],
      found: ["never-longer"],
    },
    {
      name: "finds True in the middle of a use",
      uses: [one],
      states: [inUse(10_200, 10_000), unused([15_000, 15_000]), inUse(15_200, 15_100), unused([20_200, 20_100], "one")],
      found: ["never-unused-while-mounted"],
    },
    {
      name: "finds True while one of two nodes has the claim mounted",
      uses: [one, used("other", [12_000, 50_000], { node: "node-b" })],
      states: [
        inUse(10_200, 10_000),
        unused([20_200, 20_100], "one"),
        inUse(21_000, 20_500),
        unused([50_200, 50_100], "other"),
      ],
      found: ["never-unused-while-mounted"],
    },
    {
      name: "finds a mount that is never published although all are up",
      uses: [one],
      states: [unused([1_000, 1_000]), unused([20_200, 20_100], "one")],
      found: ["never-unused-while-mounted"],
    },
    {
      name: "does not require a mount whose agent is down",
      uses: [one],
      states: [unused([1_000, 1_000]), unused([30_200, 30_100], "one", { uncertaintyMs: 20_000 })],
      uptimes: {
        agents: {
          "node-a": [
            { fromMs: 0, toMs: 11_000 },
            { fromMs: 30_000, toMs: 100_000 },
          ],
        },
      },
      found: [],
    },
    {
      name: "does not require a mount while no replica leads",
      uses: [one],
      states: [unused([1_000, 1_000]), unused([20_200, 20_100], "one")],
      uptimes: {
        leaders: [
          { fromMs: 0, toMs: 9_000 },
          { fromMs: 15_000, toMs: 100_000 },
        ],
      },
      found: [],
    },
    {
      name: "finds a mount that is not published although all have been up again for long",
      uses: [one],
      states: [unused([1_000, 1_000]), unused([20_200, 20_100], "one")],
      uptimes: {
        leaders: [
          { fromMs: 0, toMs: 9_000 },
          { fromMs: 12_000, toMs: 100_000 },
        ],
      },
      found: ["never-unused-while-mounted"],
    },
    {
      name: "finds a time that moves back",
      uses: [one],
      states: [
        inUse(10_200, 10_000),
        unused([20_200, 21_000], "one", { uncertaintyMs: 2_000 }),
        unused([20_900, 20_100], "one"),
      ],
      found: ["never-earlier"],
    },
    {
      name: "finds a time that moves back with a change to False",
      uses: [one, two],
      states: [...exact, inUse(30_200, 20_000), unused([40_200, 40_100], "two")],
      found: ["never-earlier"],
    },
    {
      name: "finds a last use that is published as ended before its end",
      uses: [one],
      states: [inUse(10_200, 10_000), unused([20_200, 20_100], "one", { endedByMs: 19_999 })],
      found: ["uncertainty", "last-user"],
    },
    {
      name: "finds a last use that has not ended",
      uses: [used("one", [10_000])],
      states: [
        {
          seenMs: 15_000,
          published: stored(false, 10_000, usedLast({ podUid: "uid-one", endedByMs: 14_000, uncertaintyMs: 1 })),
        },
      ],
      found: ["uncertainty"],
    },
    {
      name: "finds an uncertainty that excludes the truth",
      uses: [one],
      states: [inUse(10_200, 10_000), unused([21_200, 21_008], "one", { uncertaintyMs: 1_000 })],
      found: ["uncertainty"],
    },
    {
      name: "finds nothing in an uncertainty that excludes the truth by rounding",
      uses: [one],
      states: [inUse(10_200, 10_000), unused([21_200, 21_007], "one", { uncertaintyMs: 1_000 })],
      found: [],
    },
    {
      name: "finds a missing uncertainty of an end that the agent could scan",
      uses: [one],
      states: [inUse(10_200, 10_000), unused([29_000, 29_000], "one", { uncertaintyMs: undefined })],
      found: ["uncertainty"],
    },
    {
      name: "finds nothing in a missing uncertainty where no leader had answered the agent before the end",
      uses: [one],
      states: [inUse(23_000, 10_000), unused([29_000, 29_000], "one", { uncertaintyMs: undefined })],
      uptimes: {
        apiServer: [
          { fromMs: 0, toMs: 1_500 },
          { fromMs: 22_000, toMs: 100_000 },
        ],
      },
      found: [],
    },
    {
      name: "finds a missing uncertainty where a leader had answered the agent before the use",
      uses: [one],
      states: [inUse(23_000, 10_000), unused([29_000, 29_000], "one", { uncertaintyMs: undefined })],
      uptimes: {
        apiServer: [
          { fromMs: 0, toMs: 9_000 },
          { fromMs: 22_000, toMs: 100_000 },
        ],
      },
      found: ["uncertainty"],
    },
    {
      name: "finds nothing in a missing uncertainty where the agent could not scan",
      uses: [one],
      states: [inUse(10_200, 10_000), unused([29_000, 29_000], "one", { uncertaintyMs: undefined })],
      uptimes: { agents: { "node-a": [{ fromMs: 28_000, toMs: 100_000 }] } },
      found: [],
    },
    {
      name: "finds a last use by a pod that never existed",
      uses: [one],
      states: [inUse(10_200, 10_000), unused([20_200, 20_100], "nobody")],
      found: ["last-user"],
    },
    {
      name: "finds a claim that stays in use",
      uses: [one],
      states: [inUse(10_200, 10_000)],
      found: ["exact"],
    },
    {
      name: "finds a claim without a status",
      uses: [one],
      states: [{ seenMs: 1_000, published: undefined }],
      found: ["exact"],
    },
    {
      name: "finds a last use that is an earlier one, although the time is right",
      uses: [one, two],
      states: [...exact, inUse(30_200, 30_000), unused([40_200, 40_100], "one", { endedByMs: 20_100 })],
      found: ["last-user"],
    },
    {
      name: "finds a missing last use",
      uses: [one],
      states: [inUse(10_200, 10_000), unused([20_200, 20_100])],
      found: ["last-user"],
    },
    {
      name: "finds an end without its pod, although the agent could scan the mount",
      uses: [one],
      states: [inUse(10_200, 10_000), unused([20_200, 20_100], "one", { podUid: undefined })],
      found: ["last-user"],
    },
    {
      name: "accepts an end without its pod when no process could observe the pod",
      uses: [one, two],
      states: [...exact, unused([45_200, 45_000], "two", { podUid: undefined, uncertaintyMs: undefined })],
      uptimes: {
        agents: {
          "node-a": [
            { fromMs: 0, toMs: 29_000 },
            { fromMs: 44_000, toMs: 100_000 },
          ],
        },
        aggregators: [
          { fromMs: 0, toMs: 29_500 },
          { fromMs: 42_000, toMs: 100_000 },
        ],
        leaders: [
          { fromMs: 0, toMs: 29_500 },
          { fromMs: 43_000, toMs: 100_000 },
        ],
      },
      found: [],
    },
    {
      name: "finds an end without a pod that is not the end of the last use",
      uses: [one, two],
      states: [...exact, unused([40_200, 40_100], "one", { podUid: undefined, endedByMs: 20_100 })],
      uptimes: { leaders: [] },
      found: ["last-user"],
    },
    {
      name: "does not require the name of an unobserved use",
      uses: [one, two],
      states: [...exact, unused([45_200, 45_000], "one", { endedByMs: 20_100 })],
      uptimes: {
        agents: {
          "node-a": [
            { fromMs: 0, toMs: 29_000 },
            { fromMs: 44_000, toMs: 100_000 },
          ],
        },
        aggregators: [
          { fromMs: 0, toMs: 29_500 },
          { fromMs: 42_000, toMs: 100_000 },
        ],
        leaders: [
          { fromMs: 0, toMs: 29_500 },
          { fromMs: 43_000, toMs: 100_000 },
        ],
      },
      found: [],
    },
    {
      name: "requires it where a standby could watch the pod",
      uses: [one, two],
      states: [...exact, unused([45_200, 45_000], "one", { endedByMs: 20_100 })],
      uptimes: {
        agents: {
          "node-a": [
            { fromMs: 0, toMs: 29_000 },
            { fromMs: 44_000, toMs: 100_000 },
          ],
        },
        leaders: [
          { fromMs: 0, toMs: 29_500 },
          { fromMs: 43_000, toMs: 100_000 },
        ],
      },
      found: ["last-user"],
    },
    {
      name: "does not require it where that standby was killed before the publication",
      uses: [one, two],
      states: [...exact, unused([45_200, 45_000], "one", { endedByMs: 20_100 })],
      uptimes: {
        agents: { "node-a": [{ fromMs: 44_000, toMs: 100_000 }] },
        aggregators: [
          { fromMs: 0, toMs: 42_000 },
          { fromMs: 43_000, toMs: 100_000 },
        ],
        leaders: [{ fromMs: 43_000, toMs: 100_000 }],
      },
      found: [],
    },
    {
      name: "does not require it where the API server was down while the pod existed",
      uses: [one, two],
      states: [...exact, unused([45_200, 45_000], "one", { endedByMs: 20_100 })],
      uptimes: {
        agents: { "node-a": [{ fromMs: 44_000, toMs: 100_000 }] },
        apiServer: [
          { fromMs: 0, toMs: 30_500 },
          { fromMs: 38_900, toMs: 100_000 },
        ],
      },
      found: [],
    },
    {
      name: "accepts either of two uses that ended within the uncertainty as the last one",
      uses: [one, used("other", [12_000, 20_050])],
      states: [inUse(10_200, 10_000), unused([20_200, 20_100], "one")],
      found: [],
    },
    {
      name: "accepts an unobserved use as the last one, where the uncertainty is missing",
      uses: [used("unseen", [12_000, 13_000], { node: "node-b" }), one],
      states: [inUse(10_200, 10_000), unused([30_200, 30_100], "unseen", { uncertaintyMs: undefined })],
      uptimes: { agents: { "node-a": ALWAYS, "node-b": [{ fromMs: 30_000, toMs: 100_000 }] } },
      found: [],
    },
    {
      name: "does not accept a use as the last one that ended before another began",
      uses: [one, two],
      states: [
        ...exact,
        inUse(30_200, 30_000),
        unused([40_200, 40_100], "one", { endedByMs: 20_100, uncertaintyMs: 19_000 }),
      ],
      found: ["last-user"],
    },
    {
      name: "requires nothing of a claim that is in use again",
      uses: [one, used("two", [59_000, 70_000])],
      states: [...exact.slice(0, 1), unused([70_200, 70_100], "two")],
      found: [],
    },
    {
      name: "requires at a checkpoint only the ends from before it",
      uses: [one, two],
      states: exact,
      uptimes: { leaders: [{ fromMs: 0, toMs: 25_000 }] },
      checkpoint: 28_000,
      found: [],
    },
  ])("$name", (row) => {
    const rules = rulesOf(row);

    expect(rules).toEqual(row.found);
  });

  it("names the claim, the time and the reason", () => {
    const states = [inUse(10_200, 10_000), unused([20_200, 19_000], "one", { endedByMs: 20_100 })];
    const record = { uses: [one], claims: [{ claim: "claim", states }], uptimes: UP, checkpoints: [], kills: [] };

    const { findings } = judge(record);

    expect(findings).toEqual([
      {
        claim: "claim",
        promise: "never-longer",
        atMs: 20_200,
        text: expect.stringContaining("claim counts since 19000: the use by shop/one"),
      },
    ]);
  });
});
