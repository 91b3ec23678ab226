import { describe, expect, it } from "vitest";
import { answerFor, reportPath } from "../../../../common/storage/answer-version.ts";
import type { ReportAnswer } from "../../../../common/storage/node-report.ts";

const FIRST: ReportAnswer = { forget: ["r1"], reach: "7", whole: true };
const SECOND: ReportAnswer = { ...FIRST, look: true, nowMs: 5, volumes: [], holdRejections: "too many" };
const ALL: ReportAnswer = { ...SECOND, session: "s1" };

function answered(query: string): ReportAnswer {
  return answerFor(new URLSearchParams(query), ALL);
}

describe("the version of answers", () => {
  it("is asked for in the path of reports", () => {
    expect(reportPath("/base", "node/a")).toBe("/base/v1/nodes/node%2Fa/report?answer=3");
  });

  it("is understood by who asks with that path", () => {
    const { search } = new URL(reportPath("", "a"), "http://aggregator");

    expect(answered(search)).toEqual(ALL);
  });

  it("names no session to who asks for the second one", () => {
    expect(answered("answer=2")).toEqual(SECOND);
  });

  it.each(["answer=3", "answer=4", "answer=12", "answer=0003"])("is the newest for %s", (query) => {
    expect(answered(query)).toEqual(ALL);
  });

  it.each([
    { query: "" },
    { query: "other=2" },
    { query: "answer=" },
    { query: "answer=0" },
    { query: "answer=1" },
    { query: "answer=-2" },
    { query: "answer=2e1" },
    { query: "answer=two" },
    { query: "answer=20000" },
  ])('is the first one for who asks with "$query"', ({ query }) => {
    expect(answered(query)).toEqual(FIRST);
  });

  it("says nothing of the first one that is not said", () => {
    expect(JSON.stringify(answerFor(new URLSearchParams(), { forget: [] }))).toBe('{"forget":[]}');
    expect(Object.keys(answerFor(new URLSearchParams(), { forget: [] }))).toEqual(["forget"]);
  });
});
