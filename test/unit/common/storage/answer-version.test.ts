import { describe, expect, it } from "vitest";
import { answerFor, reportPath } from "../../../../common/storage/answer-version.ts";

const ANSWER = { forget: ["r1"], nowMs: 5, volumes: [], holdRejections: "too many" };

describe("the version of answers", () => {
  it("is asked for in the path of reports", () => {
    expect(reportPath("/base", "node/a")).toBe("/base/v1/nodes/node%2Fa/report?answer=2");
  });

  it("is understood by who asks with that path", () => {
    const { searchParams } = new URL(reportPath("", "a"), "http://aggregator");

    expect(answerFor(searchParams, ANSWER)).toEqual(ANSWER);
  });

  it("is the first one unless asked", () => {
    expect(answerFor(new URLSearchParams(), ANSWER)).toEqual({ forget: ["r1"] });
  });
});
