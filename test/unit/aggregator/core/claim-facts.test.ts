import { describe, expect, it } from "vitest";
import { factsOf } from "../../../../aggregator/core/claim-facts.ts";
import type { UseEnd } from "../../../../aggregator/core/use-end.ts";
import type { LastUse } from "../../../../common/storage/claim-status.ts";
import { claimWith, NOON, nodeUnmountRecord, statusWith, viewWith, volumeWith } from "../world.ts";
import { evidenceWith, fleetWith, useOn } from "./evidence.ts";

describe("factsOf", () => {
  it.each(
    // biome-ignore format: a row is a line
    [
      { name: "a bound claim is eligible", claim: claimWith(), isEligible: true },
      { name: "a bound claim that names no volume needs to see none", claim: claimWith({ volume: undefined, uid: "claim-9" }), isEligible: true },
      { name: "a pending claim is not", claim: claimWith({ phase: "Pending" }), isEligible: false },
      { name: "a lost claim is not", claim: claimWith({ phase: "Lost" }), isEligible: false },
      { name: "a claim that is being deleted, and of which nothing was written, is not", claim: claimWith({ isDeleting: true }), isEligible: false },
      {
        name: "one that is being deleted is while our condition may keep it",
        claim: claimWith({ isDeleting: true, status: statusWith() }),
        isEligible: true,
      },
      {
        name: "so is one that somebody else's condition of that name may keep",
        claim: claimWith({ isDeleting: true, isDisbelieved: true }),
        isEligible: true,
      },
      {
        name: "a lost claim that is being deleted is not",
        claim: claimWith({ isDeleting: true, phase: "Lost", status: statusWith() }),
        isEligible: false,
      },
    ],
  )("$name", ({ claim, isEligible }) => {
    expect(factsOf(evidenceWith({ claim, volume: volumeWith() }), fleetWith([])).isEligible).toBe(isEligible);
  });

  it.each(
    // biome-ignore format: a row is a line
    [
      { name: "has not been seen", volume: undefined },
      { name: "has not been seen bound", volume: volumeWith({ claim: undefined }) },
      { name: "was last seen bound to another claim", volume: volumeWith({ claim: { key: "shop/data", uid: "claim-0" } }) },
    ],
  )("a bound claim is not eligible while its volume $name: no mount would be known to be its own", ({ volume }) => {
    expect(factsOf(evidenceWith({ volume }), fleetWith([])).isEligible).toBe(false);
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
    const unmountRecords = [
      nodeUnmountRecord(),
      nodeUnmountRecord({ id: "release-2", podUid: "pod-2", pod: undefined }),
    ];

    const facts = factsOf(evidenceWith({ unmountRecords }), fleetWith([]));

    expect(facts.ends.map(({ id, pod, wasUse }) => ({ id, pod, wasUse }))).toEqual([
      { id: "release-1", pod: "shop/web-0", wasUse: true },
      { id: "release-2", pod: "shop/pod-2", wasUse: true },
    ]);
  });

  it("the end of a use that no scan ever showed comes beside those that were read", () => {
    const unread: UseEnd = {
      ...{ id: "pod-9/200", reason: "Unmounted", evidence: "mount-table", byMs: NOON, widthMs: undefined },
      ...{ node: "n1", pod: "shop/web-9", podUid: "pod-9", wasUse: true },
    };

    const facts = factsOf(
      evidenceWith({ unmountRecords: [nodeUnmountRecord()], history: { pending: [], ends: [unread] } }),
      fleetWith([]),
    );

    expect(facts.ends.map(({ id }) => id)).toEqual(["release-1", "pod-9/200"]);
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
    readonly scanBeganMs?: number;
    readonly isNodeBack: boolean;
  }>([
    { name: "a node that has read its mount table since is back", isNodeBack: true },
    { name: "a late report of what was read before is not enough", scanBeganMs: NOON, isNodeBack: false },
    { name: "another node's report is not enough", fields: { node: "n2" }, isNodeBack: false },
    { name: "an end that was read is not assumed", fields: { evidence: "mount-table" }, isNodeBack: false },
  ])("$name", ({ fields, scanBeganMs = NOON + 1, isNodeBack }) => {
    const status = statusWith({ unused: true, reason: "NodeGone", lastUse: { ...lastUse, ...fields } });
    const evidence = evidenceWith({ claim: claimWith({ status }) });

    const facts = factsOf(evidence, fleetWith([viewWith({ scanBeganMs })]));

    expect(facts.isNodeBack).toBe(isNodeBack);
  });
});
