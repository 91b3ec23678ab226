import { describe, expect, it } from "vitest";
import { sortUses, useOf } from "../../../cli/claim-use.ts";
import { claimOf, HOUR_MS, lastUseOf, NOW_MS, statusOf, unusedFor } from "./claims.ts";

describe("useOf", () => {
  it.each([
    { name: "a mounted volume", claim: { status: statusOf("Mounted", 1) }, status: "Mounted", evidence: "mount-table" },
    {
      name: "a pod's name",
      claim: { status: statusOf("Referenced", 1) },
      status: "Referenced",
      evidence: "pod-status",
    },
    { name: "an unmount", claim: { status: statusOf("Unmounted", 1) }, status: "Unused", evidence: "mount-table" },
    { name: "a pod's end", claim: { status: statusOf("NoPodUsing", 1) }, status: "Unused", evidence: "pod-status" },
    { name: "a lost node", claim: { status: statusOf("NodeGone", 1) }, status: "Unused", evidence: "node-gone" },
    {
      name: "a claim that was never seen in use",
      claim: { status: statusOf("NeverObservedInUse", 1) },
      status: "Unused",
      evidence: "first-seen",
    },
    { name: "a bound claim without condition", claim: {}, status: "NotWatched", evidence: undefined },
    { name: "a pending claim", claim: { phase: "Pending" }, status: "NotBound", evidence: undefined },
    {
      name: "a lost claim that kept its condition",
      claim: { phase: "Lost", status: statusOf("Unmounted", 1) },
      status: "Unused",
      evidence: "mount-table",
    },
  ])("$name makes it $status by $evidence", ({ claim, status, evidence }) => {
    expect(useOf(claimOf({ name: "a", ...claim }))).toMatchObject({ status, evidence });
  });

  it("takes the time's evidence from the reason: the last use can be an earlier one", () => {
    const status = statusOf("NoPodUsing", 1, { lastUse: lastUseOf({ evidence: "mount-table" }) });

    expect(useOf(claimOf({ name: "a", status })).evidence).toBe("pod-status");
  });

  it.each([
    {
      name: "the nodes that have it mounted",
      status: statusOf("Mounted", 1, { mountedOn: { nodes: ["a", "b"], more: true }, lastUse: lastUseOf() }),
      nodes: ["a", "b"],
      more: true,
    },
    {
      name: "the last node",
      status: statusOf("Unmounted", 1, { lastUse: lastUseOf() }),
      nodes: ["node-b"],
      more: false,
    },
    { name: "no node", status: statusOf("NeverObservedInUse", 1), nodes: [], more: false },
    {
      name: "no node while those that have it mounted are not readable",
      status: statusOf("Mounted", 1, { mountedOn: undefined, lastUse: lastUseOf() }),
      nodes: [],
      more: false,
    },
  ])("names $name", ({ status, nodes, more }) => {
    expect(useOf(claimOf({ name: "a", status }))).toMatchObject({ nodes, omittedNodes: more ? "some" : 0 });
  });

  it.each([
    {
      name: "mounted, and unused for Kubernetes: it does",
      reason: "Mounted",
      upstream: unusedFor(1),
      unusedWhileMounted: true,
    },
    {
      name: "mounted, and in use for Kubernetes: it does not",
      reason: "Mounted",
      upstream: { unused: false, sinceMs: NOW_MS },
      unusedWhileMounted: false,
    },
    {
      name: "mounted without Kubernetes' own condition does not",
      reason: "Mounted",
      upstream: undefined,
      unusedWhileMounted: false,
    },
    {
      name: "only referenced, and unused for Kubernetes, which ignores a pod that is ending: it does not",
      reason: "Referenced",
      upstream: unusedFor(1),
      unusedWhileMounted: false,
    },
    { name: "unused for both: it does not", reason: "Unmounted", upstream: unusedFor(9), unusedWhileMounted: false },
  ] as const)(
    "whether Kubernetes calls it unused while it is mounted: $name",
    ({ reason, upstream, unusedWhileMounted }) => {
      expect(useOf(claimOf({ name: "a", status: statusOf(reason, 1), upstream })).unusedWhileMounted).toBe(
        unusedWhileMounted,
      );
    },
  );
});

describe("sortUses", () => {
  it("puts what was unused longest first and what must stay last", () => {
    const claims = [
      claimOf({ name: "wrong", status: statusOf("Mounted", 900), upstream: unusedFor(1) }),
      claimOf({ name: "mounted-1h", status: statusOf("Mounted", 1) }),
      claimOf({ name: "mounted-9h", status: statusOf("Mounted", 9) }),
      claimOf({ name: "referenced", status: statusOf("Referenced", 99) }),
      claimOf({ name: "pending", phase: "Pending" }),
      claimOf({ name: "unwatched", upstream: { unused: false, sinceMs: NOW_MS - 900 * HOUR_MS } }),
      claimOf({ name: "unwatched-idle-1h", upstream: unusedFor(1) }),
      claimOf({ name: "unwatched-idle-9h", upstream: unusedFor(9) }),
      claimOf({ name: "unused-1h", status: statusOf("Unmounted", 1) }),
      claimOf({ name: "unused-9h", status: statusOf("NeverObservedInUse", 9) }),
    ];

    const sorted = sortUses(claims.map(useOf));

    expect(sorted.map(({ claim }) => claim.name)).toEqual([
      ...["unused-9h", "unused-1h"],
      ...["unwatched-idle-9h", "unwatched-idle-1h", "unwatched"],
      "pending",
      "referenced",
      ...["mounted-9h", "mounted-1h"],
      "wrong",
    ]);
  });

  it("goes by namespace and name where the times are equal", () => {
    const claims = [
      claimOf({ namespace: "b", name: "a" }),
      claimOf({ namespace: "a", name: "b" }),
      claimOf({ namespace: "a", name: "a" }),
    ];

    const sorted = sortUses(claims.map(useOf));

    expect(sorted.map(({ claim }) => claim.key)).toEqual(["a/a", "a/b", "b/a"]);
  });
});
