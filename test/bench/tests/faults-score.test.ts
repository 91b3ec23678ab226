import { describe, expect, it } from "vitest";
import type { Seen } from "../../rig/faults/direct.ts";
import type { Delivery } from "../../rig/faults/ledger.ts";
import { type Score, score, total } from "../faults-score.ts";

/** `a1@3` is the object named a, the first of that name, at version 3. */
function seen(text: string): Seen {
  const [, key = "", uid = "", resourceVersion = ""] = /^([a-z]+)(\d+)@(\d+)$/.exec(text) ?? [];
  return { key, uid: `${key}${uid}`, resourceVersion };
}

const KINDS = { "+": "added", "~": "updated", "-": "deleted" } as const;

function deliveries(text: string): readonly Delivery[] {
  return text.split(" ").flatMap((word): Delivery[] => {
    const sign = word[0];
    return sign === "+" || sign === "~" || sign === "-" ? [{ kind: KINDS[sign], object: seen(word.slice(1)) }] : [];
  });
}

function list(text: string): readonly Seen[] {
  return text === "" ? [] : text.split(" ").map(seen);
}

const NOTHING: Score = { unseenStates: 0, unseenDeletions: 0, swapped: 0, stale: 0 };

describe("the score of a follower", () => {
  it.each([
    { name: "is 0 when all was reported", reported: "+a1@1 ~a1@2 +b1@3 -b1@4", fresh: "a1@2", lost: {} },
    { name: "is 0 when a re-creation was reported as one", reported: "+a1@1 -a1@2 +a2@3", fresh: "a2@3", lost: {} },
    {
      name: "counts a state that was never reported",
      reported: "+a1@1",
      fresh: "a1@2 b1@3",
      lost: { unseenStates: 2 },
    },
    {
      name: "counts a state that an older one has overwritten",
      reported: "+a1@2 ~a1@1",
      fresh: "a1@2",
      lost: { unseenStates: 1 },
    },
    {
      name: "counts a deletion that was never reported",
      reported: "+a1@1 +b1@2 -b1@3",
      fresh: "",
      lost: { unseenDeletions: 1 },
    },
    {
      name: "counts a re-creation that was reported as an update, and the deletion that it hides",
      reported: "+a1@1 ~a2@3",
      fresh: "a2@3",
      lost: { swapped: 1, unseenDeletions: 1 },
    },
    { name: "does not count what came and went unseen", reported: "", fresh: "", lost: {} },
  ])("$name", ({ reported, fresh, lost }) => {
    const found = score({ deliveries: deliveries(reported), stored: list(fresh), fresh: list(fresh) });

    expect(found).toEqual({ ...NOTHING, ...lost });
  });

  it.each([
    { name: "holds what is there", stored: "a1@1 b1@2", stale: 0 },
    { name: "lacks an object", stored: "a1@1", stale: 1 },
    { name: "has an old state", stored: "a1@1 b1@1", stale: 1 },
    { name: "has another object of the name", stored: "a2@1 b1@2", stale: 1 },
    { name: "has what is gone", stored: "a1@1 b1@2 c1@1", stale: 1 },
    { name: "did not answer", stored: "", stale: 2 },
  ])("counts what is wrong in a store that $name", ({ stored, stale }) => {
    const fresh = list("a1@1 b1@2");

    expect(score({ deliveries: deliveries("+a1@1 +b1@2"), stored: list(stored), fresh }).stale).toBe(stale);
  });

  it("adds up over collections", () => {
    const one: Score = { unseenStates: 1, unseenDeletions: 2, swapped: 3, stale: 4 };

    expect(total([one, one])).toEqual({ unseenStates: 2, unseenDeletions: 4, swapped: 6, stale: 8 });
  });
});
