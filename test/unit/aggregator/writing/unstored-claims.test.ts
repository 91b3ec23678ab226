import { describe, expect, it } from "vitest";
import type { UnstoredClaim } from "../../../../aggregator/core/pod-watch/history.ts";
import { UnstoredClaims } from "../../../../aggregator/writing/unstored-claims.ts";
import type { Claim } from "../../../../common/storage/claim.ts";
import { claimWith, NOON, statusWith } from "../world.ts";

const UNUSED = statusWith({ unused: true, reason: "Unmounted", sinceMs: NOON - 7_200_000 });
describe("decisions that are not stored", () => {
  it("are not handed over where there are too many of them", () => {
    const claims = Array.from({ length: 101 }, (_, index) =>
      claimWith({ name: `c${index}`, uid: `u${index}`, status: UNUSED }),
    );
    const unstored = unstoredOf(claims);

    for (const claim of claims.slice(0, 100)) unstored.note(claim, UNUSED);
    const listed = unstored.list()?.length;
    for (const claim of claims) unstored.note(claim, UNUSED);

    expect(listed).toBe(100);
    expect(unstored.list()).toBeUndefined();
  });
});

/** No pod is known to have ended. */
const BEGIN = { nowMs: NOON, knows: () => false };

function unstoredOf(claims: readonly Claim[], inherited: readonly UnstoredClaim[] = []): UnstoredClaims {
  const unstored = new UnstoredClaims({ claims: () => claims });
  unstored.begin(inherited, BEGIN);
  return unstored;
}

describe("decisions that a predecessor could not store", () => {
  const inUse = statusWith({ sinceMs: UNUSED.sinceMs });
  it.each<readonly [name: string, status: typeof UNUSED, isKnown: boolean, sinceMs: number | undefined]>([
    ["counts as used until now", UNUSED, false, NOON],
    ["that this replica knows too is dated by its own end", UNUSED, true, undefined],
    ["of a claim that is stored in use waits for its nodes", inUse, false, undefined],
  ])("for an end without a date: one %s", (...[, status, isKnown, sinceMs]) => {
    const claim = claimWith({ status });
    const unstored = unstoredOf([claim]);

    unstored.begin([{ uid: "claim-1", sinceMs: undefined }], { ...BEGIN, knows: () => isKnown });

    expect(unstored.notBeforeMs(claim)).toBe(sinceMs);
  });

  it("are dropped with their claims", () => {
    const unstored = unstoredOf(
      [claimWith({ status: UNUSED })],
      [
        { uid: "gone", sinceMs: NOON },
        { uid: "claim-1", sinceMs: undefined },
      ],
    );

    expect(unstored.list()).toEqual([{ uid: "claim-1", sinceMs: NOON }]);
  });
});
