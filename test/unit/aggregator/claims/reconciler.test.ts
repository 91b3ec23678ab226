import { afterEach, describe, expect, it } from "vitest";
import type { ProtectionMode } from "../../../../aggregator/core/deletion.ts";
import { ApiError } from "../../../../common/kube/client.ts";
import { MooringError } from "../../../../common/runtime/errors.ts";
import type { NodeReport } from "../../../../common/storage/node-report.ts";
import { Harness, type HarnessOptions } from "../harness.ts";
import {
  claimWith,
  mountedStatus,
  mountedVolumeOf,
  NOON,
  nodeWith,
  podWith,
  reportWith,
  statusWith,
  unmountRecordOf,
  volumeWith,
} from "../world.ts";

const conflict = new ApiError("conflict", { status: 409, retryAfterMs: undefined });
const lostAnswer = new MooringError("transport-failed", "the connection broke");

let harnesses: Harness[] = [];

/** A running aggregator; all its nodes have reported, unless `silent` says otherwise. */
async function running(options: HarnessOptions = {}, { silent = [] }: { readonly silent?: readonly string[] } = {}) {
  const nodes = options.nodes ?? [nodeWith("n1")];
  const harness = new Harness({ claims: [claimWith()], volumes: [volumeWith()], ...options, nodes });
  harnesses.push(harness);
  await harness.start();
  for (const { key } of nodes) if (!silent.includes(key)) await harness.report(reportAt(harness, { node: key }));
  return harness;
}

let generation = 0;

/** A report with news of a scan that ended just now, on a boot clock that began at 0 of the fake monotonic clock. */
function reportAt({ clock }: Harness, fields: Partial<NodeReport> = {}): NodeReport {
  const endedAt = clock.monotonicMs();
  generation += 1;
  return reportWith({ scan: { beganAt: endedAt - 1, endedAt }, generation, observedSince: 1, ...fields });
}

/** The end of a mount by this moment. */
function releasedNow({ clock }: Harness, podUid: string) {
  const by = clock.monotonicMs();
  return unmountRecordOf(podUid, { after: by - 10, by });
}

afterEach(async () => {
  await Promise.all(harnesses.map((harness) => harness.stop()));
  harnesses = [];
});

describe("Reconciler", () => {
  it("tells later whether what was told by a moment was looked at and written", async () => {
    const harness = new Harness({ claims: [claimWith()], volumes: [volumeWith()], nodes: [] });
    harnesses.push(harness);
    harness.reconciler.enqueueAll();
    const isDone = harness.reconciler.queue.mark();
    const before = [isDone(), harness.writes.length];

    await harness.start();

    expect([before, isDone(), harness.writes.length]).toEqual([[false, 0], true, 1]);
  });

  it("writes once for each transition, and nothing at rest", async () => {
    const harness = await running();

    await harness.advance(1_000);
    await harness.report(reportAt(harness, { mountedVolumes: [mountedVolumeOf("pod-1")] }));
    await harness.advance(30_000);
    await harness.report(reportAt(harness, { mountedVolumes: [mountedVolumeOf("pod-1")] }));
    await harness.enqueueAll();
    const released = releasedNow(harness, "pod-1");
    await harness.report(reportAt(harness, { unmountRecords: [released] }));
    await harness.advance(3_600_000);
    await harness.report(reportAt(harness, { unmountRecords: [released] }));
    await harness.enqueueAll();

    expect(harness.writes.map(({ reason }) => reason)).toEqual(["NeverObservedInUse", "Mounted", "Unmounted"]);
    expect(harness.writes.at(-1)?.sinceMs).toBe(NOON + 31_000);
  });

  it("decides again on the newer object after a conflict", async () => {
    const harness = await running();
    harness.outcomes.push({ fails: conflict, isStored: false });

    await harness.report(reportAt(harness, { mountedVolumes: [mountedVolumeOf("pod-1")] }));
    const rival = {
      ...claimWith(),
      resourceVersion: "500",
      status: mountedStatus(["n7"], { message: "Mounted on n7" }),
    };
    await harness.putClaim(rival);
    await harness.advance(10_000);

    expect(harness.stored.get("shop/data")).toMatchObject({ resourceVersion: "501" });
    expect(harness.writes.slice(1).map(({ mountedOn }) => mountedOn?.nodes)).toEqual([["n1", "n7"]]);
  });

  it("writes again what a lost answer had stored, only as long as the watch does not show it", async () => {
    const harness = await running();
    harness.outcomes.push({ fails: lostAnswer, isStored: true });

    await harness.report(reportAt(harness, { mountedVolumes: [mountedVolumeOf("pod-1")] }));
    await harness.catchUp();
    await harness.advance(10_000);

    expect(harness.writes.map(({ reason }) => reason)).toEqual(["NeverObservedInUse", "Mounted"]);
  });

  it("counts its own last write until the watch has caught up", async () => {
    const harness = await running();
    harness.outcomes.push("stored");

    await harness.report(reportAt(harness, { mountedVolumes: [mountedVolumeOf("pod-1")] }));
    await harness.enqueueAll();
    await harness.catchUp();

    expect(harness.writes.map(({ reason }) => reason)).toEqual(["NeverObservedInUse", "Mounted"]);
  });

  it("does not fall for a watch that shows an older object than its own write", async () => {
    const harness = await running();
    const old = claimWith();

    await harness.report(reportAt(harness, { mountedVolumes: [mountedVolumeOf("pod-1")] }));
    harness.cluster.byKey.set(old.key, old);
    await harness.enqueueAll();

    expect(harness.writes.map(({ reason }) => reason)).toEqual(["NeverObservedInUse", "Mounted"]);
  });

  it("takes what a watch shows that has come as far as its own write for what was put back from a backup", async () => {
    const harness = await running();
    const backup = { ...(harness.stored.get("shop/data") ?? claimWith()) };
    await harness.report(reportAt(harness, { mountedVolumes: [mountedVolumeOf("pod-1")] }));

    harness.cluster.claimsAt = "100000";
    await harness.putClaim(backup);
    await harness.advance(10_000);

    expect(harness.writes.map(({ reason }) => reason)).toEqual(["NeverObservedInUse", "Mounted", "Mounted"]);
  });

  it("says nothing of a write for a claim that is gone meanwhile", async () => {
    const harness = await running();
    harness.outcomes.push("gone");
    const before = harness.logger.messages().filter((message) => message === "claim status written").length;

    await harness.report(reportAt(harness, { mountedVolumes: [mountedVolumeOf("pod-1")] }));

    const after = harness.logger.messages().filter((message) => message === "claim status written").length;
    expect(after - before).toBe(0);
  });

  it("folds changes of the reason alone over the delay", async () => {
    const harness = await running();
    await harness.report(reportAt(harness, { mountedVolumes: [mountedVolumeOf("pod-1")] }));
    await harness.putPod(podWith());
    const before = harness.writes.length;

    await harness.report(reportAt(harness, { unmountRecords: [releasedNow(harness, "pod-1")] }));
    await harness.advance(4_999);
    const early = harness.writes.length;
    await harness.advance(1);

    expect(early).toBe(before);
    expect(harness.writes.slice(before).map(({ reason }) => reason)).toEqual(["Referenced"]);
  });

  it("a reason that changes back within the delay costs nothing, and the next change waits the whole delay", async () => {
    const harness = await running();
    await harness.putPod(podWith());
    await harness.report(reportAt(harness, { mountedVolumes: [mountedVolumeOf("pod-1")] }));
    await harness.advance(5_000);
    const before = harness.writes.length;

    await harness.report(reportAt(harness, { unmountRecords: [releasedNow(harness, "pod-1")] }));
    await harness.advance(3_000);
    await harness.report(reportAt(harness, { mountedVolumes: [mountedVolumeOf("pod-1")] }));
    await harness.advance(3_000);
    await harness.report(reportAt(harness, { unmountRecords: [releasedNow(harness, "pod-1")] }));
    await harness.advance(4_999);
    const early = harness.writes.length;
    await harness.advance(1);

    expect(early).toBe(before);
    expect(harness.writes).toHaveLength(before + 1);
  });

  it("a short run of a cron job costs two writes", async () => {
    const harness = await running();
    const before = harness.writes.length;

    await harness.putPod(podWith({ hasStarted: false }));
    await harness.advance(1_000);
    await harness.report(reportAt(harness, { mountedVolumes: [mountedVolumeOf("pod-1")] }));
    await harness.putPod(podWith({ resourceVersion: "201" }));
    await harness.advance(2_000);
    await harness.putPod(podWith({ resourceVersion: "202", isTerminal: true }));
    await harness.advance(500);
    await harness.report(
      reportAt(harness, { podsResourceVersion: "202", unmountRecords: [releasedNow(harness, "pod-1")] }),
    );
    await harness.advance(60_000);

    expect(harness.writes.slice(before).map(({ reason }) => reason)).toEqual(["Referenced", "Unmounted"]);
    expect(harness.writes.at(-1)?.sinceMs).toBe(NOON + 4_000);
  });

  it("a claim that is re-created under its name starts anew", async () => {
    const harness = await running();
    await harness.putPod(podWith());
    await harness.report(reportAt(harness, { mountedVolumes: [mountedVolumeOf("pod-1")] }));
    const before = harness.writes.length;

    harness.reconciler.onClaimGone(claimWith());
    harness.cluster.pods.clear();
    harness.cluster.volumes.set("pv-2", volumeWith({ key: "pv-2", claim: { key: "shop/data", uid: "claim-2" } }));
    await harness.putClaim(claimWith({ uid: "claim-2", volume: "pv-2", status: undefined }));

    expect(harness.writes.slice(before)).toMatchObject([{ reason: "NeverObservedInUse", lastUse: undefined }]);
  });

  it.each([
    { name: "before it was made was an earlier claim's", seenAtMs: NOON - 1_001, reasons: [] },
    { name: "in the second in which it was made may be its own", seenAtMs: NOON, reasons: ["Referenced", "Unmounted"] },
  ])("the end of a pod that was seen $name", async ({ seenAtMs, reasons }) => {
    const claim = claimWith({ createdAtMs: NOON, status: statusWith({ unused: true, reason: "NeverObservedInUse" }) });
    const harness = await running({ claims: [claim] });
    const before = harness.writes.length;

    harness.onPodEnded({ pod: podWith(), gone: "300", wasOver: false, seenAtMs });
    await harness.advance(1_000);
    await harness.report(reportAt(harness, { podsResourceVersion: "300" }));

    expect(harness.writes.slice(before).map(({ reason }) => reason)).toEqual(reasons);
  });

  it("a claim that is being deleted goes on telling the truth", async () => {
    const claim = claimWith({ isDeleting: true, status: statusWith({ unused: true, reason: "NeverObservedInUse" }) });
    const harness = await running({ claims: [claim] });

    await harness.report(reportAt(harness, { mountedVolumes: [mountedVolumeOf("pod-1")] }));
    await harness.advance(1_000);
    await harness.report(reportAt(harness, { mountedVolumes: [] }));

    expect(harness.writes.map(({ reason }) => reason)).toEqual(["Mounted", "Unmounted"]);
  });

  it.each([
    { name: "on a node may use it", node: "n1", reasons: ["Mounted", "Referenced"] },
    { name: "that is not scheduled never gets it", node: undefined, reasons: ["Mounted", "Unmounted"] },
  ])("of a claim that is being deleted a pod $name", async ({ node, reasons }) => {
    const claim = claimWith({ isDeleting: true, status: statusWith({ unused: true, reason: "NeverObservedInUse" }) });
    const harness = await running({ claims: [claim] });
    await harness.report(reportAt(harness, { mountedVolumes: [mountedVolumeOf("pod-0")] }));
    harness.cluster.pods.set("pod-1", podWith({ node, hasStarted: false }));

    await harness.advance(10_000);
    await harness.report(reportAt(harness, { mountedVolumes: [] }));
    await harness.advance(10_000);

    expect(harness.writes.map(({ reason }) => reason)).toEqual(reasons);
  });

  it("the end of a pod that was never scheduled moves no time of a claim that is being deleted", async () => {
    const status = statusWith({ unused: true, reason: "NoPodUsing", sinceMs: NOON - 60_000 });
    const harness = await running({ claims: [claimWith({ isDeleting: true, status })] });
    await harness.putPod(podWith({ node: undefined, hasStarted: false, resourceVersion: "300" }));

    await harness.removePod("pod-1", "301");
    await harness.advance(1_000);
    await harness.report(reportAt(harness, { podsResourceVersion: "301" }));
    await harness.advance(10_000);

    expect(harness.writes).toEqual([]);
  });

  it.each([
    { name: "was seen on a node", isSeen: true },
    { name: "came and went between two decisions", isSeen: false },
  ])(
    "a claim that is being deleted stays in use when its pod $name and was deleted by force, until that node has reported",
    async ({ isSeen }) => {
      const claim = claimWith({ isDeleting: true, status: statusWith({ unused: true, reason: "NeverObservedInUse" }) });
      const harness = await running({ claims: [claim], nodes: [nodeWith("n1"), nodeWith("n2")] });
      const pod = podWith({ hasStarted: false, resourceVersion: "300" });
      if (isSeen) await harness.putPod(pod);
      else harness.cluster.pods.set(pod.uid, pod);
      await harness.removePod(pod.uid, "301");
      await harness.advance(10_000);
      const before = harness.stored.get("shop/data")?.status?.unused;
      await harness.report(reportAt(harness, { node: "n2", podsResourceVersion: "301" }));
      const unheard = harness.stored.get("shop/data")?.status?.unused;

      await harness.report(reportAt(harness, { podsResourceVersion: "301" }));
      await harness.advance(10_000);

      expect([before, unheard]).toEqual([false, false]);
      expect(harness.stored.get("shop/data")?.status?.unused).toBe(true);
    },
  );

  it("decides first, and writes first, on claims that are being deleted", async () => {
    const others = ["a", "b", "c", "d", "e"].map((name) => claimWith({ name, key: `shop/${name}`, uid: name }));
    const deleted = claimWith({ isDeleting: true, status: statusWith() });
    const harness = new Harness({ claims: [...others, deleted], nodes: [] });
    harnesses.push(harness);
    const decided: string[] = [];
    const { podsOf } = harness.cluster;
    harness.cluster.podsOf = (key) => {
      decided.push(key);
      return podsOf(key);
    };

    await harness.start();

    expect(decided[0]).toBe(deleted.key);
    expect(new Set(decided).size).toBe(others.length + 1);
  });

  it("decides on what comes while the API server answers no write, so that it is kept in mind and a successor knows", async () => {
    const used = claimWith({ status: statusWith({ unused: true, reason: "Unmounted" }) });
    const others = Array.from({ length: 20 }, (_, index) =>
      claimWith({ name: `x${index}`, key: `lab/x${index}`, uid: `x${index}`, volume: undefined }),
    );
    const harness = await running({ claims: [used, ...others] }, { silent: ["n1"] });
    harness.holdWrites();
    await harness.report(reportAt(harness));
    await harness.advance(100);

    await harness.report(reportAt(harness, { mountedVolumes: [mountedVolumeOf("pod-1")] }));
    await harness.advance(100);
    const [unstored, isAtRest] = [harness.unstored.list(), harness.reconciler.queue.isIdle];
    harness.letWrites();
    await harness.advance(10_000);

    expect([unstored, isAtRest]).toEqual([[{ uid: used.uid, sinceMs: undefined }], false]);
    expect(harness.stored.get(used.key)?.status).toMatchObject({ unused: false, reason: "Mounted" });
    expect([harness.unstored.list(), harness.reconciler.queue.isIdle]).toEqual([[], true]);
  });

  it("tells of a mounted claim that Kubernetes calls unused when that lasts, although nothing is written", async () => {
    const upstream = { unused: true, sinceMs: NOON, owner: "other" as const };
    const harness = await running({ claims: [claimWith({ upstream })] });
    await harness.report(reportAt(harness, { mountedVolumes: [mountedVolumeOf("pod-1")] }));
    await harness.advance(9_900);
    const early = [...harness.warnings];
    await harness.advance(100);
    const lasting = harness.reconciler.unusedWhileMounted.size;
    harness.reconciler.onClaimGone(claimWith());

    expect(early).toEqual([]);
    expect(harness.warnings).toMatchObject([{ kind: "unused-while-mounted", nodes: ["n1"] }]);
    expect([lasting, harness.reconciler.unusedWhileMounted.size]).toEqual([1, 0]);
  });

  it.each<{ name: string; protection: ProtectionMode; staged: readonly (string | undefined)[] }>([
    {
      name: "is told until that is over, where it keeps the claim",
      protection: "enforce",
      staged: [undefined, "n1", undefined],
    },
    { name: "is not told where nothing is kept", protection: "off", staged: [undefined, undefined] },
  ])("a volume that is staged without use $name", async ({ protection, staged }) => {
    const csi = { driver: "d", handleHash: "h".repeat(64) };
    const harness = await running({ claims: [claimWith()], volumes: [volumeWith({ csi })], protection });
    const staging = { ...mountedVolumeOf("pod-1"), kind: "staging", podUid: undefined, pod: undefined } as const;
    const idle = { ...staging, volume: { by: "handle", ...csi } } as const;

    await harness.report(reportAt(harness, { mountedVolumes: [mountedVolumeOf("pod-1"), idle] }));
    await harness.advance(1_000);
    await harness.report(reportAt(harness, { mountedVolumes: [idle] }));
    await harness.advance(1_000);
    await harness.report(reportAt(harness, { mountedVolumes: [] }));
    await harness.advance(1_000);

    const told = harness.writes.filter(({ reason }) => reason !== "NeverObservedInUse");
    expect(told.map((status) => /Staged on node (\w+)/.exec(status.staged ?? "")?.[1])).toEqual(staged);
    expect(told.map(({ reason }) => reason)).toEqual(["Mounted", ...Array(staged.length - 1).fill("Unmounted")]);
  });

  it("a claim that is not bound, or that was deleted before anything was written of it, gets no status", async () => {
    const claims = [claimWith({ phase: "Pending" }), claimWith({ name: "old", key: "shop/old", isDeleting: true })];
    const harness = await running({ claims });

    await harness.report(reportAt(harness, { mountedVolumes: [mountedVolumeOf("pod-1")] }));

    expect(harness.writes).toEqual([]);
  });
});

/** From 3 to 10 s after the start a pod of n1 has a claim mounted that was there before; 10 s later the other node is still to be heard of. */
async function usedBefore(other: string): Promise<Harness> {
  const harness = await running({ nodes: [nodeWith("n1"), nodeWith(other)] }, { silent: [other] });
  await harness.advance(3_000);
  await harness.report(reportAt(harness, { mountedVolumes: [mountedVolumeOf("pod-1")] }));
  await harness.advance(7_000);
  await harness.report(reportAt(harness, { mountedVolumes: [] }));
  await harness.advance(10_000);
  return harness;
}

describe("a start of the aggregator", () => {
  it("an agent that still has the unmount record tells the exact time", async () => {
    const stored = claimWith({ status: mountedStatus(["n1"], { sinceMs: NOON - 60_000 }) });
    const harness = await running({ claims: [stored] }, { silent: ["n1"] });
    const released = releasedNow(harness, "pod-1");

    await harness.advance(20_000);
    await harness.report(reportAt(harness, { unmountRecords: [released] }));

    expect(harness.writes).toMatchObject([{ unused: true, reason: "Unmounted", sinceMs: NOON }]);
  });

  it("keeps a claim staged until the node has reported that it is not", async () => {
    const staged = "Staged on node n1";
    const stored = claimWith({
      status: statusWith({ unused: true, reason: "Unmounted", sinceMs: NOON - 60_000, staged }),
    });
    const harness = await running({ claims: [stored], protection: "enforce" }, { silent: ["n1"] });
    await harness.advance(20_000);
    const before = [...harness.writes];

    await harness.report(reportAt(harness, { mountedVolumes: [] }));
    await harness.advance(1_000);

    expect(before).toEqual([]);
    expect(harness.writes.map((status) => status.staged)).toEqual([undefined]);
  });

  it("of an agent that lost its journal nobody knows how the use ended", async () => {
    const stored = claimWith({ status: mountedStatus(["n1"], { sinceMs: NOON - 60_000 }) });
    const harness = await running({ claims: [stored] }, { silent: ["n1"] });
    const observedSince = harness.clock.monotonicMs();

    await harness.advance(20_000);
    await harness.report(reportAt(harness, { instance: "run-2", observedSince }));

    expect(harness.writes).toMatchObject([
      { unused: true, reason: "NoPodUsing", sinceMs: NOON + 20_000, lastUse: undefined },
    ]);
  });

  it("a claim that was in use nobody knows where turns unused when all nodes have reported", async () => {
    const nodes = [nodeWith("n1"), nodeWith("n2")];
    const claims = [claimWith({ status: statusWith() })];
    const harness = await running({ nodes, claims }, { silent: ["n2"] });

    await harness.advance(60_000);
    const before = harness.writes.length;
    await harness.report(reportAt(harness, { node: "n2" }));

    expect(before).toBe(0);
    expect(harness.writes).toMatchObject([{ unused: true, reason: "NoPodUsing", sinceMs: NOON + 60_000 }]);
  });

  it("a claim that was in use nobody knows where waits for each node that may be the one, and says so", async () => {
    const claims = [claimWith({ status: statusWith() })];
    const harness = await running({ claims }, { silent: ["n1"] });

    await harness.advance(3_600_000);
    const waiting = harness.writes.slice();
    await harness.report(reportAt(harness));

    expect(waiting).toMatchObject([{ unused: false, reason: "Referenced", message: expect.stringContaining("n1") }]);
    expect(harness.writes.slice(1)).toMatchObject([{ unused: true, reason: "NoPodUsing", sinceMs: NOON + 3_600_000 }]);
  });

  it("a status that nobody may believe is not left agentState while a node is Stale, and one write says what is known", async () => {
    const bare = claimWith({ name: "bare", key: "shop/bare", uid: "claim-2", volume: "pv-2" });
    const volumes = [volumeWith(), volumeWith({ key: "pv-2", claim: { key: bare.key, uid: bare.uid } })];
    const harness = await running({ claims: [], volumes }, { silent: ["n1"] });
    for (const { key } of volumes) await harness.attach(key, ["n1"]);
    await harness.putClaim(claimWith({ isDisbelieved: true }));
    await harness.putClaim(bare);
    const early = harness.writes.slice();

    await harness.advance(3_600_000);
    const waiting = harness.writes.slice();
    await harness.report(reportAt(harness));
    await harness.advance(3_600_000);

    const reasons = harness.writes.slice(1).map(({ reason, sinceMs }) => `${reason} ${sinceMs - NOON}`);
    expect(early).toEqual([]);
    expect(waiting).toMatchObject([{ unused: false, reason: "Referenced", message: expect.stringContaining("n1") }]);
    expect(reasons.sort()).toEqual(["NeverObservedInUse 3600000", "NoPodUsing 3600000"]);
  });

  it("a claim that is seen for the first time is called unused once all nodes have been heard of", async () => {
    const harness = await running({ nodes: [nodeWith("n1"), nodeWith("n2")] }, { silent: ["n2"] });
    await harness.advance(10_000);
    const early = harness.writes.slice();

    await harness.report(reportAt(harness, { node: "n2" }));

    expect(early).toEqual([]);
    expect(harness.writes).toMatchObject([{ unused: true, reason: "NeverObservedInUse", sinceMs: NOON + 10_000 }]);
  });

  it("a claim that is seen for the first time is never called unused when a node tells of a mount that no pod explains", async () => {
    const harness = await running({ nodes: [nodeWith("n1"), nodeWith("n2")] }, { silent: ["n2"] });
    await harness.advance(10_000);

    await harness.report(reportAt(harness, { node: "n2", mountedVolumes: [mountedVolumeOf("pod-1")] }));
    await harness.advance(10_000);

    expect(harness.writes.map(({ reason }) => reason)).toEqual(["Mounted"]);
  });

  it("a claim that is seen for the first time waits no longer than until the nodes count as silent", async () => {
    const harness = await running({}, { silent: ["n1"] });
    await harness.advance(89_000);
    const early = harness.writes.slice();

    await harness.advance(2_000);

    expect(early).toEqual([]);
    expect(harness.writes.map(({ reason }) => reason)).toEqual(["NeverObservedInUse"]);
  });

  it("a use that this run sees from begin to end makes no claim unused that was there before all nodes have been heard of", async () => {
    const harness = await usedBefore("n2");
    const early = harness.writes.slice();

    await harness.report(reportAt(harness, { node: "n2", mountedVolumes: [mountedVolumeOf("pod-2")] }));
    await harness.advance(1_000);

    expect(early.map(({ unused }) => unused)).toEqual([false]);
    expect(harness.writes.every(({ unused }) => !unused)).toBe(true);
  });

  it("a use that this run sees from begin to end is dated by its own end once all nodes have been heard of", async () => {
    const harness = await usedBefore("n2");

    await harness.report(reportAt(harness, { node: "n2" }));

    expect(harness.writes.at(-1)).toMatchObject({ unused: true, reason: "Unmounted", sinceMs: NOON + 10_000 });
  });

  it("a claim that is made after the start waits for the nodes, too, and no longer", async () => {
    const harness = await running({ claims: [] }, { silent: ["n1"] });
    await harness.advance(3_000);

    await harness.putClaim(claimWith({ createdAtMs: NOON + 2_000 }));
    const early = harness.writes.length;
    await harness.report(reportAt(harness, {}));

    expect([early, ...harness.writes.map(({ reason }) => reason)]).toEqual([0, "NeverObservedInUse"]);
  });

  it("what is in use is said at once", async () => {
    const nodes = [nodeWith("n1"), nodeWith("n2")];
    const claims = [claimWith({ status: statusWith({ unused: true, reason: "Unmounted" }) })];
    const harness = await running({ nodes, claims }, { silent: ["n2"] });
    await harness.advance(1_000);

    await harness.report(reportAt(harness, { mountedVolumes: [mountedVolumeOf("pod-1")] }));

    expect(harness.writes.map(({ reason }) => reason)).toEqual(["Mounted"]);
  });

  it("a node that never reports holds up only the claims that it is a candidate for", async () => {
    const claims = [
      claimWith({ status: mountedStatus(["n2"], { message: "Mounted on n2" }) }),
      claimWith({ name: "free", key: "shop/free", uid: "claim-2", volume: undefined }),
    ];
    const nodes = [nodeWith("n1"), nodeWith("n2")];
    const harness = await running({ claims, nodes }, { silent: ["n2"] });

    await harness.advance(91_000);
    await harness.enqueueAll();
    await harness.advance(600_000);

    expect(harness.stored.get("shop/free")?.status?.reason).toBe("NeverObservedInUse");
    expect(harness.stored.get("shop/data")?.status).toMatchObject({
      unused: false,
      reason: "Mounted",
      message: expect.stringMatching(/still mounted on node n2.*; no report of the mounts on n2, /),
    });
    expect(harness.writes).toHaveLength(2);
  });

  it("the wait for the nodes begins when everything is listed, however long that took", async () => {
    const claims = [claimWith({ status: statusWith() })];
    const harness = new Harness({ claims, volumes: [volumeWith()], nodes: [nodeWith("n1")] });
    harnesses.push(harness);

    await harness.advance(300_000);
    await harness.start();
    await harness.advance(60_000);

    expect(harness.unreported).toEqual(["n1"]);
    expect(harness.writes).toEqual([]);
  });

  it("a pod that ended before the claims were listed still has to be told of by its node", async () => {
    const harness = new Harness({ claims: [], volumes: [volumeWith()], nodes: [nodeWith("n1")] });
    harnesses.push(harness);
    harness.onPodEnded({ pod: podWith(), gone: "300", seenAtMs: NOON, wasOver: false });
    harness.cluster.byKey.set("shop/data", claimWith({ status: statusWith({ unused: true, reason: "NoPodUsing" }) }));

    await harness.start();
    await harness.advance(1_000);
    await harness.report(reportAt(harness, { podsResourceVersion: "299" }));
    const early = harness.writes.length;
    await harness.advance(1_000);
    await harness.report(reportAt(harness, { podsResourceVersion: "300" }));

    expect(early).toBe(1);
    expect(harness.writes).toMatchObject([
      {
        unused: false,
        message: "Not known to be unused: awaiting the next report from n1 (pod shop/web-0 ended there)",
      },
      { unused: true, reason: "Unmounted", sinceMs: NOON + 2_000 },
    ]);
  });
});

describe("references", () => {
  it("a mount that no scan showed ended by the first scan after the pod's end", async () => {
    const harness = await running();
    await harness.putPod(podWith());
    await harness.advance(1_000);
    await harness.removePod("pod-1", "300");
    await harness.advance(1_000);
    await harness.report(reportAt(harness, { podsResourceVersion: "299" }));
    const early = harness.stored.get("shop/data")?.status;
    await harness.advance(1_000);
    await harness.report(reportAt(harness, { podsResourceVersion: "300" }));

    expect(early?.unused).toBe(false);
    expect(harness.writes.at(-1)).toMatchObject({ unused: true, reason: "Unmounted", sinceMs: NOON + 3_000 });
  });

  it("a report names the resource version that its node has to reach", async () => {
    const harness = await running();
    await harness.putPod(podWith());
    await harness.removePod("pod-1", "300");

    await harness.report(reportAt(harness, { podsResourceVersion: "299" }));

    const view = harness.fleet.view("n1");
    expect(view && harness.reconciler.answers.awaitedVersion(view)).toBe("300");
  });

  it("a use that ended before the one that is stored as the last still ends the claim's use", async () => {
    const harness = await running({ nodes: [nodeWith("n1"), nodeWith("n2")] });
    await harness.report(reportAt(harness, { node: "n2", mountedVolumes: [mountedVolumeOf("pod-2")] }));
    await harness.advance(10_000);
    const early = reportAt(harness, { unmountRecords: [releasedNow(harness, "pod-1")] });
    await harness.advance(10);
    const last = releasedNow(harness, "pod-2");
    for (const unmountRecords of [[last], [last], []])
      await harness.report(reportAt(harness, { node: "n2", unmountRecords }));
    await harness.report({ ...early, generation: 1, unmountRecords: [], mountedVolumes: [mountedVolumeOf("pod-1")] });
    await harness.advance(10);

    await harness.report({ ...early, sentAt: harness.clock.monotonicMs() });
    await harness.advance(10_000);

    expect(harness.writes.at(-1)).toMatchObject({ unused: true, reason: "Unmounted", lastUse: { releaseId: last.id } });
  });

  it("an unmount record is not settled before the watch has shown the end of its pod, which moves no time", async () => {
    const harness = await running();
    await harness.report(reportAt(harness, { mountedVolumes: [mountedVolumeOf("pod-1")] }));
    await harness.advance(10_000);
    const released = releasedNow(harness, "pod-1");
    harness.cluster.podsAt = "299";
    const told = async () =>
      await harness.report(reportAt(harness, { podsResourceVersion: "301", unmountRecords: [released] }));
    await told();
    const early = await told();

    await harness.putPod(podWith());
    const whilePodIsThere = await told();
    harness.cluster.podsAt = "301";
    await harness.removePod("pod-1", "301");
    await harness.advance(10_000);

    expect([early, whilePodIsThere, await told()]).toEqual([[], [], [released.id]]);
    expect(harness.stored.get("shop/data")?.status).toMatchObject({
      unused: true,
      reason: "Unmounted",
      lastUse: { releaseId: released.id, releasedAtMs: NOON + 10_000 },
    });
  });

  it.each([
    { name: "without a status", status: undefined },
    { name: "in use", status: statusWith({ unused: false, reason: "Referenced" }) },
  ])("a claim $name is not called unused while the watch of pods is interrupted", async ({ status }) => {
    const harness = await running({ claims: [] });
    harness.cluster.podsAt = undefined;
    harness.cluster.byKey.set("shop/data", claimWith({ status }));
    harness.stored.set("shop/data", claimWith({ status }));
    await harness.enqueueAll();
    await harness.advance(10_000);
    const before = harness.writes.length;

    harness.cluster.podsAt = "400";
    await harness.advance(10_000);

    expect([before, harness.writes.map(({ unused }) => unused)]).toEqual([0, [true]]);
  });

  it("a claim that its watch shows only after a pod of it has ended waits for that pod's node", async () => {
    const harness = await running({ claims: [] });
    await harness.putPod(podWith());
    await harness.advance(1_000);
    await harness.removePod("pod-1", "301");

    await harness.putClaim(claimWith());
    await harness.advance(10_000);
    const before = harness.writes.length;
    await harness.report(reportAt(harness, { podsResourceVersion: "301" }));

    expect([before, harness.writes.map(({ unused }) => unused)]).toEqual([0, [true]]);
  });

  it("a mount is told of meanwhile", async () => {
    const harness = await running();
    const before = harness.writes.length;
    harness.cluster.podsAt = undefined;

    await harness.report(reportAt(harness, { mountedVolumes: [mountedVolumeOf("pod-1")] }));
    await harness.advance(1_000);

    expect(harness.writes.slice(before)).toMatchObject([{ unused: false, reason: "Mounted" }]);
  });

  it("a mount counts no longer when its pod comes to light and turns out to have an inline volume of that name", async () => {
    const harness = await running();
    await harness.report(reportAt(harness, { mountedVolumes: [mountedVolumeOf("pod-1")] }));
    const before = harness.writes.at(-1);

    await harness.putPod(podWith({ claims: [] }));
    await harness.advance(10_000);

    expect(before).toMatchObject({ unused: false, reason: "Mounted" });
    expect(harness.writes.at(-1)).toMatchObject({ unused: true });
  });

  it("a pod that is not known to have started on a node that is gone is judged anew when the node is back", async () => {
    const harness = await running();
    await harness.putPod(podWith({ hasStarted: false }));
    await harness.putNode({ ...nodeWith("n1"), isOutOfService: true, isReady: false });
    await harness.advance(100_000);
    await harness.removePod("pod-1", "301");
    await harness.advance(10_000);
    const gone = harness.writes.at(-1);
    await harness.putNode(nodeWith("n1"));
    await harness.advance(100_000);
    const at = harness.clock.monotonicMs();
    const backMs = harness.clock.wallMs();

    const agentGaps = [{ from: 1, to: at }];
    await harness.report(reportAt(harness, { podsResourceVersion: "301", observedSince: at, agentGaps }));
    await harness.advance(10_000);

    expect(gone).toMatchObject({ unused: true, reason: "NodeGone", lastUse: { podUid: "pod-1", node: "n1" } });
    expect(harness.writes.at(-1)).toMatchObject({ unused: true, reason: "NoPodUsing", sinceMs: backMs });
  });

  it("pods that are deleted after their mounts are gone do not move the times of those mounts", async () => {
    const harness = await running();
    await harness.putPod(podWith());
    await harness.putPod(podWith({ key: "shop/web-1", uid: "pod-2" }));
    await harness.report(reportAt(harness, { mountedVolumes: [mountedVolumeOf("pod-1"), mountedVolumeOf("pod-2")] }));
    await harness.advance(10_000);
    const first = releasedNow(harness, "pod-1");
    await harness.report(reportAt(harness, { mountedVolumes: [mountedVolumeOf("pod-2")], unmountRecords: [first] }));
    await harness.advance(10_000);
    const second = releasedNow(harness, "pod-2");
    const clockSamples = [{ at: second.after ?? 0, ms: harness.clock.wallMs() - 10 }];
    await harness.report(reportAt(harness, { unmountRecords: [first, second], clockSamples }));
    await harness.advance(10_000);
    await harness.removePod("pod-1", "301");
    await harness.removePod("pod-2", "302");
    await harness.advance(10_000);
    const unmountRecords = [first, second];
    await harness.report(reportAt(harness, { podsResourceVersion: "302", unmountRecords, clockSamples }));

    expect(harness.writes.at(-1)).toMatchObject({ unused: true, reason: "Unmounted", sinceMs: NOON + 20_000 });
    expect(harness.writes.at(-1)?.lastUse).toMatchObject({ releaseId: second.id, uncertaintyMs: 10 });
  });
});

describe("claimFacts", () => {
  it("tells the claim and what decides its status, and changes nothing", async () => {
    const harness = await running({ nodes: [nodeWith("n1"), nodeWith("n2")] }, { silent: ["n2"] });
    harness.fleet.accept(reportAt(harness, { mountedVolumes: [mountedVolumeOf("pod-1")], generation: 9_000_000 }), {
      ...{ atMs: harness.clock.wallMs(), widthMs: 0, nodeBootId: "boot-1" },
    });

    const before = harness.writes.length;

    const facts = [1, 2].map(() => harness.reconciler.claimFacts("shop/data"));

    expect(facts[0]).toMatchObject({ claim: { uid: "claim-1" }, isEligible: true, holders: ["n1"] });
    expect(facts[0]).toEqual(facts[1]);
    expect(harness.reconciler.queue.depth).toBe(0);
    expect(harness.writes).toHaveLength(before);
  });

  it("tells nothing of a claim that is not there", async () => {
    const harness = await running();

    expect(harness.reconciler.claimFacts("shop/other")).toBeUndefined();
  });
});
