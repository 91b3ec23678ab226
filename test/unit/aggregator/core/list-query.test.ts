import { describe, expect, it } from "vitest";
import {
  choiceParameter,
  durationParameter,
  flagParameter,
  nameParameter,
  numberParameter,
  onceParameter,
  readQuery,
} from "../../../../aggregator/core/list-query.ts";

const NAMESPACE = nameParameter("namespace");
const STATUS = choiceParameter("status", ["Mounted", "Unused"]);
const SORT = onceParameter("sort", ["key", "idle"]);
const DISAGREES = flagParameter("disagrees");
const LIMIT = numberParameter("limit", { least: 1, most: 1_000 });
const UNUSED_FOR = durationParameter("unusedFor");
const PARAMETERS = [NAMESPACE, STATUS, SORT, DISAGREES, LIMIT, UNUSED_FOR];

function read(text: string) {
  return readQuery(PARAMETERS, [...new URLSearchParams(text)]);
}

describe("readQuery", () => {
  it("gives each parameter's values, and nothing for those that are not there", () => {
    const result = read("namespace=shop&disagrees=false&namespace=team-b.x&limit=20&unusedFor=1d12h&status=Unused");

    if (result.kind !== "query") throw new Error(result.problems.join());
    const { all, one } = result.query;
    expect(all(NAMESPACE)).toEqual(["shop", "team-b.x"]);
    expect([one(DISAGREES), one(LIMIT), one(UNUSED_FOR), one(SORT)]).toEqual([false, 20, 36 * 3_600_000, undefined]);
    expect(all(STATUS)).toEqual(["Unused"]);
  });

  it.each([
    {
      name: "an unknown parameter",
      query: "namespaces=shop",
      problem: 'unknown parameter "namespaces"; allowed: namespace, status, sort, disagrees, limit, unusedFor',
    },
    {
      name: "a word that is none of those",
      query: "status=unused",
      problem: 'status: "unused"; allowed: Mounted, Unused',
    },
    { name: "a number that is too small", query: "limit=0", problem: 'limit: "0"; allowed: a number from 1 to 1000' },
    {
      name: "a number that is too large",
      query: "limit=1001",
      problem: 'limit: "1001"; allowed: a number from 1 to 1000',
    },
    { name: "a number with a sign", query: "limit=-1", problem: 'limit: "-1"; allowed: a number from 1 to 1000' },
    { name: "no number", query: "limit=1e2", problem: 'limit: "1e2"; allowed: a number from 1 to 1000' },
    { name: "a flag that is neither", query: "disagrees=1", problem: 'disagrees: "1"; allowed: true, false' },
    { name: "an empty flag", query: "disagrees", problem: 'disagrees: ""; allowed: true, false' },
    {
      name: "a time without a unit",
      query: "unusedFor=30",
      problem: 'unusedFor: "30"; allowed: a time like 90s, 12h, 30d or 1d12h',
    },
    {
      name: "a negative time",
      query: "unusedFor=-1d",
      problem: 'unusedFor: "-1d"; allowed: a time like 90s, 12h, 30d or 1d12h',
    },
    {
      name: "an empty name",
      query: "namespace=",
      problem: 'namespace: ""; allowed: a name: letters, digits, dashes and dots, at most 253',
    },
    {
      name: "a name that is a path",
      query: "namespace=a/b",
      problem: 'namespace: "a/b"; allowed: a name: letters, digits, dashes and dots, at most 253',
    },
    { name: "one that can only be given once", query: "limit=1&limit=2", problem: "limit: given more than once" },
    {
      name: "control characters without repeating them as they are",
      query: "status=%1b%5b2J",
      problem: 'status: "\\u001b[2J"; allowed: Mounted, Unused',
    },
    {
      name: "a long text without repeating all of it",
      query: `status=${"x".repeat(5_000)}`,
      problem: `status: "${"x".repeat(80)}…"; allowed: Mounted, Unused`,
    },
  ])("refuses $name", ({ query, problem }) => {
    expect(read(query)).toEqual({ kind: "problems", problems: [problem] });
  });

  it("tells all problems together", () => {
    expect(read("a=1&limit=x&b=2")).toMatchObject({ problems: { length: 3 } });
  });

  it("tells only the first of very many", () => {
    expect(read("a=1&".repeat(3_000))).toMatchObject({ problems: { length: 20 } });
  });
});

describe("durationParameter", () => {
  it.each([
    { text: "0s", ms: 0 },
    { text: "90s", ms: 90_000 },
    { text: "5m", ms: 300_000 },
    { text: "12h", ms: 43_200_000 },
    { text: "30d", ms: 2_592_000_000 },
    { text: "1d12h30m5s", ms: 131_405_000 },
    { text: "", ms: undefined },
    { text: "1.5h", ms: undefined },
    { text: "2w", ms: undefined },
    { text: "1h ", ms: undefined },
  ])('reads "$text" as $ms ms', ({ text, ms }) => {
    expect(UNUSED_FOR.parse(text)).toBe(ms);
  });
});
