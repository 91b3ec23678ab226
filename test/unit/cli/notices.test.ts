import { describe, expect, it } from "vitest";
import { useOf } from "../../../cli/claim-use.ts";
import { noticesFor } from "../../../cli/notices.ts";
import { claimOf, statusOf, unusedFor } from "./claims.ts";

const noMooring = "No claim has Mooring's condition: is the aggregator running?";
const noKubernetes =
  "Kubernetes' own Unused condition is absent: it needs Kubernetes 1.36 with the feature gate PersistentVolumeClaimUnusedSinceTime, or 1.37.";
const known = claimOf({ name: "a", status: statusOf("Unmounted", 1), upstream: unusedFor(1) });

function disagreeing(count: number): readonly ReturnType<typeof claimOf>[] {
  return Array.from({ length: count }, (_, index) =>
    claimOf({ name: `c${index + 1}`, status: statusOf("Mounted", 1), upstream: unusedFor(1) }),
  );
}

describe("noticesFor", () => {
  it.each([
    { name: "nothing where both have spoken", claims: [known, claimOf({ name: "b" })], said: [] },
    { name: "that Mooring is not there", claims: [claimOf({ name: "a", upstream: unusedFor(1) })], said: [noMooring] },
    {
      name: "that Kubernetes has no condition",
      claims: [claimOf({ name: "a", status: statusOf("Mounted", 1) })],
      said: [noKubernetes],
    },
    { name: "both", claims: [claimOf({ name: "a" })], said: [noMooring, noKubernetes] },
    {
      name: "nothing where no claim is bound, for then nobody would say anything",
      claims: [claimOf({ name: "a", phase: "Pending" }), claimOf({ name: "b", isDeleting: true })],
      said: [],
    },
    {
      name: "a disagreement",
      claims: [known, ...disagreeing(1)],
      said: ["1 claim is mounted although Kubernetes says unused; do not delete: shop/c1"],
    },
    {
      name: "many disagreements, but not all of their names",
      claims: disagreeing(7),
      said: [
        "7 claims are mounted although Kubernetes says unused; do not delete: shop/c1, shop/c2, shop/c3, shop/c4, shop/c5 and 2 more",
      ],
    },
  ])("says $name", ({ claims, said }) => {
    expect(noticesFor(claims.map(useOf), "all")).toEqual(said);
  });

  it("says where there are no claims", () => {
    expect(noticesFor([], { namespace: "shop" })).toEqual(["No claims in namespace shop."]);
    expect(noticesFor([], "all")).toEqual(["No claims in any namespace."]);
  });
});
