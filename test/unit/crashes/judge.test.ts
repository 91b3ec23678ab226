import { describe, expect, it } from "vitest";
import { judge } from "../../crashes/judge.ts";
import type { CrashRecord, Lives, StoredState, TrueUse } from "../../crashes/record.ts";
import type { PublishedUse } from "../../judge/published.ts";
import { stored, usedLast } from "./stored.ts";

/** All times of the rows are milliseconds from here on. */
const ALWAYS = [{ fromMs: 0, toMs: 1_000_000 }];
const UP: Lives = {
  agents: { "node-a": ALWAYS, "node-b": ALWAYS },
  aggregators: ALWAYS,
  leaders: ALWAYS,
  apiServer: ALWAYS,
};

/** `used("one", [10_000, 20_000])`: mounted by a pod of this name from the one until the other moment, each call taking 5 ms. */
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

const inUse = (seenMs: number, sinceMs: number): StoredState => ({ seenMs, words: stored(false, sinceMs) });

/** Unused since a time; by the pod of this name, which is said to have ended up to 300 ms before `releasedAtMs`. */
function unused(
  [seenMs, sinceMs]: readonly [number, number],
  name?: string,
  use: Partial<PublishedUse> = {},
): StoredState {
  const told = usedLast({ podUid: `uid-${name}`, releasedAtMs: sinceMs, uncertaintyMs: 300, ...use });
  return { seenMs, words: stored(true, sinceMs, name === undefined ? undefined : told) };
}

interface Row {
  readonly name: string;
  readonly uses: readonly TrueUse[];
  readonly states: readonly StoredState[];
  readonly lives?: Partial<Lives>;
  readonly checkpoint?: number;
  readonly found: readonly string[];
}

function rulesOf({ uses, states, lives, checkpoint = 60_000 }: Row): readonly string[] {
  const record: CrashRecord = {
    uses,
    claims: [{ claim: "claim", states }],
    lives: { ...UP, ...lives },
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
const told = [inUse(10_200, 10_000), unused([20_200, 20_100], "one")];

describe("the judge of crashes", () => {
  it.each<Row>([
    { name: "finds nothing in a claim that nobody used", uses: [], states: [unused([1_000, 1_000])], found: [] },
    { name: "finds nothing in a use that is told to the point", uses: [one], states: told, found: [] },
    {
      name: "finds nothing in a time at the very begin of the call that unmounted",
      uses: [one],
      states: [inUse(10_200, 10_000), unused([20_200, 20_000], "one")],
      found: [],
    },
    {
      name: "finds nothing in a claim that counts as unused for the moment until a mount is known",
      uses: [one],
      states: [unused([9_000, 9_000]), unused([10_900, 9_500]), ...told],
      found: [],
    },
    {
      name: "sees a time that is a millisecond before the end",
      uses: [one],
      states: [inUse(10_200, 10_000), unused([20_200, 19_999], "one", { releasedAtMs: 20_100 })],
      found: ["never-longer"],
    },
    {
      name: "sees a time of the use before the last one",
      uses: [one, two],
      states: [...told, inUse(30_200, 30_000), unused([40_200, 30_500], "one", { releasedAtMs: 20_100 })],
      found: ["never-longer", "last-user"],
    },
    {
      name: "sees the same when it is put right later",
      uses: [one, two],
      states: [
        ...told,
        inUse(30_200, 30_000),
        unused([40_200, 30_500], "one", { releasedAtMs: 20_100 }),
        unused([40_900, 40_100], "two"),
      ],
      found: ["never-longer"],
    },
    {
      name: "sees True in the middle of a use",
      uses: [one],
      states: [inUse(10_200, 10_000), unused([15_000, 15_000]), inUse(15_200, 15_100), unused([20_200, 20_100], "one")],
      found: ["never-unused-while-mounted"],
    },
    {
      name: "sees True while one of two nodes has it mounted",
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
      name: "sees a mount that is never told although all are up",
      uses: [one],
      states: [unused([1_000, 1_000]), unused([20_200, 20_100], "one")],
      found: ["never-unused-while-mounted"],
    },
    {
      name: "does not ask for a mount to be told that its agent does not see",
      uses: [one],
      states: [unused([1_000, 1_000]), unused([30_200, 30_100], "one", { uncertaintyMs: 20_000 })],
      lives: {
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
      name: "does not ask for a mount to be told where nobody leads",
      uses: [one],
      states: [unused([1_000, 1_000]), unused([20_200, 20_100], "one")],
      lives: {
        leaders: [
          { fromMs: 0, toMs: 9_000 },
          { fromMs: 15_000, toMs: 100_000 },
        ],
      },
      found: [],
    },
    {
      name: "sees a mount that is not told although all have been up again for long",
      uses: [one],
      states: [unused([1_000, 1_000]), unused([20_200, 20_100], "one")],
      lives: {
        leaders: [
          { fromMs: 0, toMs: 9_000 },
          { fromMs: 12_000, toMs: 100_000 },
        ],
      },
      found: ["never-unused-while-mounted"],
    },
    {
      name: "sees a time that moves back",
      uses: [one],
      states: [
        inUse(10_200, 10_000),
        unused([20_200, 21_000], "one", { uncertaintyMs: 2_000 }),
        unused([20_900, 20_100], "one"),
      ],
      found: ["never-earlier"],
    },
    {
      name: "sees a time that moves back with a change to False",
      uses: [one, two],
      states: [...told, inUse(30_200, 20_000), unused([40_200, 40_100], "two")],
      found: ["never-earlier"],
    },
    {
      name: "sees a last use that is said to have ended before it did",
      uses: [one],
      states: [inUse(10_200, 10_000), unused([20_200, 20_100], "one", { releasedAtMs: 19_999 })],
      found: ["uncertainty", "last-user"],
    },
    {
      name: "sees a last use that goes on",
      uses: [used("one", [10_000])],
      states: [
        {
          seenMs: 15_000,
          words: stored(false, 10_000, usedLast({ podUid: "uid-one", releasedAtMs: 14_000, uncertaintyMs: 1 })),
        },
      ],
      found: ["uncertainty"],
    },
    {
      name: "sees an uncertainty that leaves out the truth",
      uses: [one],
      states: [inUse(10_200, 10_000), unused([21_200, 21_008], "one", { uncertaintyMs: 1_000 })],
      found: ["uncertainty"],
    },
    {
      name: "finds nothing in an uncertainty that leaves out the truth by what was rounded",
      uses: [one],
      states: [inUse(10_200, 10_000), unused([21_200, 21_007], "one", { uncertaintyMs: 1_000 })],
      found: [],
    },
    {
      name: "sees that nothing is said of how sure an end is that its agent could see",
      uses: [one],
      states: [inUse(10_200, 10_000), unused([29_000, 29_000], "one", { uncertaintyMs: undefined })],
      found: ["uncertainty"],
    },
    {
      name: "finds nothing in an uncertainty that is not known where its agent could see nothing",
      uses: [one],
      states: [inUse(10_200, 10_000), unused([29_000, 29_000], "one", { uncertaintyMs: undefined })],
      lives: { agents: { "node-a": [{ fromMs: 28_000, toMs: 100_000 }] } },
      found: [],
    },
    {
      name: "sees a last use by a pod that never was",
      uses: [one],
      states: [inUse(10_200, 10_000), unused([20_200, 20_100], "nobody")],
      found: ["last-user"],
    },
    {
      name: "sees a claim that stays in use",
      uses: [one],
      states: [inUse(10_200, 10_000)],
      found: ["exact"],
    },
    {
      name: "sees a claim of which nothing is said",
      uses: [one],
      states: [{ seenMs: 1_000, words: undefined }],
      found: ["exact"],
    },
    {
      name: "sees a last use that is an earlier one, although the time is right",
      uses: [one, two],
      states: [...told, inUse(30_200, 30_000), unused([40_200, 40_100], "one", { releasedAtMs: 20_100 })],
      found: ["last-user"],
    },
    {
      name: "sees that nothing is said of the last use",
      uses: [one],
      states: [inUse(10_200, 10_000), unused([20_200, 20_100])],
      found: ["last-user"],
    },
    {
      name: "sees an end that is told without the pod that its agent could see",
      uses: [one],
      states: [inUse(10_200, 10_000), unused([20_200, 20_100], "one", { podUid: undefined })],
      found: ["last-user"],
    },
    {
      name: "does not take an end for lost that is told, although its pod is not, which nobody saw",
      uses: [one, two],
      states: [...told, unused([45_200, 45_000], "two", { podUid: undefined, uncertaintyMs: undefined })],
      lives: {
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
      name: "sees an end without a pod that is not that of the last use",
      uses: [one, two],
      states: [...told, unused([40_200, 40_100], "one", { podUid: undefined, releasedAtMs: 20_100 })],
      lives: { leaders: [] },
      found: ["last-user"],
    },
    {
      name: "does not ask for the name of a use that went unobserved",
      uses: [one, two],
      states: [...told, unused([45_200, 45_000], "one", { releasedAtMs: 20_100 })],
      lives: {
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
      name: "asks for it where a standby could see the pod",
      uses: [one, two],
      states: [...told, unused([45_200, 45_000], "one", { releasedAtMs: 20_100 })],
      lives: {
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
      name: "does not ask for it where that one was killed before it had told",
      uses: [one, two],
      states: [...told, unused([45_200, 45_000], "one", { releasedAtMs: 20_100 })],
      lives: {
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
      name: "does not ask for it where no API server told of the pod while it was there",
      uses: [one, two],
      states: [...told, unused([45_200, 45_000], "one", { releasedAtMs: 20_100 })],
      lives: {
        agents: { "node-a": [{ fromMs: 44_000, toMs: 100_000 }] },
        apiServer: [
          { fromMs: 0, toMs: 30_500 },
          { fromMs: 38_900, toMs: 100_000 },
        ],
      },
      found: [],
    },
    {
      name: "takes either of two uses that ended within the uncertainty for the last one",
      uses: [one, used("other", [12_000, 20_050])],
      states: [inUse(10_200, 10_000), unused([20_200, 20_100], "one")],
      found: [],
    },
    {
      name: "takes a use that no agent could see for the last one, where the uncertainty is not known",
      uses: [used("unseen", [12_000, 13_000], { node: "node-b" }), one],
      states: [inUse(10_200, 10_000), unused([30_200, 30_100], "unseen", { uncertaintyMs: undefined })],
      lives: { agents: { "node-a": ALWAYS, "node-b": [{ fromMs: 30_000, toMs: 100_000 }] } },
      found: [],
    },
    {
      name: "does not take a use for the last one that ended before another began",
      uses: [one, two],
      states: [
        ...told,
        inUse(30_200, 30_000),
        unused([40_200, 40_100], "one", { releasedAtMs: 20_100, uncertaintyMs: 19_000 }),
      ],
      found: ["last-user"],
    },
    {
      name: "asks for nothing of a claim that is in use again",
      uses: [one, used("two", [59_000, 70_000])],
      states: [...told.slice(0, 1), unused([70_200, 70_100], "two")],
      found: [],
    },
    {
      name: "asks at a checkpoint only for what was over by then",
      uses: [one, two],
      states: told,
      lives: { leaders: [{ fromMs: 0, toMs: 25_000 }] },
      checkpoint: 28_000,
      found: [],
    },
  ])("$name", (row) => {
    const rules = rulesOf(row);

    expect(rules).toEqual(row.found);
  });

  it("says which claim, when and why", () => {
    const states = [inUse(10_200, 10_000), unused([20_200, 19_000], "one", { releasedAtMs: 20_100 })];
    const record = { uses: [one], claims: [{ claim: "claim", states }], lives: UP, checkpoints: [], kills: [] };

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
