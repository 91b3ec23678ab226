import { describe, expect, it } from "vitest";
import { type ClaimWrite, isSameStatus, writeFor } from "../../../../aggregator/core/claims/write.ts";
import type { Claim } from "../../../../common/storage/claim.ts";
import type { ClaimStatus } from "../../../../common/storage/claim-status.ts";
import { claimWith, mountedStatus, NOON, statusWith } from "../world.ts";
import { lastUseWith } from "./decisions.ts";

const unused = statusWith({ unused: true, reason: "Unmounted" });
const named = statusWith();
const mounted = mountedStatus(["n1"]);

/** Other managers' `unused-since` and `mounted-on`. */
const since = (fault: "wrong" | "unwanted") => ({ annotation: "mooring.dev/unused-since", managers: ["other"], fault });
const nodes = (fault: "wrong" | "unwanted") => ({ ...since(fault), annotation: "mooring.dev/mounted-on" });

function writeTo(claim: Partial<Claim>, desired: ClaimStatus | undefined): ClaimWrite | undefined {
  return writeFor({ claim: claimWith(claim), isEligible: true, desired });
}

describe("what is written for a claim", () => {
  type Write = Omit<ClaimWrite, "claim">;
  const status = (to: ClaimStatus, how: Partial<Write> = {}): Write => {
    return { status: to, unwanted: [], isNews: true, canWait: false, ...how };
  };
  const [repair, wait] = [{ isNews: false }, { canWait: true }];
  const clean = (...unwanted: readonly string[]): Write => ({ status: undefined, unwanted, ...repair, canWait: false });
  const [SINCE, NODES] = [since("wrong").annotation, nodes("wrong").annotation];

  it.each<readonly [name: string, claim: Partial<Claim>, desired: ClaimStatus | undefined, write: Write]>(
    // biome-ignore format: a row is a line
    [
      ["a first status: at once", {}, unused, status(unused)],
      ["another reason: it can wait", { status: named }, mounted, status(mounted, wait)],
      ["unwanted annotations: they are removed", { status: named, strays: [since("unwanted"), nodes("unwanted")] }, undefined, clean(SINCE, NODES)],
      ["one beside no condition, while nothing can be said yet: it is removed", { strays: [since("unwanted")] }, undefined, clean(SINCE)],
      ["a transition beside one: first that, which may be all", { status: named, strays: [since("unwanted")] }, unused, status(unused)],
      ["a wrong one beside one: first that", { status: unused, strays: [since("wrong"), nodes("unwanted")] }, undefined, status(unused, repair)],
    ],
  )("is for %s", (...[, claim, desired, write]) => {
    expect(writeTo(claim, desired)).toEqual({ claim: claimWith(claim), ...write });
  });

  it("is nothing at rest, whatever Kubernetes' own condition says", () => {
    expect(writeTo({ status: unused, upstream: { unused: false, sinceMs: NOON } }, unused)).toBeUndefined();
  });

  it("is nothing while the claim is not Bound", () => {
    const claim = claimWith({ status: unused, strays: [since("unwanted")] });

    expect(writeFor({ claim, isEligible: false, desired: mounted })).toBeUndefined();
  });
});

describe("isSameStatus", () => {
  const gap = { fromMs: NOON, toMs: NOON + 1 };
  it.each<readonly [name: string, same: boolean, change: Partial<ClaimStatus>]>([
    ["milliseconds that rounding up to the second hides", true, { sinceMs: NOON - 999 }],
    ["that there are more nodes", false, { mountedOn: { nodes: ["n1"], more: true } }],
    ["the begin of a gap by a millisecond", false, { gap: { ...gap, fromMs: NOON - 1 } }],
    ["the end of a gap by a millisecond", false, { gap: { ...gap, toMs: NOON + 2 } }],
  ])("a change of %s leaves the status the same: %s", (_, same, change) => {
    const stored = mountedStatus(["n1"], { lastUse: lastUseWith(), gap });

    expect(isSameStatus(stored, { ...stored, ...change })).toBe(same);
  });
});
