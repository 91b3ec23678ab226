import { describe, expect, it } from "vitest";
import { factsOf, isSettledFor } from "../../../../aggregator/core/claim-facts.ts";
import type { NodeRelease } from "../../../../aggregator/core/fleet.ts";
import type { ClaimStatus, LastUse } from "../../../../common/storage/claim-status.ts";
import { claimWith, mountedStatus, NOON, nodeRelease, statusWith, viewWith } from "../world.ts";
import { evidenceWith, fleetWith, useOn } from "./evidence.ts";

describe("factsOf", () => {
  it.each([
    { name: "a bound claim is eligible", claim: claimWith(), isEligible: true },
    { name: "a pending claim is not", claim: claimWith({ phase: "Pending" }), isEligible: false },
    { name: "a lost claim is not", claim: claimWith({ phase: "Lost" }), isEligible: false },
    { name: "a claim that is being deleted is not", claim: claimWith({ isDeleting: true }), isEligible: false },
  ])("$name", ({ claim, isEligible }) => {
    expect(factsOf(evidenceWith({ claim }), fleetWith([])).isEligible).toBe(isEligible);
  });

  it("a node with a mount of it holds it, once", () => {
    const uses = [useOn("n1"), useOn("n1", "pod-2"), useOn("n2")];

    expect(factsOf(evidenceWith({ uses }), fleetWith([])).holders).toEqual(["n1", "n2"]);
  });

  it("what a node shows that is gone has ended, and is still there on the others", () => {
    const assumed = { n1: { bootId: "boot-1", atMs: NOON + 5_000, evidence: "node-gone" } } as const;

    const facts = factsOf(evidenceWith({ uses: [useOn("n1"), useOn("n2")] }), fleetWith([], { assumed }));

    expect(facts.holders).toEqual(["n2"]);
    expect(facts.ends).toEqual([
      {
        ...{ id: "boot-1/node-gone/pod-1/name/pv-1", reason: "NodeGone", evidence: "node-gone" },
        ...{ byMs: NOON + 5_000, widthMs: undefined, node: "n1", pod: "shop/pod-1", podUid: "pod-1", wasUse: true },
      },
    ]);
  });

  it("what a node showed in another boot, and that no agent came back to, ended without anybody seeing it", () => {
    const assumed = { n1: { bootId: "boot-1", atMs: NOON, evidence: "pod-status" } } as const;

    const facts = factsOf(evidenceWith({ uses: [useOn("n1")] }), fleetWith([], { assumed }));

    expect(facts.ends).toMatchObject([{ reason: "NoPodUsing", evidence: "pod-status", byMs: NOON, wasUse: true }]);
  });

  it("a release is an end of use by the pod that the agent named, else by the one that is known", () => {
    const releases = [nodeRelease(), nodeRelease({ id: "release-2", podUid: "pod-2", pod: undefined })];

    const facts = factsOf(evidenceWith({ releases }), fleetWith([]));

    expect(facts.ends.map(({ id, pod, wasUse }) => ({ id, pod, wasUse }))).toEqual([
      { id: "release-1", pod: "shop/web-0", wasUse: true },
      { id: "release-2", pod: "shop/pod-2", wasUse: true },
    ]);
  });
});

describe("isNodeBack", () => {
  const lastUse = {
    releaseId: "boot-1/node-gone/pod-1/name/pv-1",
    node: "n1",
    pod: "shop/web-0",
    podUid: "pod-1",
    releasedAtMs: NOON,
    uncertaintyMs: undefined,
    evidence: "node-gone",
  } as const;

  it.each<{
    readonly name: string;
    readonly fields?: Partial<LastUse>;
    readonly readBeganMs?: number;
    readonly isNodeBack: boolean;
  }>([
    { name: "a node that has read its mount table since is back", isNodeBack: true },
    { name: "a late report of what was read before is not enough", readBeganMs: NOON, isNodeBack: false },
    { name: "another node's report is not enough", fields: { node: "n2" }, isNodeBack: false },
    { name: "an end that was read is not assumed", fields: { evidence: "mount-table" }, isNodeBack: false },
  ])("$name", ({ fields, readBeganMs = NOON + 1, isNodeBack }) => {
    const status = statusWith({ unused: true, reason: "NodeGone", lastUse: { ...lastUse, ...fields } });
    const evidence = evidenceWith({ claim: claimWith({ status }) });

    const facts = factsOf(evidence, fleetWith([viewWith({ readBeganMs })]));

    expect(facts.isNodeBack).toBe(isNodeBack);
  });
});

describe("isSettledFor", () => {
  const stored = {
    releaseId: "other",
    node: "n1",
    pod: "shop/web-0",
    podUid: "pod-1",
    releasedAtMs: NOON - 1,
    uncertaintyMs: 20,
    evidence: "mount-table",
  } as const;
  const goneWith = (node: string): ClaimStatus => {
    const lastUse = { ...stored, releasedAtMs: NOON + 1, evidence: "node-gone", node } as const;
    return statusWith({ unused: true, reason: "NodeGone", lastUse });
  };
  const earlier = nodeRelease({ id: "release-0", node: "n2", byMs: NOON - 1 });
  const later = nodeRelease({ id: "release-2", node: "n2", byMs: NOON + 1 });
  const same = nodeRelease({ id: "release-2", node: "n2" });

  it.each<{
    readonly name: string;
    readonly status: ClaimStatus | undefined;
    readonly holders?: readonly string[];
    readonly others?: readonly NodeRelease[];
    readonly settled: boolean;
  }>([
    { name: "a claim without a status may get one from it", status: undefined, settled: false },
    {
      name: "it is stored as the last use",
      status: statusWith({ lastUse: { ...stored, releaseId: "release-1" } }),
      settled: true,
    },
    {
      name: "a later use is stored",
      status: statusWith({ unused: true, reason: "Unmounted", lastUse: { ...stored, releasedAtMs: NOON } }),
      settled: true,
    },
    {
      name: "a later use is stored, but not yet that this one has ended, too",
      status: statusWith({ lastUse: { ...stored, releasedAtMs: NOON } }),
      settled: false,
    },
    { name: "an earlier use is stored", status: statusWith({ lastUse: stored }), settled: false },
    {
      name: "unused since it or later, but who used it last is not stored",
      status: statusWith({ unused: true, reason: "NoPodUsing" }),
      settled: false,
    },
    {
      name: "a later end is stored that was only assumed with its own node's",
      status: goneWith("n1"),
      settled: false,
    },
    {
      name: "a later end is stored that was assumed with another node's",
      status: goneWith("n2"),
      settled: true,
    },
    {
      name: "mounted on its own node still, and that is stored",
      status: mountedStatus(["n1"]),
      holders: ["n1"],
      settled: true,
    },
    {
      name: "mounted on its own node still, but that is not stored",
      status: statusWith(),
      holders: ["n1"],
      settled: false,
    },
    {
      name: "mounted on another node, whose last report may be older",
      status: mountedStatus(["n1", "n2"]),
      holders: ["n2"],
      settled: false,
    },
    { name: "mounted by what is stored, but no longer", status: mountedStatus(["n1"]), settled: false },
    { name: "a later release is known", status: mountedStatus(["n1"]), others: [later], settled: true },
    { name: "an earlier release is known", status: mountedStatus(["n1"]), others: [earlier], settled: false },
    { name: "of two at one time the second counts", status: mountedStatus(["n1"]), others: [same], settled: true },
  ])("$name: $settled", ({ status, holders = [], others = [], settled }) => {
    const release = nodeRelease();
    const uses = holders.map((node) => useOn(node));

    const result = isSettledFor(claimWith({ status }), release, { uses, releases: [release, ...others] });

    expect(result).toBe(settled);
  });

  it("a claim that is being deleted keeps its status", () => {
    const release = nodeRelease();

    expect(isSettledFor(claimWith({ isDeleting: true }), release, { uses: [], releases: [release] })).toBe(true);
  });

  it("of two releases at one time just one is settled", () => {
    const claim = claimWith({ status: mountedStatus(["n1"]) });
    const releases = [nodeRelease(), same];

    const settled = releases.filter((release) => isSettledFor(claim, release, { uses: [], releases }));

    expect(settled).toHaveLength(1);
  });
});
