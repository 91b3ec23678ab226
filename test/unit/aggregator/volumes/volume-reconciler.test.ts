import { afterEach, describe, expect, it } from "vitest";
import type { Volume } from "../../../../aggregator/core/cluster-objects.ts";
import type { ProtectionMode } from "../../../../aggregator/core/deletion.ts";
import { lastUseText } from "../../../../common/storage/claim-status.ts";
import { volumeMarkText } from "../../../../common/storage/volume-annotations.ts";
import { lastUseWith } from "../core/decisions.ts";
import { FakeCluster } from "../fake-cluster.ts";
import { lead, tell } from "../leader-session.ts";
import {
  claimWith,
  mountedStatus,
  mountedVolumeOf,
  nodeWith,
  podWith,
  reportWith,
  statusWith,
  unmountRecordOf,
  volumeWith,
} from "../world.ts";

const MARK = volumeMarkText("volume-1", ["n1"]);
const released = volumeWith({ phase: "Released", reclaimPolicy: "Retain" });
const marked = volumeWith({ ...released, annotations: { mountedOn: MARK, lastUse: undefined } });
const LAST_USE = lastUseWith({ releaseId: "r-1" });
const unused = statusWith({ unused: true, reason: "Unmounted", lastUse: LAST_USE });
const COPY = { lastUse: lastUseText("claim-1", { lastUse: LAST_USE }) };
const MOUNTED = { mountedVolumes: [mountedVolumeOf("pod-1")] };

function clusterWith(volume: Volume, ...nodes: readonly string[]): FakeCluster {
  const cluster = new FakeCluster();
  cluster.volumes.set(volume.key, volume);
  for (const node of nodes) cluster.nodes.set(node, nodeWith(node));
  return cluster;
}

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

async function leading(cluster: FakeCluster, protection: ProtectionMode = "off") {
  const stage = await lead(cluster, [], { protection });
  ends.push(stage.stop);
  return stage;
}

const enforcing = (cluster: FakeCluster) => leading(cluster, "enforce");
const report = (fields: Parameters<typeof reportWith>[0], generation: number) =>
  reportWith({
    generation,
    sentAt: 1_001 + generation,
    scan: { beganAt: 1_000 + generation, endedAt: 1_001 + generation },
    ...fields,
  });

describe("a volume that is mounted although it is not Bound", () => {
  it("is marked once, and not any more when it is unmounted", async () => {
    const { session, clock, volumeWrites } = await enforcing(
      clusterWith({ ...released, reclaimPolicy: "Delete" }, "n1"),
    );

    tell(session, report(MOUNTED, 1));
    await clock.advance(60_000);
    tell(session, report(MOUNTED, 2));
    await clock.advance(60_000);
    const counted = session.volumes.stillMounted;
    tell(session, report({}, 3));
    await clock.advance(60_000);

    expect(volumeWrites).toEqual([{ mountedOn: MARK }, { mountedOn: undefined }]);
    expect([counted, session.volumes.stillMounted]).toEqual([1, 0]);
  });

  it("is counted and not marked without protection, which takes an earlier mark away", async () => {
    const { session, clock, volumeWrites } = await leading(clusterWith(marked, "n1"));

    tell(session, report(MOUNTED, 1));
    await clock.advance(1_000);

    expect(volumeWrites).toEqual([{ mountedOn: undefined }]);
    expect(session.volumes.stillMounted).toBe(1);
  });

  it("is marked when it is released while it is mounted", async () => {
    const { session, clock, volumeWrites, showVolume } = await enforcing(clusterWith(volumeWith(), "n1"));
    tell(session, report(MOUNTED, 1));
    await clock.advance(1_000);
    const before = [...volumeWrites];

    showVolume({ ...released, resourceVersion: "301" });
    await clock.advance(1_000);

    expect([before, volumeWrites]).toEqual([[], [{ mountedOn: MARK }]]);
  });

  it.each([
    {
      name: "of a claim on another volume: an inline volume of that name",
      pod: podWith({ claims: ["elsewhere"] }),
      writes: 0,
    },
  ])("counts a mount of a pod that is there, $name", async ({ pod, writes }) => {
    const cluster = clusterWith({ ...released, phase: "Available", claim: undefined }, "n1");
    cluster.pods.set(pod.uid, pod);
    cluster.byKey.set(
      "shop/elsewhere",
      claimWith({ key: "shop/elsewhere", name: "elsewhere", uid: "c2", volume: "pv-2" }),
    );
    const { session, clock, volumeWrites } = await enforcing(cluster);

    tell(session, report(MOUNTED, 1));
    await clock.advance(1_000);

    expect(volumeWrites).toHaveLength(writes);
  });
});

describe("after a change of leader", () => {
  it("a node that has not answered keeps the mark, also when it is silent", async () => {
    const { clock, volumeWrites } = await enforcing(clusterWith(marked, "n1", "n2"));

    await clock.advance(3_600_000);

    expect(volumeWrites).toEqual([]);
  });

  it("a node that is gone keeps it no longer than it takes to be sure", async () => {
    const { clock, volumeWrites } = await enforcing(clusterWith(marked));

    await clock.advance(299_000);
    const before = [...volumeWrites];
    await clock.advance(2_000);

    expect([before, volumeWrites]).toEqual([[], [{ mountedOn: undefined }]]);
  });

  it("a node that has no agent and is named by a mark is not taken for one without mounts", async () => {
    const { session, clock } = await enforcing(clusterWith(marked, "n1"));

    await clock.advance(3_600_000);

    expect(session.agentStates.of("n1").kind).toBe("Stale");
  });
});

describe("the last use of a Retain volume", () => {
  const bound = volumeWith({ reclaimPolicy: "Retain" });

  it("is copied when its claim is being deleted, once", async () => {
    const cluster = clusterWith(bound, "n1");
    const claim = claimWith({ status: unused });
    cluster.byKey.set(claim.key, claim);
    const { session, clock, volumeWrites } = await leading(cluster);
    tell(session, report({}, 1));
    await clock.advance(1_000);
    const before = [...volumeWrites];

    cluster.byKey.set(claim.key, { ...claim, isDeleting: true });
    session.onClaim(claim.key);
    await clock.advance(60_000);
    session.onClaim(claim.key);
    await clock.advance(60_000);

    expect([before, volumeWrites]).toEqual([[], [COPY]]);
  });

  it("is copied by a leader that finds the claim being deleted", async () => {
    const cluster = clusterWith(bound);
    cluster.byKey.set("shop/data", claimWith({ status: unused, isDeleting: true }));

    const { volumeWrites } = await leading(cluster);

    expect(volumeWrites).toEqual([COPY]);
  });

  it("is copied from a claim that goes at once", async () => {
    const cluster = clusterWith(bound);
    const claim = claimWith({ status: unused });
    cluster.byKey.set(claim.key, claim);
    const { session, clock, volumeWrites } = await leading(cluster);

    cluster.byKey.set(claim.key, { ...claim, isDeleting: true });
    session.onClaim(claim.key);
    cluster.byKey.delete(claim.key);
    session.onClaimGone({ ...claim, isDeleting: true });
    await clock.advance(1_000);

    expect(volumeWrites).toEqual([COPY]);
  });

  it("is what the node tells, with the removal of the mark, where the claim went while it was mounted", async () => {
    const cluster = clusterWith(bound, "n1");
    const claim = claimWith({ status: mountedStatus(["n1"]), isDeleting: true });
    cluster.byKey.set(claim.key, claim);
    const { session, clock, volumeWrites, showVolume } = await enforcing(cluster);
    tell(session, report(MOUNTED, 1));
    cluster.byKey.delete(claim.key);
    session.onClaimGone(claim);
    showVolume({ ...released, resourceVersion: "301" });
    await clock.advance(60_000);

    tell(session, report({ unmountRecords: [unmountRecordOf("pod-1", { after: 1_001, by: 1_003 })] }, 3));
    await clock.advance(60_000);

    const [mark, end, ...others] = volumeWrites;
    expect([mark, others]).toEqual([{ mountedOn: MARK }, []]);
    expect(end).toHaveProperty("mountedOn", undefined);
    expect(JSON.parse(end?.lastUse ?? "")).toMatchObject({ claimUID: "claim-1", node: "n1", pod: "shop/pod-1" });
  });
});

describe("a write of a volume", () => {
  const refused = { kind: "refused", reason: "Forbidden", message: "no" } as const;
  const failed = { kind: "failed", message: "broken", retryAfterMs: 0 } as const;

  async function mounted(...results: readonly (typeof refused | typeof failed | { kind: "stale"; message: string })[]) {
    const stage = await enforcing(clusterWith(released, "n1"));
    stage.volumeAnswers.push(...results.map((result) => ({ result, isShown: false })));
    tell(stage.session, report(MOUNTED, 1));
    await stage.clock.advance(100);
    return stage;
  }

  it.each([
    { name: "that is refused is tried again after a minute", result: refused, early: 40_000, late: 40_000 },
    { name: "that failed is tried again soon", result: failed, early: 200, late: 1_000 },
  ])("$name", async ({ result, early, late }) => {
    const { clock, volumeWrites } = await mounted(result);

    await clock.advance(early);
    const before = volumeWrites.length;
    await clock.advance(late);

    expect([before, volumeWrites.length]).toEqual([1, 2]);
  });

  it("on a state that has changed waits for the watch to show it", async () => {
    const { clock, volumeWrites, showVolume } = await mounted({ kind: "stale", message: "changed" });

    await clock.advance(7_000);
    const before = volumeWrites.length;
    showVolume({ ...released, resourceVersion: "301" });
    await clock.advance(100);

    expect([before, volumeWrites.length]).toEqual([1, 2]);
  });

  it("that was made is not repeated while the watch is behind", async () => {
    const stage = await enforcing(clusterWith(released, "n1"));
    stage.volumeAnswers.push({ result: { kind: "written" }, isShown: false });

    tell(stage.session, report(MOUNTED, 1));
    await stage.clock.advance(100);
    tell(stage.session, report({ mountedVolumes: [mountedVolumeOf("pod-1"), mountedVolumeOf("pod-2")] }, 2));
    await stage.clock.advance(100);

    expect(stage.volumeWrites).toHaveLength(1);
  });

  it("does not hold up another volume when it is refused", async () => {
    const cluster = clusterWith(released, "n1");
    cluster.volumes.set("pv-2", { ...released, key: "pv-2", uid: "volume-2", claim: undefined });
    const { session, clock, volumeWrites, volumeAnswers } = await enforcing(cluster);
    volumeAnswers.push({ result: refused, isShown: false });

    tell(session, report({ mountedVolumes: [mountedVolumeOf("pod-1"), mountedVolumeOf("pod-2", "pv-2")] }, 1));
    await clock.advance(100);

    expect(volumeWrites).toEqual([{ mountedOn: MARK }, { mountedOn: volumeMarkText("volume-2", ["n1"]) }]);
  });

  it("that somebody takes back each second is repeated ever more rarely", async () => {
    const { clock, volumeWrites, showVolume } = await mounted();

    for (let second = 0; second < 3_600; second += 1) {
      showVolume({ ...released, resourceVersion: String(1_000 + 2 * second) });
      await clock.advance(1_000);
    }

    expect(volumeWrites.length).toBeGreaterThan(3);
    expect(volumeWrites.length).toBeLessThan(20);
  });
});
