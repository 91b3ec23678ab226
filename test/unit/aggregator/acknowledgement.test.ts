import { afterEach, describe, expect, it } from "vitest";
import { ApiError } from "../../../common/kube/client.ts";
import { MooringError } from "../../../common/runtime/errors.ts";
import type { ClaimStatus } from "../../../common/storage/claim-status.ts";
import type { NodeReport } from "../../../common/storage/node-report.ts";
import { Harness, type HarnessOptions } from "./harness.ts";
import {
  claimWith,
  mountedVolumeOf,
  NOON,
  nodeWith,
  reportWith,
  statusWith,
  unmountRecordOf,
  volumeWith,
} from "./world.ts";

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

function unusedStatus(releasedAtMs: number): ClaimStatus {
  const user = { node: "n0", pod: "shop/old", podUid: "pod-0" };
  const lastUse = { releaseId: "old", ...user, releasedAtMs, uncertaintyMs: 0, evidence: "mount-table" } as const;
  return statusWith({ unused: true, reason: "Unmounted", sinceMs: releasedAtMs, lastUse });
}

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

describe("what a node may forget", () => {
  it("an unmount record is acknowledged when it is stored, not before", async () => {
    const harness = await running();
    await harness.report(reportAt(harness, { mountedVolumes: [mountedVolumeOf("pod-1")] }));
    const released = releasedNow(harness, "pod-1");
    harness.outcomes.push({ fails: conflict, isStored: false });

    const first = await harness.report(reportAt(harness, { unmountRecords: [released] }));
    const second = await harness.report(reportAt(harness, { unmountRecords: [released] }));
    await harness.advance(1_000);
    const third = await harness.report(reportAt(harness, { unmountRecords: [released] }));

    expect([first, second, third]).toEqual([[], [], [released.id]]);
  });

  it("our own write is not enough: the watch must show it", async () => {
    const harness = await running();
    await harness.report(reportAt(harness, { mountedVolumes: [mountedVolumeOf("pod-1")] }));
    await harness.advance(1_000);
    const released = releasedNow(harness, "pod-1");
    harness.outcomes.push("stored");

    await harness.report(reportAt(harness, { unmountRecords: [released] }));
    const early = await harness.report(reportAt(harness, { unmountRecords: [released] }));
    await harness.catchUp();
    const late = await harness.report(reportAt(harness, { unmountRecords: [released] }));

    expect([early, late]).toEqual([[], [released.id]]);
  });

  it("an unmount record beside a mount on another node is kept, and counts when that one turns out to have ended earlier", async () => {
    const harness = await running({ nodes: [nodeWith("n1"), nodeWith("n2")] });
    await harness.report(reportAt(harness, { mountedVolumes: [mountedVolumeOf("pod-1")] }));
    await harness.report(reportAt(harness, { node: "n2", mountedVolumes: [mountedVolumeOf("pod-2")] }));
    await harness.advance(10_000);
    const early = releasedNow(harness, "pod-2");
    const late = reportAt(harness, { node: "n2", unmountRecords: [early] });
    await harness.advance(10_000);
    const released = releasedNow(harness, "pod-1");

    const forget = await harness.report(reportAt(harness, { unmountRecords: [released] }));
    await harness.advance(5_000);
    await harness.report({ ...late, sentAt: harness.clock.monotonicMs() });

    expect(forget).toEqual([]);
    expect(harness.writes.at(-1)).toMatchObject({ unused: true, sinceMs: NOON + 20_000 });
    expect(harness.writes.at(-1)?.lastUse?.releaseId).toBe(released.id);
  });

  it("of the unmount records beside a mount on another node only the latest is kept", async () => {
    const harness = await running({ nodes: [nodeWith("n1"), nodeWith("n2")] });
    await harness.report(reportAt(harness, { node: "n2", mountedVolumes: [mountedVolumeOf("pod-9")] }));
    await harness.advance(1_000);
    const first = releasedNow(harness, "pod-1");
    await harness.advance(1_000);
    const second = releasedNow(harness, "pod-2");

    const forget = await harness.report(reportAt(harness, { unmountRecords: [first, second] }));

    expect(forget).toEqual([first.id]);
  });

  it.each([
    {
      name: "not while that one's pod may come to light, with an inline volume of that name",
      podsAt: "199",
      forgets: 0,
    },
    { name: "not while pods have to be listed anew", podsAt: undefined, forgets: 0 },
    { name: "once the watch of pods has come as far as the node's", podsAt: "200", forgets: 1 },
  ])("a later unmount record makes up for an earlier one: $name", async ({ podsAt, forgets }) => {
    const harness = await running({ nodes: [nodeWith("n1"), nodeWith("n2")] });
    await harness.report(reportAt(harness, { node: "n2", mountedVolumes: [mountedVolumeOf("pod-9")] }));
    harness.cluster.podsAt = podsAt;
    await harness.advance(1_000);
    const first = releasedNow(harness, "pod-1");
    await harness.advance(1_000);
    const second = releasedNow(harness, "pod-2");

    const forget = await harness.report(reportAt(harness, { unmountRecords: [first, second] }));

    expect(forget).toHaveLength(forgets);
  });

  it("an unmount record beside another mount on its own node is kept: that mount's end may have been read before", async () => {
    const harness = await running();
    await harness.report(reportAt(harness, { mountedVolumes: [mountedVolumeOf("pod-1"), mountedVolumeOf("pod-2")] }));
    await harness.advance(10_000);
    const suspended = releasedNow(harness, "pod-2");
    await harness.advance(10_000);
    const released = releasedNow(harness, "pod-1");

    // Until its pod is known to be over, an end that was read stays a mount to the agent.
    const forget = await harness.report(
      reportAt(harness, { mountedVolumes: [mountedVolumeOf("pod-2")], unmountRecords: [released] }),
    );
    await harness.report(reportAt(harness, { unmountRecords: [suspended] }));

    expect(forget).toEqual([]);
    expect(harness.writes.at(-1)).toMatchObject({ unused: true, sinceMs: NOON + 20_000, lastUse: { podUid: "pod-1" } });
  });

  it("an unmount record that nobody could write counts no longer when its node has been gone for a day: its end is assumed", async () => {
    const harness = await running({ reasonDelayMs: 0 });
    await harness.report(reportAt(harness, { mountedVolumes: [mountedVolumeOf("pod-1")] }));
    const down = Array.from({ length: 3_000 }, () => ({ fails: lostAnswer, isStored: false }));
    harness.outcomes.push(...down);
    await harness.advance(10_000);
    await harness.report(reportAt(harness, { unmountRecords: [releasedNow(harness, "pod-1")] }));
    await harness.removeNode("n1");
    await harness.advance(2 * 86_400_000);
    const isForgotten = harness.fleet.view("n1") === undefined;

    harness.outcomes.splice(0);
    await harness.advance(120_000);

    expect(isForgotten).toBe(true);
    expect(harness.writes.at(-1)).toMatchObject({ reason: "NodeGone", sinceMs: NOON + 310_000 });
  });

  it.each([
    { name: "is acknowledged by the leader that follows, and not written again", isStored: true, writes: 0 },
    { name: "is written by the leader that follows before it is acknowledged", isStored: false, writes: 1 },
  ])(
    "an unmount record whose leader vanished between the write and its answer, stored $isStored, $name",
    async (row) => {
      const { isStored, writes } = row;
      const harness = await running();
      await harness.report(reportAt(harness, { mountedVolumes: [mountedVolumeOf("pod-1")] }));
      await harness.advance(10_000);
      const released = releasedNow(harness, "pod-1");
      harness.outcomes.push({ fails: lostAnswer, isStored });

      const before = await harness.report(reportAt(harness, { unmountRecords: [released] }));
      const written = harness.writes.length;
      await harness.restart();
      const first = await harness.report(reportAt(harness, { unmountRecords: [released] }));
      await harness.advance(1_000);
      const then = await harness.report(reportAt(harness, { unmountRecords: [released] }));

      expect(before).toEqual([]);
      expect([first, then]).toEqual(isStored ? [[released.id], [released.id]] : [[], [released.id]]);
      expect(harness.writes.length - written).toBe(writes);
      expect(harness.stored.get("shop/data")?.status).toMatchObject({ unused: true, sinceMs: NOON + 10_000 });
    },
  );

  it.each([
    { name: "may not write", fails: new ApiError("forbidden", { status: 403, retryAfterMs: undefined }) },
    { name: "is refused", fails: new ApiError("denied", { status: 422, retryAfterMs: undefined }) },
    { name: "is not answered", fails: lostAnswer },
  ])(
    "of a claim whose status it $name, it keeps the latest release and no more, for as long as it takes",
    async (row) => {
      const harness = await running();
      await harness.report(reportAt(harness, { mountedVolumes: [mountedVolumeOf("pod-0")] }));
      harness.outcomes.push(...Array.from({ length: 500 }, () => ({ fails: row.fails, isStored: false })));

      let open: readonly ReturnType<typeof releasedNow>[] = [];
      for (let pod = 0; pod < 20; pod += 1) {
        await harness.advance(600_000);
        open = [...open, releasedNow(harness, `pod-${pod}`)];
        const forget = await harness.report(reportAt(harness, { unmountRecords: [...open] }));
        open = open.filter(({ id }) => forget?.includes(id) !== true);
      }
      harness.outcomes.splice(0);
      await harness.catchUp();
      await harness.advance(7_300_000);

      expect(open.map(({ podUid }) => podUid)).toEqual(["pod-19"]);
      expect(harness.writes.at(-1)).toMatchObject({
        unused: true,
        sinceMs: NOON + 12_000_000,
        lastUse: { podUid: "pod-19" },
      });
    },
  );

  it("two agents on one node for a moment end nothing too early and lose nothing", async () => {
    const harness = await running();
    const both = { instance: "run-1", mountedVolumes: [mountedVolumeOf("pod-1"), mountedVolumeOf("pod-2")] };
    await harness.report(reportAt(harness, both));
    await harness.advance(1_000);
    await harness.report(reportAt(harness, { ...both, instance: "run-2" }));
    await harness.advance(1_000);
    const first = releasedNow(harness, "pod-1");
    await harness.report(
      reportAt(harness, { instance: "run-1", mountedVolumes: [mountedVolumeOf("pod-2")], unmountRecords: [first] }),
    );
    await harness.advance(1_000);
    // The second one read later that both are gone, and stamps the first end anew.
    const again = releasedNow(harness, "pod-1");
    const last = releasedNow(harness, "pod-2");
    const forget = await harness.report(reportAt(harness, { instance: "run-2", unmountRecords: [again, last] }));
    await harness.advance(1_000);
    const toFirst = await harness.report(reportAt(harness, { instance: "run-1", unmountRecords: [first, last] }));
    await harness.advance(1);
    const toSecond = await harness.report(reportAt(harness, { instance: "run-2", unmountRecords: [again, last] }));

    expect(forget).toEqual([first.id, again.id]);
    expect([toFirst, toSecond].map((ids) => ids?.includes(last.id))).toEqual([true, true]);
    expect(harness.writes.at(-1)).toMatchObject({ unused: true, sinceMs: NOON + 3_000, lastUse: { podUid: "pod-2" } });
  });

  it("an unmount record whose volume and claim are still to come is kept for a quarter of an hour", async () => {
    const harness = await running({ claims: [], volumes: [] });
    const released = releasedNow(harness, "pod-1");
    const tell = () => harness.report(reportAt(harness, { unmountRecords: [released] }));

    const first = await tell();
    await harness.advance(899_000);
    const kept = await tell();
    await harness.advance(1_000);
    harness.cluster.isListed = false;
    const unlisted = await tell();
    harness.cluster.isListed = true;
    const forgotten = await tell();

    expect([first, kept, unlisted, forgotten]).toEqual([[], [], [], [released.id]]);
  });

  it("it is for a quarter of an hour from the begin of leading: claims may have to be listed", async () => {
    const harness = await running({ claims: [], volumes: [] });
    const released = releasedNow(harness, "pod-1");
    await harness.advance(7_200_000);
    await harness.restart();

    const early = await harness.report(reportAt(harness, { unmountRecords: [released] }));
    await harness.advance(900_000);
    const late = await harness.report(reportAt(harness, { unmountRecords: [released] }));

    expect([early, late]).toEqual([[], [released.id]]);
  });

  it("however far the API server's clock is put forward", async () => {
    const harness = await running({ claims: [], volumes: [] });
    await harness.advance(900_000);
    const released = releasedNow(harness, "pod-1");

    const forget = await harness.report(reportAt(harness, { unmountRecords: [released] }), { atMs: NOON + 86_400_000 });

    expect(forget).toEqual([]);
  });

  it.each([
    { name: "is still to come", claims: [] },
    { name: "is shown as the one that had its name before", claims: [claimWith({ uid: "claim-0", volume: "pv-0" })] },
    {
      name: "is shown as the one that had its name before, of which a later use is stored",
      claims: [claimWith({ uid: "claim-0", volume: "pv-0", status: unusedStatus(NOON + 1) })],
    },
  ])("an unmount record whose claim $name is kept, and counts once the claim is there", async ({ claims }) => {
    const harness = await running({ claims });
    const released = releasedNow(harness, "pod-1");

    const forget = await harness.report(reportAt(harness, { unmountRecords: [released] }));
    await harness.advance(2_000);
    await harness.putClaim(claimWith({ resourceVersion: "900" }));

    expect(forget).toEqual([]);
    expect(harness.stored.get("shop/data")?.status).toMatchObject({ reason: "Unmounted", sinceMs: NOON });
  });

  it("an unmount record whose claim is gone is forgotten after that time, too", async () => {
    const harness = await running({ claims: [] });
    const released = releasedNow(harness, "pod-1");
    const forget = await harness.report(reportAt(harness, { unmountRecords: [released] }));
    await harness.advance(900_000);
    const later = await harness.report(reportAt(harness, { unmountRecords: [released] }));

    expect([forget, later]).toEqual([[], [released.id]]);
  });

  it("so is one from before a reboot, however long its machine had been up", async () => {
    const harness = await running({ claims: [] });
    await harness.advance(7_200_000);
    const released = releasedNow(harness, "pod-1");
    const forget = await harness.report(reportAt(harness, { unmountRecords: [released] }));
    await harness.putNode(nodeWith("n1", "boot-2"));
    const tell = (sinceBootMs: number) => {
      const read = { beganAt: sinceBootMs - 1, endedAt: sinceBootMs };
      const fresh = { bootId: "boot-2", instance: "run-2", read, sentAt: sinceBootMs };
      const before = { id: released.id, volume: released.volume, podUid: released.podUid, by: 0 };
      return harness.report(reportAt(harness, { ...fresh, unmountRecords: [before] }));
    };
    await harness.advance(30_000);
    const early = await tell(20_000);
    await harness.advance(900_000);
    const late = await tell(920_000);

    expect([forget, early, late]).toEqual([[], [], [released.id]]);
  });

  it("one from before its machine was put back to a snapshot is kept for as long as any other", async () => {
    const harness = await running({ claims: [] });
    await harness.advance(7_200_000);
    const released = releasedNow(harness, "pod-1");
    await harness.report(reportAt(harness, { unmountRecords: [released] }));
    const tellPutBack = async () => {
      await harness.advance(30_000);
      const sentAt = harness.clock.monotonicMs() - 3_600_000;
      return harness.report(reportAt(harness, { scan: { beganAt: sentAt - 1, endedAt: sentAt }, sentAt }));
    };
    const answers = [];
    for (let index = 0; index < 6; index += 1) answers.push(await tellPutBack());
    await harness.putClaim(claimWith({ resourceVersion: "900" }));

    expect(answers.slice(-2)).toEqual([[], []]);
    expect(harness.stored.get("shop/data")?.status?.lastUse).toMatchObject({ podUid: "pod-1" });
  });

  it("a volume that comes after the report that names it brings the claim's status", async () => {
    const harness = await running({ volumes: [] });
    await harness.report(reportAt(harness, { mountedVolumes: [mountedVolumeOf("pod-1")] }));

    harness.cluster.volumes.set("pv-1", volumeWith());
    harness.reconciler.enqueue("shop/data");
    await harness.advance(0);

    expect(harness.writes.at(-1)?.reason).toBe("Mounted");
  });
});
