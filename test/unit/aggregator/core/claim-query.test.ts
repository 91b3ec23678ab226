import { describe, expect, it } from "vitest";
import type { ClaimSight } from "../../../../aggregator/core/claim-list.ts";
import { CLAIM_PARAMETERS, claimFilter } from "../../../../aggregator/core/claim-query.ts";
import { readQuery } from "../../../../aggregator/core/list-query.ts";
import type { Claim } from "../../../../common/storage/claim.ts";
import { claimWith, mountedStatus, NOON, podWith, statusWith } from "../world.ts";

const DAY_MS = 86_400_000;
const NOW = NOON + 10 * DAY_MS;
const unused = statusWith({ unused: true, reason: "Unmounted", sinceMs: NOON });
const upstream = { unused: true, sinceMs: NOON };
const awaited = [{ node: "n7", isSilent: true }];

interface World {
  readonly claim?: Partial<Claim>;
  readonly held?: readonly string[];
  readonly staged?: readonly string[];
  readonly isReferenced?: boolean;
  readonly awaited?: ClaimSight["awaited"];
}

/** Whether a query finds a claim; a filter that finds it must not have given it up before. */
function finds(
  text: string,
  { claim: fields = {}, held = [], staged = [], isReferenced = false, awaited = [] }: World,
): boolean {
  const read = readQuery(Object.values(CLAIM_PARAMETERS), [...new URLSearchParams(text)]);
  if (read.kind === "problems") throw new Error(read.problems.join());
  const claim = claimWith(fields);
  const references = isReferenced ? [podWith()] : [];
  const nodes = [...held, ...staged];
  const filter = claimFilter(read.query, {
    nowMs: NOW,
    isSeen: () => nodes.length > 0,
    isNamed: () => isReferenced,
    isSeenOn: (node) => nodes.includes(node),
    waitingClaims: () => new Set(awaited.length > 0 ? [claim.key] : []),
    driverOf: () => "csi.example",
  });
  const use = { held: held.map((node) => ({ node, pods: [] })), staged };
  const matches = filter.matches({ claim, use, references, awaited });
  if (matches) expect(filter.mayMatch(claim)).toBe(true);
  return matches && filter.mayMatch(claim);
}

describe("claimFilter", () => {
  it.each([
    { query: "", world: {}, found: true },
    { query: "namespace=shop", world: {}, found: true },
    { query: "namespace=bank", world: {}, found: false },
    { query: "namespace=bank&namespace=shop", world: {}, found: true },
    { query: "name=data", world: {}, found: true },
    { query: "name=dat", world: {}, found: false },
    { query: "namespace=shop&name=other", world: {}, found: false },
    { query: "phase=Bound", world: {}, found: true },
    { query: "phase=Lost&phase=Pending", world: {}, found: false },
    { query: "storageClass=fast", world: {}, found: true },
    { query: "storageClass=fast", world: { claim: { storageClass: undefined } }, found: false },
    { query: "volume=pv-1", world: {}, found: true },
    { query: "volume=pv-1", world: { claim: { volume: undefined } }, found: false },
    { query: "driver=csi.example", world: {}, found: true },
    { query: "driver=other", world: {}, found: false },
    { query: "reason=Unmounted", world: { claim: { status: unused } }, found: true },
    { query: "reason=Unmounted", world: {}, found: false },
    { query: "reason=NodeGone&reason=NoPodUsing", world: { claim: { status: unused } }, found: false },
  ])('"$query" finds $world: $found', ({ query, world, found }) => {
    expect(finds(query, world)).toBe(found);
  });

  it.each([
    { name: "an unused claim", query: "status=Unused", world: { claim: { status: unused } }, found: true },
    {
      name: "one that is mounted by now",
      query: "status=Unused",
      world: { claim: { status: unused }, held: ["n1"] },
      found: false,
    },
    {
      name: "one that is mounted by now",
      query: "status=Mounted",
      world: { claim: { status: unused }, held: ["n1"] },
      found: true,
    },
    {
      name: "one that is only staged",
      query: "status=Mounted",
      world: { claim: { status: unused }, staged: ["n1"] },
      found: false,
    },
    {
      name: "one that is only staged",
      query: "status=Unused",
      world: { claim: { status: unused }, staged: ["n1"] },
      found: true,
    },
    {
      name: "one that is written as mounted",
      query: "status=Mounted",
      world: { claim: { status: mountedStatus(["n1"]) } },
      found: true,
    },
    { name: "one that a pod refers to", query: "status=Referenced", world: { isReferenced: true }, found: true },
    {
      name: "one that is written as referenced",
      query: "status=Referenced",
      world: { claim: { status: statusWith() } },
      found: true,
    },
    { name: "one of which nothing is written", query: "status=NotWatched", world: {}, found: true },
    {
      name: "one that waits for a volume",
      query: "status=NotBound",
      world: { claim: { phase: "Pending" } },
      found: true,
    },
    { name: "one of several kinds", query: "status=NotBound&status=NotWatched", world: {}, found: true },
    { name: "one of another kind", query: "status=NotBound&status=Unused", world: {}, found: false },
  ])('"$query" finds $name: $found', ({ query, world, found }) => {
    expect(finds(query, world)).toBe(found);
  });

  it.each([
    { name: "unused for so long exactly", query: "unusedFor=10d", world: { claim: { status: unused } }, found: true },
    { name: "not yet for so long", query: "unusedFor=10d1s", world: { claim: { status: unused } }, found: false },
    { name: "in use for so long", query: "unusedFor=1d", world: { claim: { status: statusWith() } }, found: false },
    {
      name: "mounted by now, whatever is written",
      query: "unusedFor=1d",
      world: { claim: { status: unused }, held: ["n1"] },
      found: false,
    },
    {
      name: "wanted by a pod by now",
      query: "unusedFor=1d",
      world: { claim: { status: unused }, isReferenced: true },
      found: false,
    },
    { name: "of which nothing is written", query: "unusedFor=0s", world: {}, found: false },
  ])('"$query" finds a claim $name: $found', ({ query, world, found }) => {
    expect(finds(query, world)).toBe(found);
  });

  it.each([
    { name: "held there", query: "node=n1", world: { held: ["n1"] }, found: true },
    { name: "staged there", query: "node=n1", world: { staged: ["n1"] }, found: true },
    {
      name: "held there by what is written",
      query: "node=n1",
      world: { claim: { status: mountedStatus(["n0", "n1"]) } },
      found: true,
    },
    { name: "held elsewhere", query: "node=n1", world: { held: ["n10"] }, found: false },
    { name: "held on one of them", query: "node=n2&node=n1", world: { held: ["n1"] }, found: true },
    {
      name: "mounted and called unused",
      query: "disagrees=true",
      world: { claim: { upstream }, held: ["n1"] },
      found: true,
    },
    {
      name: "written as mounted and called unused",
      query: "disagrees=true",
      world: { claim: { upstream, status: mountedStatus(["n1"]) } },
      found: true,
    },
    {
      name: "mounted and called unused by Mooring alone",
      query: "disagrees=true",
      world: { claim: { upstream: { ...upstream, owner: "mooring" as const } }, held: ["n1"] },
      found: false,
    },
    { name: "unused for both", query: "disagrees=true", world: { claim: { upstream, status: unused } }, found: false },
    { name: "unused for both", query: "disagrees=false", world: { claim: { upstream, status: unused } }, found: true },
    { name: "that waits", query: "waiting=true", world: { awaited }, found: true },
    { name: "that waits", query: "waiting=false", world: { awaited }, found: false },
    { name: "that is mounted elsewhere", query: "waiting=true", world: { awaited, held: ["n1"] }, found: false },
    { name: "that waits for nobody", query: "waiting=false", world: {}, found: true },
    { name: "that waits for it", query: "waitsFor=n7", world: { awaited }, found: true },
    { name: "that waits for another", query: "waitsFor=n1", world: { awaited }, found: false },
    {
      name: "that has lost its volume",
      query: "waitsFor=n7",
      world: { awaited, claim: { phase: "Lost" } },
      found: false,
    },
  ])('"$query" finds a claim $name: $found', ({ query, world, found }) => {
    expect(finds(query, world)).toBe(found);
  });
});
