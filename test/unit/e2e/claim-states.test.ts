import { describe, expect, it } from "vitest";
import { type ClaimState, conditionsBy, readStatuses } from "../../e2e/scenarios/claim-states.ts";
import { gone, inUse, mooring, statusesOf, unused } from "./published.ts";

const METADATA = { uid: "uid", creationTimestamp: "1970-01-01T00:00:01Z" };
const MOORING = {
  type: "mooring.dev/Unused",
  status: "True",
  reason: "Unmounted",
  lastTransitionTime: "1970-01-01T00:00:11Z",
};
const KUBERNETES = { ...MOORING, type: "Unused", status: "False", reason: "PodUsingPVC" };

describe("readStatuses", () => {
  it("distinguishes Mooring's condition from Kubernetes' own", () => {
    expect(readStatuses({ metadata: METADATA, status: { conditions: [KUBERNETES, MOORING] } })).toEqual({
      mooring: expect.objectContaining({ isUnused: true, reason: "Unmounted", sinceMs: 11_000 }),
      kubernetes: { status: "False", reason: "PodUsingPVC", sinceMs: 11_000 },
      madeMs: 1_000,
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
    expect(readStatuses({ metadata: METADATA, ...claim })).toEqual(statusesOf({}));
  });

  it.each([
    { name: "no claim", claim: "a text" },
    {
      name: "without a time of Mooring",
      claim: { metadata: METADATA, status: { conditions: [{ ...MOORING, lastTransitionTime: "yesterday" }] } },
    },
    {
      name: "without a time of Kubernetes",
      claim: { metadata: METADATA, status: { conditions: [{ ...KUBERNETES, lastTransitionTime: "yesterday" }] } },
    },
  ])("refuses what is $name", ({ claim }) => {
    expect(() => readStatuses(claim)).toThrow();
  });
});

describe("conditionsBy", () => {
  const named = { status: "False", reason: "PodUsingPVC", sinceMs: 3_000 };

  it("returns each status once, when it was first observed", () => {
    const states: ClaimState[] = [
      { seenMs: 1, statuses: statusesOf({}) },
      { seenMs: 2, statuses: statusesOf({ mooring: inUse }) },
      { seenMs: 3, statuses: statusesOf({ mooring: inUse, kubernetes: named }) },
      { seenMs: 4, statuses: statusesOf({ mooring: unused(11_000), kubernetes: named }) },
      { seenMs: 5, statuses: statusesOf({ mooring: inUse, kubernetes: named }) },
      gone(6),
    ];

    expect(conditionsBy("mooring", states).map(({ seenMs, status }) => [seenMs, status])).toEqual([
      [2, "False"],
      [4, "True"],
      [5, "False"],
    ]);
    expect(conditionsBy("kubernetes", states).map(({ seenMs }) => seenMs)).toEqual([3]);
  });

  it("returns a moved time", () => {
    const said = conditionsBy("mooring", mooring([1, unused(11_000)], [2, unused(12_000)]));

    expect(said.map(({ sinceMs }) => sinceMs)).toEqual([11_000, 12_000]);
  });
});
