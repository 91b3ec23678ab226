import { afterEach, describe, expect, it } from "vitest";
import type { Harness } from "../harness.ts";
import {
  idle,
  reasonsOf,
  releasedNow,
  running,
  statusOf,
  stopHarnesses,
  tell,
  tellEnds,
  tellMounted,
} from "../running.ts";
import { claimWith, mountedVolumeOf, NOON, nodeWith, podWith, statusWith, volumeWith } from "../world.ts";

afterEach(stopHarnesses);

const TWO_NODES = [nodeWith("n1"), nodeWith("n2")];

/** From 3 to 10 s after the start a pod of n1 has a claim mounted that was there before; n2 has still to be heard of 10 s later. */
async function usedBefore(): Promise<Harness> {
  const harness = await running({ nodes: TWO_NODES }, { silent: ["n2"] });
  await harness.advance(3_000);
  await tellMounted(harness, ["pod-1"]);
  await harness.advance(7_000);
  await tell(harness);
  await harness.advance(10_000);
  return harness;
}

describe("a claim that is there when the aggregator starts", () => {
  it("in use nobody knows where waits for each node that may be the one, and says so", async () => {
    const harness = await running({ claims: [claimWith({ status: statusWith() })] }, { silent: ["n1"] });

    await harness.advance(3_600_000);
    const waiting = harness.writes.slice();
    await tell(harness);

    expect(waiting).toMatchObject([{ unused: false, reason: "Referenced", message: expect.stringContaining("n1") }]);
    expect(harness.writes.slice(1)).toMatchObject([{ unused: true, reason: "NoPodUsing", sinceMs: NOON + 3_600_000 }]);
  });

  it("with a status that nobody may believe is told of in one write while a node is Stale, and so is one without a status", async () => {
    const bare = claimWith({ name: "bare", uid: "claim-2", volume: "pv-2" });
    const volumes = [volumeWith(), volumeWith({ key: "pv-2", claim: { key: bare.key, uid: bare.uid } })];
    const harness = await running({ claims: [], volumes }, { silent: ["n1"] });
    for (const { key } of volumes) await harness.attach(key, ["n1"]);
    await harness.putClaim(claimWith({ isDisbelieved: true }));
    await harness.putClaim(bare);
    await harness.advance(60_000);
    const early = harness.writes.slice();
    await harness.advance(3_540_000);
    const waiting = harness.writes.slice();

    await tell(harness);
    await harness.advance(3_600_000);

    const reasons = harness.writes.slice(1).map(({ reason, sinceMs }) => `${reason} ${sinceMs - NOON}`);
    expect(early).toEqual([]);
    expect(waiting).toMatchObject([{ unused: false, reason: "Referenced", message: expect.stringContaining("n1") }]);
    expect(reasons.toSorted()).toEqual(["NeverObservedInUse 3600000", "NoPodUsing 3600000"]);
  });

  it("and never had a status is not called unused when the last node tells of a mount that no pod explains", async () => {
    const harness = await running({ nodes: TWO_NODES }, { silent: ["n2"] });
    await harness.advance(10_000);

    await tellMounted(harness, ["pod-1"], { node: "n2" });
    await harness.advance(10_000);

    expect(reasonsOf(harness)).toEqual(["Mounted"]);
  });

  it.each([
    {
      name: "stays in use when the last node tells of another use",
      mountedVolumes: [mountedVolumeOf("pod-2")],
      told: { unused: false },
    },
    {
      name: "is unused since that end when the last node tells of no use",
      mountedVolumes: [],
      told: { unused: true, reason: "Unmounted", sinceMs: NOON + 10_000 },
    },
  ])("and whose use this run saw from begin to end $name", async ({ mountedVolumes, told }) => {
    const harness = await usedBefore();
    const early = harness.writes.map(({ unused }) => unused);

    await tell(harness, { node: "n2", mountedVolumes });
    await harness.advance(1_000);

    expect(early).toEqual([false]);
    expect(harness.writes.at(-1)).toMatchObject(told);
    expect(harness.writes.slice(0, -1).some(({ unused }) => unused)).toBe(false);
  });

  it("stays staged until the node has reported that it is not", async () => {
    const staged = "Staged on node n1";
    const status = statusWith({ unused: true, reason: "Unmounted", sinceMs: NOON - 60_000, staged });
    const harness = await running({ claims: [claimWith({ status })], protection: "enforce" }, { silent: ["n1"] });
    await harness.advance(20_000);
    const before = [...harness.writes];

    await tell(harness);
    await harness.advance(1_000);

    expect([before, harness.writes.map((one) => one.staged)]).toEqual([[], [undefined]]);
  });

  it("waits for the nodes from when everything is listed, however long that took", async () => {
    const harness = idle({ claims: [claimWith({ status: statusWith() })] });

    await harness.advance(300_000);
    await harness.start();
    await harness.advance(60_000);

    expect([harness.unreported, harness.writes]).toEqual([["n1"], []]);
  });
});

describe("what pods tell of a claim", () => {
  it("has to be shown before an unmount record of theirs is settled, and moves no time of it", async () => {
    const harness = await running();
    await tellMounted(harness, ["pod-1"]);
    await harness.advance(10_000);
    const released = releasedNow(harness, "pod-1");
    harness.cluster.podsAt = "299";
    const told = () => tellEnds(harness, [released], { podsResourceVersion: "301" });
    await told();
    const early = await told();

    await harness.putPod(podWith());
    const whilePodIsThere = await told();
    harness.cluster.podsAt = "301";
    await harness.removePod("pod-1", "301");
    await harness.advance(10_000);

    expect([early, whilePodIsThere, await told()]).toEqual([[], [], [released.id]]);
    expect(statusOf(harness)).toMatchObject({
      ...{ unused: true, reason: "Unmounted" },
      lastUse: { releaseId: released.id, releasedAtMs: NOON + 10_000 },
    });
  });

  it("is not known while the watch of them is interrupted: the claim is not called unused before it goes on", async () => {
    const harness = await running({ claims: [] });
    harness.cluster.podsAt = undefined;
    const claim = claimWith({ status: statusWith({ unused: false, reason: "Referenced" }) });
    await harness.putClaim(claim);
    await harness.advance(10_000);
    const before = harness.writes.length;

    harness.cluster.podsAt = "400";
    await harness.advance(10_000);

    expect([before, harness.writes.map(({ unused }) => unused)]).toEqual([0, [true]]);
  });

  it("may be that a mount is of an inline volume of its volume's name: it counts no longer", async () => {
    const harness = await running();
    await tellMounted(harness, ["pod-1"]);
    const before = harness.writes.at(-1);

    await harness.putPod(podWith({ claims: [] }));
    await harness.advance(10_000);

    expect(before).toMatchObject({ unused: false, reason: "Mounted" });
    expect(harness.writes.at(-1)).toMatchObject({ unused: true });
  });

  it("is judged anew when the node is back on which one is not known to have started", async () => {
    const harness = await running();
    await harness.putPod(podWith({ hasStarted: false }));
    await harness.putNode({ ...nodeWith("n1"), isOutOfService: true, isReady: false });
    await harness.advance(100_000);
    await harness.removePod("pod-1", "301");
    await harness.advance(10_000);
    const gone = harness.writes.at(-1);
    await harness.putNode(nodeWith("n1"));
    await harness.advance(100_000);
    const [at, backMs] = [harness.clock.monotonicMs(), harness.clock.wallMs()];

    await tell(harness, { podsResourceVersion: "301", observedSince: at, agentGaps: [{ from: 1, to: at }] });
    await harness.advance(10_000);

    expect(gone).toMatchObject({ unused: true, reason: "NodeGone", lastUse: { podUid: "pod-1", node: "n1" } });
    expect(harness.writes.at(-1)).toMatchObject({ unused: true, reason: "NoPodUsing", sinceMs: backMs });
  });

  it("moves no time of mounts that were gone before them", async () => {
    const harness = await running();
    await harness.putPod(podWith());
    await harness.putPod(podWith({ key: "shop/web-1", uid: "pod-2" }));
    await tellMounted(harness, ["pod-1", "pod-2"]);
    await harness.advance(10_000);
    const first = releasedNow(harness, "pod-1");
    await tellMounted(harness, ["pod-2"], { unmountRecords: [first] });
    await harness.advance(10_000);
    const second = releasedNow(harness, "pod-2");
    const clockSamples = [{ at: second.after ?? 0, ms: harness.clock.wallMs() - 10 }];
    await tellEnds(harness, [first, second], { clockSamples });
    await harness.advance(10_000);
    await harness.removePod("pod-1", "301");
    await harness.removePod("pod-2", "302");
    await harness.advance(10_000);
    await tellEnds(harness, [first, second], { podsResourceVersion: "302", clockSamples });

    expect(harness.writes.at(-1)).toMatchObject({ unused: true, reason: "Unmounted", sinceMs: NOON + 20_000 });
    expect(harness.writes.at(-1)?.lastUse).toMatchObject({ releaseId: second.id, uncertaintyMs: 10 });
  });
});
