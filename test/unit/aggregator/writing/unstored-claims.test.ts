import { describe, expect, it } from "vitest";
import type { UnstoredClaim } from "../../../../aggregator/core/watch-history.ts";
import { UnstoredClaims } from "../../../../aggregator/writing/unstored-claims.ts";
import type { Claim } from "../../../../common/storage/claim.ts";
import { claimWith, NOON, statusWith } from "../world.ts";

const UNUSED = statusWith({ unused: true, reason: "Unmounted", sinceMs: NOON - 7_200_000 });
describe("decisions that are not stored", () => {
  it("are not handed over where there are too many of them", () => {
    const claims = Array.from({ length: 101 }, (_, index) =>
      claimWith({ key: `shop/c${index}`, uid: `u${index}`, status: UNUSED }),
    );
    const { unstored } = unstoredOf(claims);

    for (const claim of claims.slice(0, 100)) unstored.note(claim, UNUSED);
    const listed = unstored.list()?.length;
    for (const claim of claims) unstored.note(claim, UNUSED);

    expect(listed).toBe(100);
    expect(unstored.list()).toBeUndefined();
  });
});

/** Of no pod is known that it ended. */
const BEGIN = { nowMs: NOON, knows: () => false };

function unstoredOf(claims: readonly Claim[], inherited: readonly UnstoredClaim[] = []): UnstoredClaims {
  const byKey = new Map(claims.map((claim) => [claim.key, claim]));
  const unstored = new UnstoredClaims({ claim: (key) => byKey.get(key), claims: () => byKey.values() });
  unstored.begin(inherited, BEGIN);
  return unstored;
}

describe("decisions that a predecessor could not store", () => {
  it.each([
    { name: "counts as used until now", status: UNUSED, isKnown: false, sinceMs: NOON },
    { name: "whose end this replica knows waits for its decision", status: UNUSED, isKnown: true, sinceMs: undefined },
    { name: "that is stored as in use waits for its nodes", status: IN_USE, isKnown: false, sinceMs: undefined },
  ])("have no time: a claim that $name", ({ status, isKnown, sinceMs }) => {
    const claim = claimWith({ status });
    const { unstored } = unstoredOf([claim]);

    unstored.begin([{ uid: "claim-1", sinceMs: undefined }], { ...BEGIN, knows: () => isKnown });

    expect(unstored.notBeforeMs(claim)).toBe(sinceMs);
  });

  it("are dropped with their claims", () => {
    const unstored = unstoredOf(
      [claimWith({ status: UNUSED })],
      [
        { uid: "gone", sinceMs: NOON },
        { uid: claim.uid, sinceMs: LATER.sinceMs },
      ],
    );
    unstored.settle(claim);
    const before = [unstored.list(), unstored.notBeforeMs(claim)];

    unstored.settle({ ...claim, status: LATER });

    expect(before).toEqual([[{ uid: claim.uid, sinceMs: LATER.sinceMs }], LATER.sinceMs]);
    expect([unstored.list(), unstored.notBeforeMs(claim)]).toEqual([[], undefined]);
  });
});

describe("a claim whose stored time went back, as after a restore of etcd", () => {
  it("gets the later time back, also by a replica that began to lead since, until it is stored", () => {
    const claim = claimWith({ status: UNUSED });
    const { unstored } = unstoredOf([claim]);
    for (const sinceMs of [LATER.sinceMs, LATER.sinceMs - 1_000])
      unstored.onClaimRolledBack({ ...claim, status: { ...LATER, sinceMs } });
    unstored.begin([], BEGIN);
    unstored.settle(claim);
    const before = unstored.notBeforeMs(claim);

    unstored.settle({ ...claim, status: LATER });

    expect([before, unstored.notBeforeMs(claim)]).toEqual([LATER.sinceMs, undefined]);
  });
});

describe("a leader session", () => {
  let harness: Harness;
  afterEach(() => harness.stop());

  it("hands over nothing of a pod that had finished before, until the pod is gone", async () => {
    harness = new Harness({ claims: [claimWith({ status: UNUSED })], nodes: [nodeWith("n1")] });
    harness.cluster.pods.set("pod-1", podWith({ isTerminal: true }));
    await harness.start();
    const whileThere = harness.unstored.list();

    await harness.removePod("pod-1", "300");

    expect([whileThere, harness.unstored.list()]).toEqual([[], [{ uid: "claim-1", sinceMs: undefined }]]);
  });

  it("keeps nothing of a claim that goes while the answer to its write is under way", async () => {
    const volumes = [volumeWith({ isHostPath: true })];
    harness = await new Harness({ claims: [claimWith({ status: UNUSED })], volumes, nodes: [nodeWith("n1")] }).start();
    harness.holdWrites();
    await harness.putPod(podWith());
    harness.outcomes.push("stored");
    harness.cluster.byKey.clear();
    harness.reconciler.onClaimGone(claimWith({ status: UNUSED }));

    harness.letWrites();
    await harness.advance(60_000);

    expect(harness.writes).toHaveLength(1);
    expect([harness.reconciler.remembered, harness.unstored.list()]).toEqual([0, []]);
  });
});
