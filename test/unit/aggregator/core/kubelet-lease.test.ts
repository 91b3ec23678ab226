import { describe, expect, it } from "vitest";
import { isFresh, isRenewed } from "../../../../aggregator/core/kubelet-lease.ts";
import { NOON } from "../world.ts";

describe("isFresh", () => {
  it.each([
    { name: "a kubelet that has just renewed lives", ageMs: 0, fresh: true },
    { name: "one that renewed within the Lease's duration lives", ageMs: 40_000, fresh: true },
    { name: "one that did not is not known to", ageMs: 40_001, fresh: false },
    { name: "one whose clock is a little ahead lives", ageMs: -5_000, fresh: true },
    { name: "one whose clock is far ahead would live for ever", ageMs: -5_001, fresh: false },
  ])("$name", ({ ageMs, fresh }) => {
    expect(isFresh({ renewedAtMs: NOON - ageMs, durationMs: 40_000 }, NOON)).toBe(fresh);
  });

  it("a kubelet without a Lease is not known to live", () => {
    expect(isFresh(undefined, NOON)).toBe(false);
  });
});

describe("isRenewed", () => {
  const renewal = { renewedAtMs: 0, durationMs: 40_000 };

  it.each([
    {
      name: "a kubelet whose Lease has changed lives, whatever its clock shows",
      before: { ...renewal, renewedAtMs: 9 },
      now: renewal,
      lives: true,
    },
    { name: "one whose clock went back lives", before: { ...renewal, renewedAtMs: NOON }, now: renewal, lives: true },
    { name: "one whose Lease is what it was is not known to live", before: renewal, now: renewal, lives: false },
    { name: "nothing is known from one look", before: undefined, now: renewal, lives: false },
    { name: "nothing is known of one whose Lease is gone", before: renewal, now: undefined, lives: false },
  ])("$name", ({ before, now, lives }) => {
    expect(isRenewed(before, now)).toBe(lives);
  });
});
