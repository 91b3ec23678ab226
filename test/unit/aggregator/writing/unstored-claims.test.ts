import { afterEach, describe, expect, it } from "vitest";
import type { UnstoredClaim } from "../../../../aggregator/core/watch-history.ts";
import { UnstoredClaims } from "../../../../aggregator/writing/unstored-claims.ts";
import { ApiError } from "../../../../common/kube/client.ts";
import { MooringError } from "../../../../common/runtime/errors.ts";
import type { Claim } from "../../../../common/storage/claim.ts";
import { Harness, type WriteOutcome } from "../harness.ts";
import { claimWith, NOON, nodeWith, podWith, reportWith, statusWith, volumeWith } from "../world.ts";

const UNUSED = statusWith({ unused: true, reason: "Unmounted", sinceMs: NOON - 7_200_000 });
const HOST_PATH = volumeWith({ isHostPath: true });
const FORBIDDEN = new ApiError("may not patch", { status: 403, retryAfterMs: undefined });
const REFUSED = new ApiError("a webhook says no", { status: 422, retryAfterMs: undefined });
const FAILED = new MooringError("transport-failed", "the connection broke");

const harnesses: Harness[] = [];

async function running(claims: readonly Claim[] = [claimWith({ status: UNUSED })]): Promise<Harness> {
  const harness = new Harness({ claims, volumes: [HOST_PATH], nodes: [nodeWith("n1")] });
  harnesses.push(harness);
  return harness.start();
}

afterEach(async () => {
  await Promise.all(harnesses.splice(0).map((harness) => harness.stop()));
});

function fails(error: Error): WriteOutcome {
  return { fails: error, isStored: false };
}

/** A pod uses the volume for a minute. */
async function use(harness: Harness): Promise<number> {
  await harness.putPod(podWith());
  await harness.advance(60_000);
  await harness.removePod("pod-1", "300");
  const endedAtMs = harness.clock.wallMs();
  const endedAt = harness.clock.monotonicMs();
  const scan = { beganAt: endedAt - 1, endedAt };
  await harness.report(reportWith({ scan, observedSince: 1, podsResourceVersion: "300" }));
  await harness.advance(100);
  return endedAtMs;
}

describe("decisions that are not stored", () => {
  it.each([
    { name: "refused by a webhook", error: REFUSED },
    { name: "forbidden by a missing role", error: FORBIDDEN },
    { name: "delayed by an API server that fails", error: FAILED },
  ])("are handed over with their time while their write is $name", async ({ error }) => {
    const harness = await running();
    harness.outcomes.push(...Array.from({ length: 50 }, () => fails(error)));

    const endedAtMs = await use(harness);

    const claim = harness.cluster.claim("shop/data");
    expect(claim?.status).toEqual(UNUSED);
    expect(harness.unstored.list()).toEqual([{ uid: claim?.uid, sinceMs: endedAtMs }]);
  });

  it("are those of claims in use, too, where what is stored says unused", async () => {
    const harness = await running();
    harness.outcomes.push(...Array.from({ length: 50 }, () => fails(REFUSED)));

    await harness.putPod(podWith());
    await harness.advance(10_000);

    expect(harness.unstored.list()).toEqual([{ uid: "claim-1", sinceMs: undefined }]);
  });

  it("are none of a claim whose pod was done before and is still there: whoever leads next scans that, too", async () => {
    const harness = new Harness({ claims: [claimWith({ status: UNUSED })], nodes: [nodeWith("n1")] });
    harnesses.push(harness);
    const done = podWith({ isTerminal: true });
    harness.cluster.pods.set(done.uid, done);
    await harness.start();
    const whileThere = harness.unstored.list();

    await harness.removePod("pod-1", "300");

    expect(whileThere).toEqual([]);
    expect(harness.unstored.list()).toEqual([{ uid: "claim-1", sinceMs: undefined }]);
  });

  it("are none of a claim that is deleted", async () => {
    const harness = await running();
    harness.outcomes.push(...Array.from({ length: 50 }, () => fails(REFUSED)));
    await use(harness);
    const claim = harness.cluster.claim("shop/data");

    if (claim !== undefined) harness.reconciler.onClaimGone(claim);

    expect(harness.unstored.list()).toEqual([]);
  });

  it("leave nothing behind of a claim that goes while the answer to its write is under way", async () => {
    const harness = await running();
    harness.holdWrites();
    await harness.putPod(podWith());
    const claim = harness.cluster.claim("shop/data");
    harness.outcomes.push("stored");
    harness.cluster.byKey.clear();
    if (claim !== undefined) harness.reconciler.onClaimGone(claim);

    harness.letWrites();
    await harness.advance(60_000);

    expect(harness.writes).toHaveLength(1);
    expect([harness.reconciler.remembered, harness.unstored.list()]).toEqual([0, []]);
  });

  it("are not handed over where there are too many of them", () => {
    const claims = Array.from({ length: 101 }, (_, index) =>
      claimWith({ name: `c${index}`, uid: `u${index}`, status: UNUSED }),
    );
    const unstored = unstoredOf(claims);

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

describe("a claim whose stored time went back, as after a restore of etcd", () => {
  const EARLIER = statusWith({ ...UNUSED, sinceMs: UNUSED.sinceMs - 3_600_000 });

  it("gets the later time back, also by a replica that began to lead since, and is forgotten then", async () => {
    const harness = await running([claimWith({ status: EARLIER })]);
    harness.unstored.onClaimRolledBack(claimWith({ status: UNUSED }));
    harness.unstored.begin([], BEGIN);

    await harness.enqueueAll();
    await harness.catchUp();

    expect(harness.writes.map((status) => [status.unused, status.sinceMs])).toEqual([[true, UNUSED.sinceMs]]);
    expect(harness.unstored.notBeforeMs(claimWith({ status: EARLIER }))).toBeUndefined();
  });
});

describe("decisions that a predecessor could not store", () => {
  it.each([
    { name: "counts as used until now", status: UNUSED, isKnown: false, sinceMs: NOON },
    { name: "that we know as well says more", status: UNUSED, isKnown: true, sinceMs: undefined },
    {
      name: "of a claim that is stored in use waits for its nodes",
      status: statusWith(),
      isKnown: false,
      sinceMs: undefined,
    },
  ])("for an end that nobody has dated: one $name", ({ status, isKnown, sinceMs }) => {
    const claim = claimWith({ status });
    const unstored = unstoredOf([claim]);

    unstored.begin([{ uid: "claim-1", sinceMs: undefined }], { ...BEGIN, knows: () => isKnown });

    expect(unstored.notBeforeMs(claim)).toBe(sinceMs);
  });

  it("date the claim, though nothing else tells of them any more, and leave the list when they are stored", async () => {
    const harness = await running();
    const sinceMs = NOON - 3_600_000;
    harness.unstored.begin([{ uid: "claim-1", sinceMs }], BEGIN);
    const before = harness.unstored.list();

    await harness.enqueueAll();
    await harness.catchUp();

    expect(before).toEqual([{ uid: "claim-1", sinceMs }]);
    expect(harness.writes.map((status) => [status.unused, status.sinceMs])).toEqual([[true, sinceMs]]);
    expect(harness.unstored.list()).toEqual([]);
  });

  it("are dropped with their claims", () => {
    const unstored = unstoredOf(
      [claimWith({ status: UNUSED })],
      [
        { uid: "gone", sinceMs: NOON },
        { uid: "claim-1", sinceMs: undefined },
      ],
    );

    expect(unstored.list()).toEqual([{ uid: "claim-1", sinceMs: NOON }]);
  });
});
