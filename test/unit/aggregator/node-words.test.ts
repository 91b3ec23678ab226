import { afterEach, describe, expect, it } from "vitest";
import { attachedKey } from "../../../aggregator/core/cluster-objects.ts";
import type { Harness, HarnessOptions } from "./harness.ts";
import { idle, releasedNow, reportAt, statusOf, stopHarnesses, tell, tellEnds, tellMounted } from "./running.ts";
import {
  claimWith,
  mountedStatus,
  mountedVolumeOf,
  NOON,
  nodeWith,
  podWith,
  statusWith,
  unmountRecordOf,
  volumeWith,
} from "./world.ts";

/** A running aggregator; nobody has reported. */
async function unheard(options: HarnessOptions = {}): Promise<Harness> {
  return await idle(options).start();
}

afterEach(stopHarnesses);

describe("a node without an agent", () => {
  it("a pod's end counts there when it was seen, and no promise is made", async () => {
    const harness = await unheard({ livingKubelets: ["n1"] });
    await harness.advance(700_000);
    await harness.putPod(podWith());
    await harness.advance(10_000);

    await harness.removePod("pod-1", "300");

    expect(statusOf(harness)).toMatchObject({ unused: true, reason: "NoPodUsing", sinceMs: NOON + 710_000 });
    expect(statusOf(harness)?.lastUse).toMatchObject({ evidence: "pod-status", pod: "shop/web-0" });
  });

  it("a pod that ended while it was not yet known counts from when that was seen", async () => {
    const harness = await unheard({ livingKubelets: ["n1"] });
    await harness.putPod(podWith());
    await harness.advance(100_000);

    await harness.removePod("pod-1", "300");
    await harness.advance(500_999);
    const waiting = statusOf(harness);
    await harness.advance(1);

    expect(waiting).toMatchObject({
      unused: false,
      message: "Not known to be unused: no report from n1 (pod shop/web-0 ended there)",
    });
    expect(statusOf(harness)).toMatchObject({ unused: true, reason: "NoPodUsing", sinceMs: NOON + 100_000 });
  });

  it("what it had mounted when its agent left stays mounted, over a restart of the aggregator, too", async () => {
    const harness = await unheard({ livingKubelets: ["n1"] });
    await tellMounted(harness, ["pod-1"]);

    await harness.advance(3_600_000);
    const before = statusOf(harness);
    await harness.restart();
    await harness.advance(3_600_000);

    expect(before).toMatchObject({ unused: false, reason: "Mounted" });
    expect(before?.message).toContain("; no report of the mounts on n1, ");
    expect(statusOf(harness)).toEqual(before);
  });
});

describe("a Stale node", () => {
  const nodes = [nodeWith("n1"), nodeWith("n2")];
  const staging = { kind: "staging", volume: { by: "name", name: "pv-1" }, since: 0 } as const;

  it("delays the claims whose volume it has staged, and names itself", async () => {
    const harness = await unheard({ nodes });
    await tell(harness, { mountedVolumes: [staging] });
    await tellMounted(harness, ["pod-2"], { node: "n2" });
    await harness.advance(80_000);
    await tellMounted(harness, ["pod-2"], { node: "n2" });
    await harness.advance(20_000);

    await tellEnds(harness, [releasedNow(harness, "pod-2")], { node: "n2" });
    await harness.advance(5_000);
    const waiting = statusOf(harness);
    await tell(harness);

    expect(waiting).toMatchObject({
      unused: false,
      message: "Not known to be unused: no report from n1 (had it mounted)",
    });
    expect(statusOf(harness)).toMatchObject({ unused: true, reason: "Unmounted", sinceMs: NOON + 100_000 });
  });
});

describe("a node that the volume is attached to", () => {
  const csi = { driver: "csi.example", handleHash: "a".repeat(64) };

  it.each<{ readonly name: string; readonly next: (harness: Harness) => Promise<unknown> }>([
    { name: "until it has reported", next: (harness) => tell(harness) },
    { name: "as long as it is attached", next: (harness) => harness.attach("pv-1", []) },
  ])("is waited for after a start $name", async ({ next }) => {
    const harness = idle();
    harness.cluster.attachments.set("pv-1", ["n1"]);
    await harness.start();
    await harness.advance(200_000);
    const waiting = statusOf(harness);

    await next(harness);

    expect(waiting).toBeUndefined();
    expect(statusOf(harness)).toMatchObject({ unused: true, reason: "NeverObservedInUse", sinceMs: NOON + 200_000 });
  });

  it("is told by the volumes that its kubelet has in use, too; one handle stands for all volumes with it", async () => {
    const claims = [claimWith(), claimWith({ name: "copy", uid: "claim-2", volume: "pv-2" })];
    const copy = { key: "pv-2", uid: "volume-2", claim: { key: "shop/copy", uid: "claim-2" } };
    const volumes = [volumeWith({ csi }), volumeWith({ ...copy, csi })];
    const harness = await unheard({
      claims,
      volumes,
      nodes: [{ ...nodeWith("n1"), volumesInUse: [attachedKey(csi)] }],
    });
    await harness.advance(60_000);
    const waiting = [statusOf(harness), statusOf(harness, "shop/copy")];

    await tell(harness);

    expect(waiting).toEqual([undefined, undefined]);
    expect([statusOf(harness), statusOf(harness, "shop/copy")]).toMatchObject([{ unused: true }, { unused: true }]);
  });

  it("two volumes with one handle: staged both are, used only the one that a pod has mounted", async () => {
    const claims = [claimWith(), claimWith({ name: "copy", uid: "claim-2", volume: "pv-2" })];
    const copy = { key: "pv-2", uid: "volume-2", claim: { key: "shop/copy", uid: "claim-2" } };
    const harness = await unheard({ claims, volumes: [volumeWith({ csi }), volumeWith({ ...copy, csi })] });
    const staging = { kind: "staging", volume: { by: "handle", ...csi }, since: 0 } as const;

    await tell(harness, { mountedVolumes: [staging, mountedVolumeOf("pod-1")] });

    expect(statusOf(harness)).toMatchObject({ unused: false, reason: "Mounted" });
    expect(statusOf(harness, "shop/copy")).toMatchObject({ unused: true });
    expect(harness.reconciler.claimFacts("shop/copy")).toMatchObject({ holders: [], pendingNodes: [] });
  });
});

describe("a node that is gone", () => {
  const mounted = { mountedVolumes: [mountedVolumeOf("pod-1")] };

  /** The claim is mounted on `n1`, whose object was deleted six minutes ago. */
  async function withGoneNode(): Promise<Harness> {
    const harness = await unheard();
    await tell(harness, mounted);
    await harness.advance(60_000);
    await harness.removeNode("n1");
    await harness.advance(360_000);
    return harness;
  }

  it("a report that still shows the mount makes it mounted again", async () => {
    const harness = await withGoneNode();

    await tell(harness, mounted);

    expect(statusOf(harness)).toMatchObject({ unused: false, reason: "Mounted", sinceMs: NOON + 420_000 });
  });

  it("its real end replaces the one that was assumed, and the time is no earlier for that", async () => {
    const harness = await withGoneNode();
    const released = unmountRecordOf("pod-1", { after: 1_800_000 + 99_990, by: 1_800_000 + 100_000 });

    const ageMs = harness.clock.monotonicMs() - released.by;
    const clockSamples = [{ at: released.by - 10, ms: harness.clock.wallMs() - ageMs - 10 }];
    const early = await tell(harness, { unmountRecords: [released], clockSamples });
    const late = await tell(harness, { unmountRecords: [released] });

    expect(statusOf(harness)).toMatchObject({
      unused: true,
      reason: "Unmounted",
      sinceMs: NOON + 360_000,
      lastUse: { releaseId: released.id, evidence: "mount-table", uncertaintyMs: 10 },
    });
    expect([early, late]).toEqual([[], [released.id]]);
  });

  it("a machine that comes back under its name in another boot had unmounted by its first scan", async () => {
    const harness = await withGoneNode();
    await harness.putNode({ ...nodeWith("n1", "boot-2"), uid: "other" });
    await harness.advance(600_000);
    const before = statusOf(harness);

    const endedAt = 30_000;
    const fresh = { bootId: "boot-2", instance: "run-2", scan: { beganAt: endedAt - 1, endedAt }, sentAt: endedAt };
    await harness.report(reportAt(harness, fresh));

    expect(before).toMatchObject({ reason: "NodeGone", sinceMs: NOON + 360_000 });
    expect(statusOf(harness)).toMatchObject({ unused: true, reason: "Unmounted", sinceMs: NOON + 1_020_000 });
  });

  it("after a restart of the aggregator nothing moves the time that is stored", async () => {
    const harness = await withGoneNode();
    const before = statusOf(harness);
    const { length } = harness.writes;

    await harness.restart();
    await harness.advance(3_600_000);

    expect(harness.writes).toHaveLength(length);
    expect(statusOf(harness)).toEqual(before);
  });

  it("back after a restart of the aggregator without a record of the use, that ended when it was noticed", async () => {
    const harness = await withGoneNode();
    await harness.restart();
    await harness.advance(60_000);

    await harness.putNode({ ...nodeWith("n1"), uid: "other" });
    const observedSince = harness.clock.monotonicMs();
    await tell(harness, { instance: "run-2", observedSince });

    expect(statusOf(harness)).toMatchObject({ unused: true, reason: "NoPodUsing", sinceMs: NOON + 480_000 });
  });

  it("a report of a scan that began before it was given up is not the last word", async () => {
    const harness = await withGoneNode();
    const released = unmountRecordOf("pod-1", { after: 1_800_000 + 99_990, by: 1_800_000 + 100_000 });
    const late = reportAt(harness, { unmountRecords: [released] });
    const scan = { beganAt: 1_800_000 + 99_999, endedAt: 1_800_000 + 100_000 };

    await harness.report({ ...late, scan });
    const before = statusOf(harness);
    const { mountedVolumes: _, unmountRecords: __, ...head } = reportAt(harness, { generation: late.generation });
    await harness.report(head);

    expect(before).toMatchObject({ reason: "NodeGone" });
    expect(statusOf(harness)).toMatchObject({ reason: "Unmounted", lastUse: { releaseId: released.id } });
  });

  it("gone before the aggregator started, what the stored status says was mounted there ended five minutes later", async () => {
    const claims = [claimWith({ status: mountedStatus(["n1"], { sinceMs: NOON - 60_000 }) })];
    const harness = await unheard({ claims, nodes: [] });

    await harness.advance(299_999);
    const waiting = statusOf(harness);
    await harness.advance(1);

    expect(waiting?.unused).toBe(false);
    expect(statusOf(harness)).toMatchObject({ unused: true, reason: "NodeGone", sinceMs: NOON + 300_000 });
  });

  it("a pod whose mount nobody saw is assumed to have ended its use with it", async () => {
    const harness = await unheard();
    await tell(harness);
    await harness.putPod(podWith());
    await harness.removeNode("n1");
    await harness.advance(100_000);

    await harness.removePod("pod-1", "300");
    await harness.advance(199_999);
    const waiting = statusOf(harness);
    await harness.advance(1);

    expect(waiting?.unused).toBe(false);
    expect(statusOf(harness)).toMatchObject({ unused: true, reason: "NodeGone", sinceMs: NOON + 300_000 });
  });

  it("a pod that is deleted after its node was given up used its volume until then", async () => {
    const harness = await unheard();
    await harness.putPod(podWith());
    await tell(harness, mounted);
    await harness.putNode({ ...nodeWith("n1"), isOutOfService: true, isReady: false });
    await harness.advance(100_000);
    const referenced = statusOf(harness);

    await harness.removePod("pod-1", "300");

    expect(referenced).toMatchObject({ unused: false, reason: "Referenced" });
    expect(statusOf(harness)).toMatchObject({ unused: true, reason: "NodeGone", sinceMs: NOON + 100_000 });
  });
});

describe("what is remembered", () => {
  it("nothing of claims at rest, and of one in use until its end is stored", async () => {
    const names = Array.from({ length: 30 }, (_, index) => `idle-${index}`);
    const idle = names.map((name) =>
      claimWith({ name, uid: name, volume: name, status: statusWith({ unused: true, reason: "Unmounted" }) }),
    );
    const harness = await unheard({ claims: [claimWith(), ...idle] });
    await harness.catchUp();
    const rest = harness.reconciler.remembered;
    await harness.putPod(podWith());
    await tellMounted(harness, ["pod-1"]);
    await harness.advance(10_000);
    const used = harness.reconciler.remembered;

    await harness.removePod("pod-1", "300");
    await tellEnds(harness, [releasedNow(harness, "pod-1")], { podsResourceVersion: "300" });
    await harness.catchUp();
    await tell(harness, { podsResourceVersion: "300" });
    await harness.enqueueAll();

    expect(statusOf(harness)).toMatchObject({ unused: true, reason: "Unmounted" });
    expect([rest, used, harness.reconciler.remembered]).toEqual([0, 1, 0]);
  });
});
