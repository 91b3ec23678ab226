import { describe, expect, it } from "vitest";
import type { EntryLookup } from "../../../../aggregator/core/api/list-entries.ts";
import { type ClaimObservation, claimEntryOf, useStatusOf } from "../../../../aggregator/core/api/list-entries.ts";
import type { Claim } from "../../../../common/storage/claim.ts";
import type { ClaimStatus } from "../../../../common/storage/claim-status.ts";
import { claimWith, mountedStatus, NOON, podWith, statusWith } from "../world.ts";
import { lastUseWith } from "./decisions.ts";

const LOOKUP: EntryLookup = {
  agentStates: { of: (node) => ({ kind: node === "n9" ? "Stale" : "Reporting" }) },
  fleet: { view: (node) => (node === "n5" ? undefined : {}) },
  cluster: {
    podByUid: (uid) => (uid === "pod-1" ? { key: "shop/web-0" } : undefined),
    isPodThere: (uid) => uid === "pod-1",
  },
};

function observationOf(fields: Partial<ClaimObservation> = {}): ClaimObservation {
  return { claim: claimWith(), use: { used: [], staged: [] }, references: [], pendingNodes: [], ...fields };
}

function mountedOn(...nodes: readonly string[]): ClaimObservation["use"] {
  return { used: nodes.map((node) => ({ node, pods: [{ uid: "pod-1", name: "shop/web-0" }] })), staged: [] };
}

const unused: Partial<ClaimStatus> = { unused: true, reason: "Unmounted", sinceMs: NOON };
const upstream = { unused: true, sinceMs: NOON + 1_000 };

describe("useStatusOf", () => {
  it.each<readonly [name: string, expected: string, claim: Partial<Claim>, seen: Partial<ClaimObservation>]>([
    [
      "a pod that the status does not name yet",
      "Referenced",
      { status: statusWith(unused) },
      { references: [podWith()] },
    ],
    ["a pod that the status names", "Referenced", { status: statusWith() }, {}],
    ["a bound claim without a status", "NotWatched", {}, {}],
    ["a claim without a volume", "NotBound", { phase: "Pending" }, {}],
  ])("of %s is %s", (...[, expected, claim, seen]) => {
    expect(useStatusOf(observationOf({ claim: claimWith(claim), ...seen }))).toBe(expected);
  });
});

describe("unusedWhileMounted, in a claim's entry", () => {
  it.each<readonly [expected: boolean, name: string, claim: Partial<Claim>, seen: Partial<ClaimObservation>]>([
    [true, "it is only written as mounted", { upstream, status: mountedStatus(["n1"]) }, {}],
    [false, "both say unused", { upstream, status: statusWith(unused) }, {}],
    [false, "Kubernetes says nothing", {}, { use: mountedOn("n1") }],
  ])("is %s where %s", (...[expected, , claim, seen]) => {
    expect(claimEntryOf(observationOf({ claim: claimWith(claim), ...seen }), LOOKUP).unusedWhileMounted).toBe(expected);
  });
});

describe("pending, in a claim's entry", () => {
  const pendingNodes = [{ node: "n1", isSilent: true }];
  const [awaited, use] = [[{ node: "n1", isSilent: false }], mountedOn("n1")];
  it.each<readonly [expected: boolean, name: string, observed: Partial<ClaimObservation>]>([
    [true, "a node has not answered", { pendingNodes }],
    [false, "no node is pending", {}],
    [true, "the node that has it mounted is stale itself", { pendingNodes, use }],
    [false, "the node that has it mounted has to scan again", { pendingNodes: awaited, use }],
    [false, "a pod refers to it anyhow", { pendingNodes, references: [podWith()] }],
    [true, "the claim is being deleted", { pendingNodes, claim: claimWith({ isDeleting: true }) }],
  ])("is %s when %s", (expected, _, observed) => {
    expect(claimEntryOf(observationOf(observed), LOOKUP).pending).toBe(expected);
  });
});

/** A list of which nothing is left out. */
const all = (...items: readonly object[]) => ({ items, omitted: 0 });

describe("claimEntryOf", () => {
  it("has everything of a claim that is mounted", () => {
    const lastUse = lastUseWith({ byMs: NOON - 1_499.5, widthMs: 12 });
    const claim = claimWith({ status: mountedStatus(["n1"], { message: "Mounted on n1", lastUse }), upstream });
    const used = [
      { node: "n1", pods: [{ uid: "pod-1", name: "shop/web-0" }] },
      { node: "n9", pods: [{ uid: "pod-9", name: undefined }] },
    ];
    const pendingNodes = [
      { node: "n9", isSilent: true, why: "pod-ended" },
      { node: "n9", isSilent: true, why: "attached" },
      { node: "n5", isSilent: false },
      { node: "n1", isSilent: false, why: "attached" },
    ] as const;
    const phaseSince = { ms: NOON - 60_000, from: "api" } as const;
    const seen = { claim, phaseSince, use: { used, staged: ["n9"] }, references: [podWith()], pendingNodes };

    const [onN1, onN9] = [
      { uid: "pod-1", name: "shop/web-0", gone: false },
      { uid: "pod-9", name: null, gone: true },
    ];
    expect(claimEntryOf(observationOf(seen), LOOKUP)).toEqual({
      ...{ namespace: "shop", name: "data", uid: "claim-1", deleting: false, deletionHeld: false },
      ...{ phase: "Bound", phaseSince: "2026-09-10T00:25:40Z", phaseSinceFrom: "api" },
      ...{ storageClass: "fast", capacity: "10Gi", volume: "pv-1" },
      ...{ status: "Mounted", since: "2026-09-10T00:26:40Z", unusedWhileMounted: true, pending: false, blindGap: null },
      condition: { status: "False", reason: "Mounted", message: "Mounted on n1", since: "2026-09-10T00:26:40Z" },
      lastUse: {
        ...{ release: "record-0", node: "n1", pod: "shop/old", podUid: "pod-0", evidence: "mount-table" },
        ...{ releasedAt: "2026-09-10T00:26:38.501Z", uncertaintyMs: 12 },
      },
      mountedOn: { nodes: ["n1"], more: false },
      live: {
        mountedOn: all(
          { node: "n1", state: "Reporting", pods: all(onN1) },
          { node: "n9", state: "Stale", pods: all(onN9) },
        ),
        stagedOn: all({ node: "n9", state: "Stale" }),
        references: all({ pod: "shop/web-0", node: "n1" }),
        pendingNodes: all(
          { node: "n9", state: "Stale", why: "pod-ended" },
          { node: "n5", state: "Unreported", why: "start" },
          { node: "n1", state: "ScanDue", why: "attached" },
        ),
        podsUnwatched: false,
      },
      kubernetes: { unused: true, since: "2026-09-10T00:26:41Z" },
    });
  });

  it("has the same fields, with null, of a claim of which nothing is known", () => {
    const claim = claimWith({ phase: "Pending", storageClass: undefined, capacity: undefined, volume: undefined });

    expect(claimEntryOf(observationOf({ claim }), LOOKUP)).toEqual({
      ...{ namespace: "shop", name: "data", uid: "claim-1", phase: "Pending", deleting: false, deletionHeld: false },
      ...{ phaseSince: null, phaseSinceFrom: null, mountedOn: null, kubernetes: null, pending: false },
      ...{ storageClass: null, capacity: null, volume: null, condition: null, lastUse: null, blindGap: null },
      ...{ status: "NotBound", since: null, unusedWhileMounted: false },
      live: { mountedOn: all(), stagedOn: all(), references: all(), pendingNodes: all(), podsUnwatched: false },
    });
  });

  it.each([
    { name: "the stored time while it says the same", since: "2026-09-10T00:26:40Z", use: mountedOn() },
    { name: "no time for a use that is not written yet", since: null, use: mountedOn("n1") },
  ])("gives $name", ({ since, use }) => {
    const claim = claimWith({ status: statusWith(unused) });

    expect(claimEntryOf(observationOf({ claim, use }), LOOKUP).since).toBe(since);
  });

  it("counts what is too much to name", () => {
    const nodes = Array.from({ length: 40 }, (_, index) => `n${index}`);
    const pendingNodes = nodes.map((node) => ({ node, isSilent: false }));

    const { live } = claimEntryOf(observationOf({ use: mountedOn(...nodes), pendingNodes }), LOOKUP);

    expect([live.mountedOn.items.length, live.mountedOn.omitted]).toEqual([32, 8]);
    expect([live.pendingNodes.items.length, live.pendingNodes.omitted]).toEqual([32, 8]);
  });
});
