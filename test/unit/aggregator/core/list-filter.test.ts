import { describe, expect, it } from "vitest";
import { asksFor, readFilter } from "../../../../aggregator/core/list-filter.ts";

const ALLOWED = ["namespace", "name"];
const LONG = "x".repeat(81);
const STREAMED = "; lists are streamed, not paged, as of api.mooring.dev/v2: update the client";

function problemsOf(query: string): readonly string[] {
  const read = readFilter(ALLOWED, new URLSearchParams(query));
  return read.kind === "problems" ? read.problems : [];
}

describe("the parameters of a list", () => {
  it.each([
    { name: "without one, everything", query: "", asked: ["shop", "lab"] },
    { name: "one value", query: "namespace=shop", asked: ["shop"] },
    { name: "any of several values", query: "namespace=shop&namespace=lab", asked: ["shop", "lab"] },
    { name: "another parameter says nothing about it", query: "name=data", asked: ["shop", "lab"] },
  ])("select $name", ({ query, asked }) => {
    const read = readFilter(ALLOWED, new URLSearchParams(query));

    const filter = read.kind === "filter" ? read.filter : new Map([["namespace", new Set<string>()]]);
    expect(["shop", "lab"].filter((one) => asksFor(filter, "namespace", one))).toEqual(asked);
  });

  it.each([
    {
      name: "an unknown one, with those allowed",
      query: "status=x",
      problem: 'parameter "status"; allowed: namespace, name',
    },
    { name: "one of paged lists", query: "limit=5", problem: `parameter "limit"; allowed: namespace, name${STREAMED}` },
    { name: "the other one of them", query: "continue=x", problem: `"continue"; allowed: namespace, name${STREAMED}` },
    { name: "the longest name that is shown whole", query: `${LONG.slice(1)}=1`, problem: `"${LONG.slice(1)}";` },
    { name: "the begin of a longer one", query: `${LONG}=1`, problem: `"${LONG.slice(1)}…";` },
    { name: "an empty value", query: "name=", problem: "name: empty" },
  ])("have a problem that names $name", ({ query, problem }) => {
    const [first = "", ...others] = problemsOf(query);

    expect(first.endsWith(problem) || first.includes(`unknown parameter ${problem}`)).toBe(true);
    expect(others).toEqual([]);
  });

  it("have twenty problems at most", () => {
    expect(problemsOf(Array.from({ length: 21 }, (_, index) => `p${index}=1`).join("&"))).toHaveLength(20);
  });
});
