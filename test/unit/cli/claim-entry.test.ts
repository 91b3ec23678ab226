import { describe, expect, it } from "vitest";
import type { EntryLookup } from "../../../aggregator/core/api/list-entries.ts";
import { type ClaimObservation, claimEntryOf } from "../../../aggregator/core/api/list-entries.ts";
import { readClaimEntry } from "../../../cli/claim-entry.ts";
import { useOf } from "../../../cli/claim-use.ts";
import type { Claim } from "../../../common/storage/claim.ts";
import { claimOf, lastUseOf, NOW_MS, statusOf, unusedFor } from "./claims.ts";

const WORDS: EntryLookup = {
  agentStates: { of: () => ({ kind: "Reporting" }) },
  fleet: { view: () => ({}) },
  cluster: { podByUid: () => undefined, isPodThere: () => true },
};

/** What the aggregator really answers, as it comes over the wire. */
function lineOf(sight: Partial<ClaimObservation> = {}): string {
  const none = { use: { used: [], staged: [] }, references: [], pendingNodes: [] };
  return JSON.stringify(claimEntryOf({ claim: claimOf({ name: "a" }), ...none, ...sight }, WORDS));
}

function useIn(sight: Partial<ClaimObservation>) {
  return readClaimEntry(JSON.parse(lineOf(sight)));
}

/** What of a claim goes over the wire. */
function shown({ resourceVersion: _, ...claim }: Claim) {
  return claim;
}

describe("readClaimEntry", () => {
  it.each([
    { name: "mounted", claim: { status: statusOf("Mounted", 2, { lastUse: lastUseOf() }), upstream: unusedFor(1) } },
    { name: "referenced", claim: { status: statusOf("Referenced", 2), upstream: { unused: false, sinceMs: NOW_MS } } },
    { name: "unused", claim: { status: statusOf("Unmounted", 2, { lastUse: lastUseOf() }), upstream: unusedFor(2) } },
    {
      name: "unused without a known last use",
      claim: {
        status: statusOf("NodeGone", 2, {
          lastUse: lastUseOf({ node: undefined, pod: undefined, podUid: undefined, widthMs: undefined }),
        }),
      },
    },
    { name: "not watched", claim: {} },
    { name: "pending", claim: { phase: "Pending", volume: undefined, upstream: { unused: true, sinceMs: undefined } } },
    { name: "lost and on its way out", claim: { phase: "Lost", isDeleting: true, status: statusOf("NoPodUsing", 1) } },
  ])("reads the same of a claim that is $name as from the API server", ({ claim: change }) => {
    const claim = claimOf({ name: "a", ...change });

    const use = useIn({ claim });

    const { live, ...rest } = use ?? {};
    expect(live).toBeDefined();
    expect({ ...rest, live: undefined }).toEqual(useOf(shown(claim)));
  });

  it("prefers what is known now to what is written", () => {
    const claim = claimOf({
      name: "a",
      status: statusOf("Unmounted", 5, { lastUse: lastUseOf() }),
      upstream: unusedFor(5),
    });
    const use = { used: [{ node: "node-z", pods: [{ uid: "u", name: "shop/z" }] }], staged: ["node-z"] };

    expect(useIn({ claim, use })).toMatchObject({
      ...{
        status: "Mounted",
        sinceMs: undefined,
        evidence: "mount-table",
        nodes: ["node-z"],
        unusedWhileMounted: true,
      },
      live: { mountedOn: { items: [{ node: "node-z" }] }, stagedOn: { items: [{ node: "node-z" }] } },
    });
  });

  it("counts the omitted nodes", () => {
    const used = Array.from({ length: 40 }, (_, index) => ({ node: `n${index}`, pods: [] }));

    expect(useIn({ use: { used, staged: [] } })).toMatchObject({ nodes: { length: 32 }, omittedNodes: 8 });
  });

  it("knows which nodes are pending", () => {
    const claim = claimOf({ name: "a", status: statusOf("Mounted", 5) });

    expect(useIn({ claim, pendingNodes: [{ node: "n1", isSilent: true, why: "pod-ended" }] })).toMatchObject({
      isPending: true,
      nodes: ["node-a"],
      live: { pendingNodes: { items: [{ node: "n1", state: "Stale", why: "pod-ended" }] } },
    });
  });

  it("takes fields that it does not know", () => {
    expect(readClaimEntry({ ...JSON.parse(lineOf()), more: {} })).toMatchObject({ claim: { name: "a" } });
  });

  it.each([
    { name: "no object", entry: "it works" },
    { name: "nothing", entry: undefined },
    { name: "the end of a list", entry: { complete: true, entries: 1 } },
    { name: "an entry with a field missing", entry: { namespace: "shop", name: "a" } },
    { name: "a time that is none", entry: { ...JSON.parse(lineOf()), since: "now" } },
  ])("does not take $name for an entry", ({ entry }) => {
    expect(readClaimEntry(entry)).toBeUndefined();
  });
});
