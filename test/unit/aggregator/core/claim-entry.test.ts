import { describe, expect, it } from "vitest";
import { type ClaimSight, claimEntryOf, useStatusOf } from "../../../../aggregator/core/claim-entry.ts";
import type { NodeWords } from "../../../../aggregator/core/entry-parts.ts";
import type { ClaimStatus, LastUse } from "../../../../common/storage/claim-status.ts";
import { claimWith, mountedStatus, NOON, podWith, statusWith } from "../world.ts";

const WORDS: NodeWords = {
  stateOf: (node) => (node === "n9" ? "Stale" : "Reporting"),
  isKnown: (node) => node !== "n5",
  podName: (uid) => (uid === "pod-1" ? "shop/web-0" : undefined),
  isPodThere: (uid) => uid === "pod-1",
};

function sightOf(fields: Partial<ClaimSight> = {}): ClaimSight {
  return { claim: claimWith(), use: { held: [], staged: [] }, references: [], pendingNodes: [], ...fields };
}

function mountedOn(...nodes: readonly string[]): ClaimSight["use"] {
  return { held: nodes.map((node) => ({ node, pods: [{ uid: "pod-1", name: "shop/web-0" }] })), staged: [] };
}

const unused: Partial<ClaimStatus> = { unused: true, reason: "Unmounted", sinceMs: NOON };
const upstream = { unused: true, sinceMs: NOON + 1_000 };

describe("useStatusOf", () => {
  it.each([
    { name: "what is written", status: statusWith(unused), expected: "Unused" },
    { name: "a mount that is not written yet", status: statusWith(unused), use: mountedOn("n1"), expected: "Mounted" },
    {
      name: "a mount that is not seen any more, until that is written",
      status: mountedStatus(["n1"]),
      expected: "Mounted",
    },
    {
      name: "a pod that is not written yet",
      status: statusWith(unused),
      references: [podWith()],
      expected: "Referenced",
    },
    {
      name: "a mount before a pod",
      status: statusWith(),
      use: mountedOn("n1"),
      references: [podWith()],
      expected: "Mounted",
    },
    { name: "a pod that is written", status: statusWith(), expected: "Referenced" },
    { name: "a bound claim of which nothing is written", status: undefined, expected: "NotWatched" },
    { name: "a claim without a volume", status: undefined, phase: "Pending", expected: "NotBound" },
  ])("tells of $name: $expected", ({ status, phase = "Bound", use, references, expected }) => {
    const sight = sightOf({
      claim: claimWith({ status, phase }),
      ...(use && { use }),
      ...(references && { references }),
    });

    expect(useStatusOf(sight)).toBe(expected);
  });
});

describe("disagrees, in a claim's entry", () => {
  it.each([
    { name: "Kubernetes calls unused what is mounted", fields: { upstream }, use: mountedOn("n1"), expected: true },
    { name: "it is only written as mounted", fields: { upstream, status: mountedStatus(["n1"]) }, expected: true },
    {
      name: "a pod refers to it, as Kubernetes must know",
      fields: { upstream, status: statusWith() },
      expected: false,
    },
    { name: "both say unused", fields: { upstream, status: statusWith(unused) }, expected: false },
    {
      name: "both say in use",
      fields: { upstream: { ...upstream, unused: false } },
      use: mountedOn("n1"),
      expected: false,
    },
    {
      name: "Mooring alone wrote both, the one that is written is out of date",
      fields: { upstream: { ...upstream, owner: "mooring" } },
      use: mountedOn("n1"),
      expected: false,
    },
    { name: "Kubernetes says nothing", fields: {}, use: mountedOn("n1"), expected: false },
  ] as const)("is $expected where $name", ({ fields, use, expected }) => {
    const sight = sightOf({ claim: claimWith(fields), ...(use && { use }) });

    expect(claimEntryOf(sight, WORDS).disagrees).toBe(expected);
  });
});

describe("pending, in a claim's entry", () => {
  const pendingNodes = [{ node: "n1", isSilent: true }];

  it.each([
    { name: "a node has not answered", sight: { pendingNodes }, expected: true },
    { name: "no node is pending", sight: {}, expected: false },
    {
      name: "the node that has it mounted is stale itself",
      sight: { pendingNodes, use: mountedOn("n1") },
      expected: true,
    },
    { name: "one that has it mounted is not", sight: { pendingNodes, use: mountedOn("n1", "n2") }, expected: false },
    {
      name: "the node that has it mounted has to scan again",
      sight: { pendingNodes: [{ node: "n1", isSilent: false }], use: mountedOn("n1") },
      expected: false,
    },
    { name: "it is mounted elsewhere anyhow", sight: { pendingNodes, use: mountedOn("n2") }, expected: false },
    { name: "a pod refers to it anyhow", sight: { pendingNodes, references: [podWith()] }, expected: false },
    {
      name: "the claim that is being deleted may be kept by our condition",
      sight: { pendingNodes, claim: claimWith({ isDeleting: true, status: mountedStatus(["n1"]) }) },
      expected: true,
    },
    {
      name: "the claim is being deleted",
      sight: { pendingNodes, claim: claimWith({ isDeleting: true }) },
      expected: false,
    },
    {
      name: "the claim has lost its volume",
      sight: { pendingNodes, claim: claimWith({ phase: "Lost" }) },
      expected: false,
    },
  ])("is $expected when $name", ({ sight, expected }) => {
    expect(claimEntryOf(sightOf(sight), WORDS).pending).toBe(expected);
  });
});

describe("claimEntryOf", () => {
  it("has everything of a claim that is mounted", () => {
    const lastUse: LastUse = {
      ...{ releaseId: "r1", node: "n1", pod: "shop/old", podUid: "pod-0", evidence: "mount-table" as const },
      ...{ releasedAtMs: NOON - 1_499.5, uncertaintyMs: 12 },
    };
    const claim = claimWith({ status: mountedStatus(["n1"], { message: "Mounted on n1", lastUse }), upstream });
    const held = [
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

    const item = claimEntryOf(
      sightOf({ claim, phaseSince, use: { held, staged: ["n9"] }, references: [podWith()], pendingNodes }),
      WORDS,
    );

    expect(item).toEqual({
      ...{
        namespace: "shop",
        name: "data",
        uid: "claim-1",
        phase: "Bound",
        phaseSince: "2026-09-10T00:25:40Z",
        phaseSinceFrom: "api",
        deleting: false,
        deletionHeld: false,
      },
      ...{ storageClass: "fast", capacity: "10Gi", volume: "pv-1" },
      ...{ status: "Mounted", since: "2026-09-10T00:26:40Z", disagrees: true },
      condition: { status: "False", reason: "Mounted", message: "Mounted on n1", since: "2026-09-10T00:26:40Z" },
      lastUse: {
        ...{ release: "r1", node: "n1", pod: "shop/old", podUid: "pod-0", evidence: "mount-table" },
        ...{ releasedAt: "2026-09-10T00:26:38.501Z", uncertaintyMs: 12 },
      },
      blindGap: null,
      mountedOn: { nodes: ["n1"], more: false },
      live: {
        mountedOn: {
          items: [
            {
              node: "n1",
              state: "Reporting",
              pods: { items: [{ uid: "pod-1", name: "shop/web-0", gone: false }], omitted: 0 },
            },
            { node: "n9", state: "Stale", pods: { items: [{ uid: "pod-9", name: null, gone: true }], omitted: 0 } },
          ],
          omitted: 0,
        },
        stagedOn: { items: [{ node: "n9", state: "Stale" }], omitted: 0 },
        references: { items: [{ pod: "shop/web-0", node: "n1" }], omitted: 0 },
        pendingNodes: {
          items: [
            { node: "n9", state: "Stale", why: "pod-ended" },
            { node: "n5", state: "Unreported", why: "start" },
            { node: "n1", state: "ScanDue", why: "attached" },
          ],
          omitted: 0,
        },
        podsUnwatched: false,
      },
      pending: false,
      kubernetes: { unused: true, since: "2026-09-10T00:26:41Z", byMooring: false },
    });
  });

  it("has the same fields, with null, of a claim of which nothing is known", () => {
    const claim = claimWith({ phase: "Pending", storageClass: undefined, capacity: undefined, volume: undefined });
    const none = { items: [], omitted: 0 };

    expect(claimEntryOf(sightOf({ claim }), WORDS)).toEqual({
      ...{ namespace: "shop", name: "data", uid: "claim-1", phase: "Pending", deleting: false, deletionHeld: false },
      ...{ phaseSince: null, phaseSinceFrom: null },
      ...{ storageClass: null, capacity: null, volume: null, status: "NotBound", since: null },
      ...{
        condition: null,
        lastUse: null,
        blindGap: null,
        mountedOn: null,
        kubernetes: null,
        pending: false,
        disagrees: false,
      },
      live: { mountedOn: none, stagedOn: none, references: none, pendingNodes: none, podsUnwatched: false },
    });
  });

  it.each([
    { name: "that would be unused", use: mountedOn(), pending: true },
    { name: "that is mounted", use: mountedOn("n1"), pending: false },
  ])("says of a claim $name whether it waits for the watch of pods", ({ use, pending }) => {
    const claim = claimWith({ status: statusWith() });

    const entry = claimEntryOf(sightOf({ claim, use, isUnwatched: true }), WORDS);

    expect([entry.pending, entry.live.podsUnwatched]).toEqual([pending, true]);
  });

  it.each([
    { name: "the stored time while it says the same", status: statusWith(unused), since: "2026-09-10T00:26:40Z" },
    {
      name: "no time for a use that is not written yet",
      status: statusWith(unused),
      use: mountedOn("n1"),
      since: null,
    },
    {
      name: "the begin of the use over a change of its kind",
      status: statusWith(),
      use: mountedOn("n1"),
      since: "2026-09-10T00:26:40Z",
    },
  ])("gives $name", ({ status, use, since }) => {
    expect(claimEntryOf(sightOf({ claim: claimWith({ status }), ...(use && { use }) }), WORDS).since).toBe(since);
  });

  it("counts what is too much to name", () => {
    const nodes = Array.from({ length: 40 }, (_, index) => `n${index}`);
    const pendingNodes = nodes.map((node) => ({ node, isSilent: false }));

    const { live } = claimEntryOf(sightOf({ use: mountedOn(...nodes), pendingNodes }), WORDS);

    expect([live.mountedOn.items.length, live.mountedOn.omitted]).toEqual([32, 8]);
    expect([live.pendingNodes.items.length, live.pendingNodes.omitted]).toEqual([32, 8]);
  });
});
