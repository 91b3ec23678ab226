import { describe, expect, it } from "vitest";
import { judgeGone, judgeStranded } from "../../judge/deletions.ts";
import { chanceRows, seldomJudged } from "../../judge/tally.ts";
import { inUse, judged, unused } from "./cases.ts";

const MOUNT = { words: "shop/web has it mounted", isNew: false, excuse: undefined };
const LATE = { words: "shop/late has it mounted", isNew: false, excuse: "nobody was well since" };
const NEW = { words: "shop/new has it mounted", isNew: true, excuse: undefined };

describe("a protected claim that is gone", () => {
  it.each([
    { name: "and nothing has mounted", mounts: [], isForced: false, found: [] },
    { name: "while it is mounted", mounts: [MOUNT], isForced: false, found: ["protected"] },
    { name: "by override", mounts: [MOUNT], isForced: true, found: [] },
    {
      name: "of a mount that was not known",
      mounts: [LATE],
      isForced: false,
      found: ["excused: nobody was well since"],
    },
    { name: "of a mount that is new", mounts: [NEW], isForced: false, found: [] },
    { name: "of two, one new", mounts: [NEW, MOUNT], isForced: false, found: ["protected"] },
    {
      name: "of two, one known",
      mounts: [LATE, MOUNT],
      isForced: false,
      found: ["protected", "excused: nobody was well since"],
    },
  ])("$name", ({ mounts, isForced, found }) => {
    const gone = { name: "data", stored: unused(), mounts, isForced };

    expect(judged((docket) => judgeGone(docket, gone)).toSorted()).toEqual(found.toSorted());
  });
});

it("says of a claim that goes although it says that it is in use that it was not protected, however new its mount is", () => {
  const gone = { name: "data", stored: inUse(), mounts: [NEW], isForced: false };

  expect(judged((docket) => judgeGone(docket, gone))).toEqual(["protected"]);
});

describe("a claim that was deleted long ago", () => {
  it.each([
    { name: "is gone", isGone: true, isNeeded: false, excuse: undefined, found: [] },
    { name: "is there and needed", isGone: false, isNeeded: true, excuse: undefined, found: [] },
    { name: "is there for nothing", isGone: false, isNeeded: false, excuse: undefined, found: ["stranded"] },
    {
      name: "is there for its controller",
      isGone: false,
      isNeeded: false,
      excuse: "it waits",
      found: ["excused: it waits"],
    },
  ])("$name", ({ found, ...deleted }) => {
    expect(judged((docket) => judgeStranded(docket, { ...deleted, name: "data" }))).toEqual(found);
  });
});

describe("a tally", () => {
  const often = { judged: 90, excused: { "node given up": 10 } };
  const seldom = { judged: 89, excused: { "node given up": 7, "a lookalike": 4 } };

  it("names what was judged in less than nine of ten chances", () => {
    expect(seldomJudged({ exact: often, anew: seldom })).toEqual(["anew: 89 of 100"]);
  });

  it("says nothing of few chances", () => {
    expect(seldomJudged({ exact: { judged: 1, excused: { "a lookalike": 90 } } })).toEqual([]);
  });

  it("prints each excuse with its promise", () => {
    const rows = chanceRows({ exact: often }).map((row) => row.trim().replaceAll(/ +/g, " "));

    expect(rows).toEqual(["How often each promise was judged:", "exact 90", "excused: node given up 10"]);
  });
});
