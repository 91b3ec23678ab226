import { describe, expect, it } from "vitest";
import type { ClaimList } from "../../../cli/claim-source.ts";
import { useOf } from "../../../cli/claim-use.ts";
import { noticesFor } from "../../../cli/notices.ts";
import { claimOf, statusOf, unusedFor } from "./claims.ts";

const noMooring = "No claim has Mooring's condition: is the aggregator running?";
const noKubernetes =
  "Kubernetes' own Unused condition is absent: it needs Kubernetes 1.36 with the feature gate PersistentVolumeClaimUnusedSinceTime, or 1.37.";
const known = claimOf({ name: "a", status: statusOf("Unmounted", 1), upstream: unusedFor(1) });

const api = { kind: "api-server", server: "https://api:6443", unused: undefined } as const;
const list: ClaimList = { uses: [], nowMs: undefined, source: api };

function aggregator(nodes: { readonly stale?: number; readonly unreported?: number }): ClaimList["source"] {
  const { stale = 0, unreported = 0 } = nodes;
  return { kind: "aggregator", url: "http://127.0.0.1:9809", cluster: "c1", nodes: { total: 9, stale, unreported } };
}

function unusedWhileMounted(count: number): readonly ReturnType<typeof claimOf>[] {
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
      name: "nothing where no claim is bound, as none has a status then",
      claims: [claimOf({ name: "a", phase: "Pending" }), claimOf({ name: "b", isDeleting: true })],
      said: [],
    },
    {
      name: "a claim that Kubernetes calls unused while it is mounted",
      claims: [known, ...unusedWhileMounted(1)],
      said: ["1 claim is mounted although Kubernetes says unused; do not delete: shop/c1"],
    },
    {
      name: "many of them, but not all of their names",
      claims: unusedWhileMounted(7),
      said: [
        "7 claims are mounted although Kubernetes says unused; do not delete: shop/c1, shop/c2, shop/c3, shop/c4, shop/c5 and 2 more",
      ],
    },
  ])("mention $name", ({ claims, said }) => {
    expect(noticesFor({ ...list, uses: claims.map(useOf) }, { scope: "all", isWide: false })).toEqual(said);
  });

  it("mention where there are no claims", () => {
    const [one, all] = [{ namespace: "shop" }, "all"] as const;

    expect(noticesFor(list, { scope: one, isWide: false })).toEqual(["No claims in namespace shop."]);
    expect(noticesFor(list, { scope: all, isWide: false })).toEqual(["No claims in any namespace."]);
  });

  it.each([
    { name: "the API server", list: {}, said: ["Read from the API server https://api:6443."] },
    {
      name: "the aggregator, and how many nodes report to it",
      list: { source: aggregator({ stale: 0, unreported: 0 }) },
      said: ["Read from the aggregator http://127.0.0.1:9809 of cluster c1, to which 9 of 9 nodes report."],
    },
  ])("name in a wide list the source: $name", ({ list: change, said }) => {
    const wide = { ...list, uses: [useOf(known)], ...change };

    expect(noticesFor(wide, { scope: "all", isWide: true })).toEqual(said);
  });

  it.each([
    { name: "nothing while all nodes report", source: aggregator({ stale: 0, unreported: 0 }), said: [] },
    {
      name: "that one is stale",
      source: aggregator({ stale: 1, unreported: 0 }),
      said: ["1 of 9 nodes is stale: what it reported last may be over."],
    },
    {
      name: "that some have not reported since it started",
      source: aggregator({ stale: 0, unreported: 4 }),
      said: ["The aggregator has just started: 4 of 9 nodes have not reported yet."],
    },
    {
      name: "why an aggregator that was asked for was not used",
      source: { ...api, unused: { url: "http://other:1", why: "it belongs to another cluster" } },
      said: [
        "The aggregator http://other:1 was not used: it belongs to another cluster.",
        "These are the claims' stored conditions; they are only as fresh as their last write.",
      ],
    },
  ])("mention $name", ({ source, said }) => {
    expect(noticesFor({ ...list, uses: [useOf(known)], source }, { scope: "all", isWide: false })).toEqual(said);
  });

  it("asks for the aggregator's log where it runs and writes nothing", () => {
    const uses = [useOf(claimOf({ name: "a", upstream: unusedFor(1) }))];

    const [said] = noticesFor({ ...list, uses, source: aggregator({}) }, { scope: "all", isWide: false });

    expect(said).toBe(
      "No claim has Mooring's condition although the aggregator runs: its log tells why it does not write.",
    );
  });

  it("pass no control characters of an aggregator's answer to the terminal", () => {
    const source = { ...api, unused: { url: "http://a", why: "it answered 500: \u001b[2J" } };

    expect(noticesFor({ ...list, source }, { scope: "all", isWide: false }).join()).not.toContain("\u001b");
  });
});
