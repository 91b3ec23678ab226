import { describe, expect, it } from "vitest";
import { type ClaimSight, claimItem } from "../../../aggregator/core/claim-list.ts";
import type { NodeWords } from "../../../aggregator/core/list-items.ts";
import { decodeClaimsPage } from "../../../cli/aggregator-answer.ts";
import { useOf } from "../../../cli/claim-use.ts";
import type { Claim } from "../../../common/storage/claim.ts";
import { claimOf, lastUseOf, NOW_MS, statusOf, unusedFor } from "./claims.ts";

const HEAD = {
  ...{ apiVersion: "api.mooring.dev/v1", kind: "ClaimList", cluster: "c1", synced: true, continue: null },
  serverTime: "2026-09-10T00:26:40.000Z",
  nodes: { total: 3, silent: 1, unheard: 0 },
};
const WORDS: NodeWords = {
  stateOf: () => "agent",
  isKnown: () => true,
  podName: () => undefined,
  isPodThere: () => true,
};

/** What the aggregator really answers, as it comes over the wire. */
function pageOf(...sights: readonly Partial<ClaimSight>[]): unknown {
  const items = sights.map((sight) =>
    claimItem(
      { claim: claimOf({ name: "a" }), use: { held: [], staged: [] }, references: [], awaited: [], ...sight },
      WORDS,
    ),
  );
  return JSON.parse(JSON.stringify({ ...HEAD, items }));
}

function useIn(sight: Partial<ClaimSight>) {
  return decodeClaimsPage(pageOf(sight))?.items[0];
}

/** What of a claim goes over the wire. */
function shown({ resourceVersion: _, ...claim }: Claim) {
  return claim;
}

describe("decodeClaimsPage", () => {
  it.each([
    { name: "mounted", claim: { status: statusOf("Mounted", 2, { lastUse: lastUseOf() }), upstream: unusedFor(1) } },
    { name: "referenced", claim: { status: statusOf("Referenced", 2), upstream: { unused: false, sinceMs: NOW_MS } } },
    { name: "unused", claim: { status: statusOf("Unmounted", 2, { lastUse: lastUseOf() }), upstream: unusedFor(2) } },
    {
      name: "unused since nobody knows of whom",
      claim: {
        status: statusOf("NodeGone", 2, {
          lastUse: lastUseOf({ node: undefined, pod: undefined, podUid: undefined, uncertaintyMs: undefined }),
        }),
      },
    },
    {
      name: "unused, where Mooring alone wrote Kubernetes' condition",
      claim: { status: statusOf("Unmounted", 2), upstream: { ...unusedFor(2), owner: "mooring" as const } },
    },
    { name: "not watched", claim: {} },
    { name: "pending", claim: { phase: "Pending", volume: undefined, upstream: { unused: true, sinceMs: undefined } } },
    { name: "lost and on its way out", claim: { phase: "Lost", isDeleting: true, status: statusOf("NoPodUsing", 1) } },
  ])("understands of a claim that is $name the same as the API server would tell", ({ claim: change }) => {
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
    const use = { held: [{ node: "node-z", pods: [{ uid: "u", name: "shop/z" }] }], staged: ["node-z"] };

    expect(useIn({ claim, use })).toMatchObject({
      ...{ status: "Mounted", sinceMs: undefined, evidence: "mount-table", nodes: ["node-z"], disagrees: true },
      live: { heldOn: { items: [{ node: "node-z" }] }, stagedOn: { items: [{ node: "node-z" }] } },
    });
  });

  it("counts the nodes that there is no room for", () => {
    const held = Array.from({ length: 40 }, (_, index) => ({ node: `n${index}`, pods: [] }));

    expect(useIn({ use: { held, staged: [] } })).toMatchObject({ nodes: { length: 32 }, omittedNodes: 8 });
  });

  it("knows which claim waits for whom", () => {
    const claim = claimOf({ name: "a", status: statusOf("Mounted", 5) });

    expect(useIn({ claim, awaited: [{ node: "n1", isSilent: true, why: "pod-ended" }] })).toMatchObject({
      isWaiting: true,
      nodes: ["node-a"],
      live: { awaited: { items: [{ node: "n1", state: "silent", why: "pod-ended" }] } },
    });
  });

  it("reads the head of the list", () => {
    expect(decodeClaimsPage({ ...HEAD, continue: "t", items: [] })).toEqual({
      ...{ cluster: "c1", serverTimeMs: NOW_MS, nodes: HEAD.nodes, items: [], next: "t" },
    });
    expect(decodeClaimsPage({ ...HEAD, cluster: null, items: [] })?.cluster).toBeUndefined();
  });

  it("takes fields that it does not know, and states that it has no word for", () => {
    const page = JSON.stringify({ ...HEAD, more: 1, items: [] }).replace(
      "[]",
      JSON.stringify(JSON.parse(JSON.stringify(pageOf({}))).items),
    );

    expect(decodeClaimsPage(JSON.parse(page.replace('"namespace"', '"new":{},"namespace"')))?.items).toHaveLength(1);
  });

  it.each([
    { name: "no object", body: "it works" },
    { name: "nothing", body: undefined },
    { name: "another kind of list", body: { ...HEAD, kind: "NodeList", items: [] } },
    { name: "another version", body: { ...HEAD, apiVersion: "api.mooring.dev/v2", items: [] } },
    { name: "a time that is none", body: { ...HEAD, serverTime: "now", items: [] } },
    { name: "an entry with a field missing", body: { ...HEAD, items: [{ namespace: "shop", name: "a" }] } },
  ])("does not believe $name", ({ body }) => {
    expect(decodeClaimsPage(body)).toBeUndefined();
  });
});
