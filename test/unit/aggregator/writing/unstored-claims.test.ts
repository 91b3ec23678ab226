import { afterEach, describe, expect, it } from "vitest";
import type { UnstoredClaim } from "../../../../aggregator/core/watch-history.ts";
import { UnstoredClaims } from "../../../../aggregator/writing/unstored-claims.ts";
import type { Claim } from "../../../../common/storage/claim.ts";
import { Harness } from "../harness.ts";
import { claimWith, NOON, nodeWith, podWith, statusWith, volumeWith } from "../world.ts";

const HOUR_MS = 3_600_000;
const UNUSED = statusWith({ unused: true, reason: "Unmounted", sinceMs: NOON - 2 * HOUR_MS });
const LATER = { ...UNUSED, sinceMs: NOON - HOUR_MS };
const IN_USE = statusWith();
const GAP = { fromMs: NOON - 2_000, toMs: NOON - 1_000 };
/** Nothing is known of the end of any pod. */
const BEGIN = { nowMs: NOON, knows: () => false };

function unstoredOf(claims: readonly Claim[], inherited: readonly UnstoredClaim[] = []) {
  const byKey = new Map(claims.map((claim) => [claim.key, claim]));
  const unstored = new UnstoredClaims({ claim: (key) => byKey.get(key), claims: () => byKey.values() });
  unstored.begin(inherited, BEGIN);
  return { unstored, byKey };
}

describe("decisions that are not stored", () => {
  it.each([
    {
      name: "of an unused claim that was used: its new time",
      stored: UNUSED,
      decided: LATER,
      sinceMs: [LATER.sinceMs],
    },
    { name: "of an unused claim that is used now: no time", stored: UNUSED, decided: IN_USE, sinceMs: [undefined] },
    { name: "of a claim in use: nothing, as its nodes tell it again", stored: IN_USE, decided: LATER, sinceMs: [] },
    {
      name: "of a claim in use, for a gap: its time, as its nodes tell that once",
      stored: IN_USE,
      decided: { ...LATER, blindGap: GAP },
      sinceMs: [LATER.sinceMs],
    },
  ])("are handed over $name", ({ stored, decided, sinceMs }) => {
    const claim = claimWith({ status: stored });
    const { unstored } = unstoredOf([claim]);

    unstored.note(claim, { ...LATER, blindGap: GAP });
    unstored.note(claim, decided);

    expect(unstored.list()).toEqual(sinceMs.map((ms) => ({ uid: claim.uid, sinceMs: ms })));
  });

  it("are handed over without a time for an unused claim with a use whose end is not decided", () => {
    const [claim, inUse] = [
      claimWith({ status: UNUSED }),
      claimWith({ key: "shop/used", uid: "used", status: IN_USE }),
    ];
    const { unstored } = unstoredOf([claim, inUse]);

    unstored.follow(() => [claim.key, inUse.key, "shop/gone"]);

    expect(unstored.list()).toEqual([{ uid: claim.uid, sinceMs: undefined }]);
  });

  it.each([
    { name: "is stored", end: (unstored: UnstoredClaims, claim: Claim) => unstored.settle(claim) },
    { name: "is forgotten", end: (unstored: UnstoredClaims, claim: Claim) => unstored.forget(claim) },
    { name: "is gone", end: (_: UnstoredClaims, __: Claim, byKey: Map<string, Claim>) => byKey.clear() },
  ])("are handed over until the claim $name", ({ end }) => {
    const claim = claimWith({ status: UNUSED });
    const { unstored, byKey } = unstoredOf([claim]);
    unstored.note(claim, LATER);

    end(unstored, claim, byKey);

    expect(unstored.list()).toEqual([]);
  });

  it("are not handed over where there are more than a hundred", () => {
    const claims = Array.from({ length: 101 }, (_, index) =>
      claimWith({ key: `shop/c${index}`, uid: `u${index}`, status: UNUSED }),
    );
    const { unstored } = unstoredOf(claims);

    for (const claim of claims.slice(0, 100)) unstored.note(claim, UNUSED);
    const listed = unstored.list()?.length;
    for (const claim of claims) unstored.note(claim, UNUSED);

    expect([listed, unstored.list()]).toEqual([100, undefined]);
  });
});

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

  it("date the claim until that is stored, and are dropped with their claims", () => {
    const claim = claimWith({ status: UNUSED });
    const { unstored } = unstoredOf(
      [claim],
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
