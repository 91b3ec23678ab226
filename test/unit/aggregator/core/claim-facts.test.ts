import { describe, expect, it } from "vitest";
import { factsOf } from "../../../../aggregator/core/claim-facts.ts";
import type { Volume } from "../../../../aggregator/core/cluster-objects.ts";
import type { Claim } from "../../../../common/storage/claim.ts";
import type { LastUse } from "../../../../common/storage/claim-status.ts";
import { claimWith, NOON, nodeUnmountRecord, statusWith, viewWith, volumeWith } from "../world.ts";
import { lastUseWith } from "./decisions.ts";
import { evidenceWith, fleetWith, useOn } from "./evidence.ts";

describe("factsOf", () => {
  const going = (fields: Partial<Claim> = {}) => claimWith({ isDeleting: true, ...fields });
  const boundTo = (claim: Volume["claim"]) => volumeWith({ claim });
  const [own, other] = [volumeWith(), { key: "shop/data", uid: "claim-0" }];
  it.each<readonly [name: string, isEligible: boolean, claim: Claim, volume: Volume | undefined]>([
    ["that is bound", true, claimWith(), own],
    ["that names no volume", true, claimWith({ volume: undefined, uid: "claim-9" }), own],
    ["that is pending", false, claimWith({ phase: "Pending" }), own],
    ["that is lost", false, claimWith({ phase: "Lost" }), own],
    ["that is being deleted, and of which nothing was written", false, going(), own],
    ["that is being deleted while our condition may keep it", true, going({ status: statusWith() }), own],
    ["that somebody else's condition of that name may keep", true, going({ isDisbelieved: true }), own],
    ["whose volume has not been seen bound", false, claimWith(), boundTo(undefined)],
    ["whose volume was last seen bound to another claim", false, claimWith(), boundTo(other)],
  ])("a claim %s is eligible: %s", (...[, isEligible, claim, volume]) => {
    expect(factsOf(evidenceWith({ claim, volume }), fleetWith([])).isEligible).toBe(isEligible);
  });

  it("no time of it is from before the end of the second in which it was made", () => {
    const evidence = evidenceWith({ claim: claimWith({ createdAtMs: NOON }) });

    expect(factsOf(evidence, fleetWith([])).earliestMs).toBe(NOON + 1_000);
  });

  it("what stands there without being believed is none, but is not nothing", () => {
    const facts = factsOf(evidenceWith({ claim: claimWith({ isDisbelieved: true }) }), fleetWith([]));

    expect([facts.stored, facts.isDisbelieved]).toEqual([undefined, true]);
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

  it("an unmount record is an end of use by the pod that the agent named, else by the one that is known", () => {
    const unnamed = nodeUnmountRecord({ id: "release-2", podUid: "pod-2", pod: undefined });

    const { ends } = factsOf(evidenceWith({ unmountRecords: [nodeUnmountRecord(), unnamed] }), fleetWith([]));

    expect(ends.map(({ pod, wasUse }) => [pod, wasUse])).toEqual([
      ["shop/web-0", true],
      ["shop/pod-2", true],
    ]);
  });
});

describe("isNodeBack", () => {
  const gone = lastUseWith({ evidence: "node-gone", releasedAtMs: NOON });
  const ofN2 = { ...gone, node: "n2" };
  const read = { ...gone, evidence: "mount-table" } as const;

  it.each<readonly [name: string, lastUse: LastUse, scanBeganMs: number, isBack: boolean]>([
    ["a node that has read its mount table since is back", gone, NOON + 1, true],
    ["a late report of what was read before is not enough", gone, NOON, false],
    ["another node's report is not enough", ofN2, NOON + 1, false],
    ["an end that was read is not assumed", read, NOON + 1, false],
  ])("%s", (...[, lastUse, scanBeganMs, isBack]) => {
    const claim = claimWith({ status: statusWith({ unused: true, reason: "NodeGone", lastUse }) });

    expect(factsOf(evidenceWith({ claim }), fleetWith([viewWith({ scanBeganMs })])).isNodeBack).toBe(isBack);
  });
});
