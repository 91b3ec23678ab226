import { describe, expect, it } from "vitest";
import type { UnstoredClaim } from "../../../../aggregator/core/watch-history.ts";
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

/** Of no pod is known that it ended. */
const BEGIN = { nowMs: NOON, knows: () => false };

function unstoredOf(claims: readonly Claim[], inherited: readonly UnstoredClaim[] = []): UnstoredClaims {
  const byKey = new Map(claims.map((claim) => [claim.key, claim]));
  const unstored = new UnstoredClaims({ claim: (key) => byKey.get(key), claims: () => byKey.values() });
  unstored.begin(inherited, BEGIN);
  return unstored;
}

describe("decisions that a predecessor could not store", () => {
  it.each([
    { name: "counts as used until now", status: UNUSED, isKnown: false, sinceMs: NOON },
    { name: "that we know as well says more", status: UNUSED, isKnown: true, sinceMs: undefined },
    {
      name: "of a claim that is stored in use waits for its nodes",
      status: statusWith({ sinceMs: UNUSED.sinceMs }),
      isKnown: false,
      sinceMs: undefined,
    },
  ])("for an end that nobody has dated: one $name", ({ status, isKnown, sinceMs }) => {
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
