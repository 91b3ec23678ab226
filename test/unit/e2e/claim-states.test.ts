import { describe, expect, it } from "vitest";
import { type ClaimState, readWords, saidBy } from "../../e2e/scenarios/claim-states.ts";

const MOORING = {
  type: "mooring.dev/Unused",
  status: "True",
  reason: "Unmounted",
  lastTransitionTime: "1970-01-01T00:00:11Z",
};
const KUBERNETES = { ...MOORING, type: "Unused", status: "False", reason: "PodUsingPVC" };

describe("readWords", () => {
  it("tells Mooring's condition from Kubernetes' own", () => {
    expect(readWords({ status: { conditions: [KUBERNETES, MOORING] } })).toEqual({
      mooring: { status: "True", reason: "Unmounted", sinceMs: 11_000 },
      kubernetes: { status: "False", reason: "PodUsingPVC", sinceMs: 11_000 },
      lastUse: undefined,
    });
  });

  it.each([
    { name: "without a status", claim: {} },
    { name: "without conditions", claim: { status: {} } },
    {
      name: "with conditions of others",
      claim: { status: { conditions: [{ ...MOORING, type: "FileSystemResizePending" }] } },
    },
  ])("finds nothing in a claim $name", ({ claim }) => {
    expect(readWords(claim)).toEqual({ mooring: undefined, kubernetes: undefined, lastUse: undefined });
  });

  it.each([
    { name: "no claim", claim: "a text" },
    { name: "no time", claim: { status: { conditions: [{ ...MOORING, lastTransitionTime: "yesterday" }] } } },
  ])("refuses what is $name", ({ claim }) => {
    expect(() => readWords(claim)).toThrow();
  });
});

describe("saidBy", () => {
  const inUse = { status: "False", reason: "Mounted", sinceMs: 3_000 };
  const unused = { status: "True", reason: "Unmounted", sinceMs: 11_000 };
  const used = { status: "False", reason: "PodUsingPVC", sinceMs: 3_000 };

  it("tells each word once, when it was seen first", () => {
    const states: ClaimState[] = [
      { seenMs: 1, words: { mooring: undefined, kubernetes: undefined, lastUse: undefined } },
      { seenMs: 2, words: { mooring: inUse, kubernetes: undefined, lastUse: undefined } },
      { seenMs: 3, words: { mooring: inUse, kubernetes: used, lastUse: undefined } },
      { seenMs: 4, words: { mooring: unused, kubernetes: used, lastUse: undefined } },
      { seenMs: 5, words: { mooring: inUse, kubernetes: used, lastUse: undefined } },
      { seenMs: 6, words: "gone" },
    ];

    expect(saidBy("mooring", states).map(({ seenMs, status }) => [seenMs, status])).toEqual([
      [2, "False"],
      [4, "True"],
      [5, "False"],
    ]);
    expect(saidBy("kubernetes", states).map(({ seenMs }) => seenMs)).toEqual([3]);
  });

  it("tells a moved time", () => {
    const words = (sinceMs: number): ClaimState["words"] => ({
      mooring: { ...unused, sinceMs },
      kubernetes: undefined,
      lastUse: undefined,
    });

    const said = saidBy("mooring", [
      { seenMs: 1, words: words(11_000) },
      { seenMs: 2, words: words(12_000) },
    ]);

    expect(said.map(({ sinceMs }) => sinceMs)).toEqual([11_000, 12_000]);
  });
});
