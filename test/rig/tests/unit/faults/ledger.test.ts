import { describe, expect, it } from "vitest";
import type { Seen } from "../../../faults/direct.ts";
import { type Delivery, ledgerProblems } from "../../../faults/ledger.ts";

/** `a1@3` is the object named a, the first of that name, at version 3. */
function seen(text: string): Seen {
  const [, key = "", uid = "", resourceVersion = ""] = /^([a-z]+)(\d+)@(\d+)$/.exec(text) ?? [];
  return { key, uid, resourceVersion };
}

const KINDS = { "+": "added", "~": "updated", "-": "deleted" } as const;

/** `+a1@3 ~a1@4 -a1@5`: an addition, an update and a deletion. */
function deliveries(text: string): readonly Delivery[] {
  return text.split(" ").flatMap((word): Delivery[] => {
    const sign = word[0];
    return sign === "+" || sign === "~" || sign === "-" ? [{ kind: KINDS[sign], object: seen(word.slice(1)) }] : [];
  });
}

function list(text: string): readonly Seen[] {
  return text === "" ? [] : text.split(" ").map(seen);
}

describe("what was delivered", () => {
  it.each([
    { name: "nothing, of nothing", told: "", fresh: "" },
    { name: "each object in its final state", told: "+a1@1 +b1@2 ~a1@3", fresh: "a1@3 b1@2" },
    { name: "a deletion", told: "+a1@1 -a1@2", fresh: "" },
    { name: "a re-creation as a deletion and an addition", told: "+a1@1 -a1@2 +a2@3", fresh: "a2@3" },
    { name: "a state again", told: "+a1@1 ~a1@1", fresh: "a1@1" },
  ])("has no problem when it was $name", ({ told, fresh }) => {
    expect(ledgerProblems(deliveries(told), { fresh: list(fresh), canReturn: false })).toEqual([]);
  });

  it.each([
    {
      name: "an object that was never delivered",
      told: "+a1@1",
      fresh: "a1@1 b1@2",
      problem: "b 1@2 was not delivered",
    },
    { name: "an old state", told: "+a1@1", fresh: "a1@3", problem: "a 1@3 was delivered as a 1@1" },
    { name: "what is gone", told: "+a1@1", fresh: "", problem: "a 1@1 is gone, and was not delivered as gone" },
    {
      name: "a re-creation as an update",
      told: "+a1@1 ~a2@3",
      fresh: "a2@3",
      problem: "a 2@3 was updated in the place of a 1@1",
    },
    {
      name: "a re-creation without the deletion",
      told: "+a1@1 +a2@3",
      fresh: "a2@3",
      problem: "a 2@3 was added in the place of a 1@1",
    },
    {
      name: "the deletion of what is there",
      told: "+a1@1 -a1@2",
      fresh: "a1@1",
      problem: "a 1@1 was delivered as gone, and is there",
    },
    {
      name: "what came back from the dead",
      told: "+a1@1 -a1@2 +a1@1 -a1@2",
      fresh: "",
      problem: "a 1@1 came back after it was gone",
    },
    {
      name: "an update of what is not there",
      told: "~a1@1",
      fresh: "a1@1",
      problem: "a 1@1 was updated and was not there",
    },
    {
      name: "a deletion of what is not there",
      told: "-a1@1",
      fresh: "",
      problem: "a 1@1 was deleted and was not there",
    },
    {
      name: "a deletion of another",
      told: "+a2@2 -a1@1",
      fresh: "",
      problem: "a 1@1 was deleted in the place of a 2@2",
    },
    {
      name: "an older state after a newer one",
      told: "+a1@5 ~a1@4 ~a1@5",
      fresh: "a1@5",
      problem: "a 1@4 was updated after a 1@5",
    },
  ])("has a problem: $name", ({ told, fresh, problem }) => {
    expect(ledgerProblems(deliveries(told), { fresh: list(fresh), canReturn: false })).toContain(problem);
  });

  it("may bring an object back that a selector chooses again", () => {
    const told = deliveries("+a1@1 -a1@2 +a1@3");

    expect(ledgerProblems(told, { fresh: list("a1@3"), canReturn: true })).toEqual([]);
  });

  it("compares versions as numbers", () => {
    const told = deliveries("+a1@9 ~a1@10");

    expect(ledgerProblems(told, { fresh: list("a1@10"), canReturn: false })).toEqual([]);
  });
});
