import { describe, expect, it } from "vitest";
import { judgeGone, judgeStranded } from "../../judge/deletions.ts";
import { chanceRows, seldomJudged } from "../../judge/tally.ts";
import { inUse, judged, unused } from "./cases.ts";

const MOUNT = { text: "shop/web has it mounted", isNew: false, excuse: undefined };
const LATE = { text: "shop/late has it mounted", isNew: false, excuse: "no leader without faults" };
const NEW = { text: "shop/new has it mounted", isNew: true, excuse: undefined };

describe("a protected claim that is gone", () => {
  it.each([
    { name: "without a mount", mounts: [], isOverridden: false, found: [] },
    { name: "while it is mounted", mounts: [MOUNT], isOverridden: false, found: ["protected"] },
    { name: "by override", mounts: [MOUNT], isOverridden: true, found: [] },
    {
      name: "with a mount that Mooring could not know",
      mounts: [LATE],
      isOverridden: false,
      found: ["excused: no leader without faults"],
    },
    { name: "with a new mount", mounts: [NEW], isOverridden: false, found: [] },
    { name: "with two mounts, one of them new", mounts: [NEW, MOUNT], isOverridden: false, found: ["protected"] },
    {
      name: "with two mounts, one of them known",
      mounts: [LATE, MOUNT],
      isOverridden: false,
      found: ["protected", "excused: no leader without faults"],
    },
  ])("$name", ({ mounts, isOverridden, found }) => {
    const gone = { name: "data", stored: unused(), mounts, isOverridden };

    expect(judged((docket) => judgeGone(docket, gone)).toSorted()).toEqual(found.toSorted());
  });
});

it("finds that a claim with the status in use was not protected, however new its mount is", () => {
  const gone = { name: "data", stored: inUse(), mounts: [NEW], isOverridden: false };

  expect(judged((docket) => judgeGone(docket, gone))).toEqual(["protected"]);
});

describe("a claim that was deleted long ago", () => {
  it.each([
    { name: "is gone", isGone: true, isNeeded: false, excuse: undefined, found: [] },
    { name: "exists and is in use", isGone: false, isNeeded: true, excuse: undefined, found: [] },
    { name: "exists without a reason", isGone: false, isNeeded: false, excuse: undefined, found: ["stranded"] },
    {
      name: "exists because its controller still retries",
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
  const often = { judged: 90, excused: { "node declared gone": 10 } };
  const seldom = { judged: 89, excused: { "node declared gone": 7, "the same name": 4 } };

  it("names the promises that were judged in less than nine of ten chances", () => {
    expect(seldomJudged({ exact: often, anew: seldom })).toEqual(["anew: 89 of 100"]);
  });

  it("ignores promises with few chances", () => {
    expect(seldomJudged({ exact: { judged: 1, excused: { "the same name": 90 } } })).toEqual([]);
  });

  it("prints each excuse with its promise", () => {
    const rows = chanceRows({ exact: often }).map((row) => row.trim().replaceAll(/ +/g, " "));

    expect(rows).toEqual(["How often each promise was judged:", "exact 90", "excused: node declared gone 10"]);
  });
});
