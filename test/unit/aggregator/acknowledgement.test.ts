import { afterEach, describe, expect, it } from "vitest";
import { ApiError } from "../../../common/kube/client.ts";
import { MooringError } from "../../../common/runtime/errors.ts";
import type { ClaimStatus } from "../../../common/storage/claim-status.ts";
import { releasedNow, reportAt, running, statusOf, stopHarnesses, tell, tellEnds, tellMounted } from "./running.ts";
import { claimWith, mountedVolumeOf, NOON, nodeWith, statusWith } from "./world.ts";

const lostAnswer = new MooringError("transport-failed", "the connection broke");

function unusedStatus(releasedAtMs: number): ClaimStatus {
  const user = { node: "n0", pod: "shop/old", podUid: "pod-0" };
  const lastUse = { releaseId: "old", ...user, releasedAtMs, uncertaintyMs: 0, evidence: "mount-table" } as const;
  return statusWith({ unused: true, reason: "Unmounted", sinceMs: releasedAtMs, lastUse });
}

afterEach(stopHarnesses);

describe("what a node may forget", () => {
  it("our own write is not enough: the watch must show it", async () => {
    const harness = await running();
    await tellMounted(harness, ["pod-1"]);
    await harness.advance(1_000);
    const released = releasedNow(harness, "pod-1");
    harness.outcomes.push("stored");

    await tellEnds(harness, [released]);
    const early = await tellEnds(harness, [released]);
    await harness.catchUp();
    const late = await tellEnds(harness, [released]);

    expect([early, late]).toEqual([[], [released.id]]);
  });

  it("an unmount record beside a mount on another node is kept, and counts when that one turns out to have ended earlier", async () => {
    const harness = await running({ nodes: [nodeWith("n1"), nodeWith("n2")] });
    await tellMounted(harness, ["pod-1"]);
    await tell(harness, { node: "n2", mountedVolumes: [mountedVolumeOf("pod-2")] });
    await harness.advance(10_000);
    const early = releasedNow(harness, "pod-2");
    const late = reportAt(harness, { node: "n2", unmountRecords: [early] });
    await harness.advance(10_000);
    const released = releasedNow(harness, "pod-1");

    const forget = await tellEnds(harness, [released]);
    await harness.advance(5_000);
    await harness.report({ ...late, sentAt: harness.clock.monotonicMs() });

    expect(forget).toEqual([]);
    expect(harness.writes.at(-1)).toMatchObject({ unused: true, sinceMs: NOON + 20_000 });
    expect(harness.writes.at(-1)?.lastUse?.releaseId).toBe(released.id);
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
    await tell(harness, { node: "n2", mountedVolumes: [mountedVolumeOf("pod-9")] });
    harness.cluster.podsAt = podsAt;
    await harness.advance(1_000);
    const first = releasedNow(harness, "pod-1");
    await harness.advance(1_000);
    const second = releasedNow(harness, "pod-2");

    const forget = await tellEnds(harness, [first, second]);

    expect(forget).toHaveLength(forgets);
  });

  it("an unmount record beside another mount on its own node is kept: that mount's end may have been read before", async () => {
    const harness = await running();
    await tellMounted(harness, ["pod-1", "pod-2"]);
    await harness.advance(10_000);
    const suspended = releasedNow(harness, "pod-2");
    await harness.advance(10_000);
    const released = releasedNow(harness, "pod-1");

    // Until its pod is known to be over, an end that was read stays a mount to the agent.
    const forget = await tell(harness, { mountedVolumes: [mountedVolumeOf("pod-2")], unmountRecords: [released] });
    await tellEnds(harness, [suspended]);

    expect(forget).toEqual([]);
    expect(harness.writes.at(-1)).toMatchObject({ unused: true, sinceMs: NOON + 20_000, lastUse: { podUid: "pod-1" } });
  });

  it.each([
    { name: "is acknowledged by the leader that follows, and not written again", isStored: true, writes: 0 },
    { name: "is written by the leader that follows before it is acknowledged", isStored: false, writes: 1 },
  ])(
    "an unmount record whose leader vanished between the write and its answer, stored $isStored, $name",
    async (row) => {
      const { isStored, writes } = row;
      const harness = await running();
      await tellMounted(harness, ["pod-1"]);
      await harness.advance(10_000);
      const released = releasedNow(harness, "pod-1");
      harness.outcomes.push({ fails: lostAnswer, isStored });

      const before = await tellEnds(harness, [released]);
      const written = harness.writes.length;
      await harness.restart();
      const first = await tellEnds(harness, [released]);
      await harness.advance(1_000);
      const then = await tellEnds(harness, [released]);

      expect(before).toEqual([]);
      expect([first, then]).toEqual(isStored ? [[released.id], [released.id]] : [[], [released.id]]);
      expect(harness.writes.length - written).toBe(writes);
      expect(statusOf(harness)).toMatchObject({ unused: true, sinceMs: NOON + 10_000 });
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
      await tellMounted(harness, ["pod-0"]);
      harness.outcomes.push(...Array.from({ length: 500 }, () => ({ fails: row.fails, isStored: false })));

      let open: readonly ReturnType<typeof releasedNow>[] = [];
      for (let pod = 0; pod < 20; pod += 1) {
        await harness.advance(600_000);
        open = [...open, releasedNow(harness, `pod-${pod}`)];
        const forget = await tellEnds(harness, [...open]);
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
    await tell(harness, { ...both, instance: "run-2" });
    await harness.advance(1_000);
    const first = releasedNow(harness, "pod-1");
    await tell(harness, { instance: "run-1", mountedVolumes: [mountedVolumeOf("pod-2")], unmountRecords: [first] });
    await harness.advance(1_000);
    // The second one read later that both are gone, and stamps the first end anew.
    const again = releasedNow(harness, "pod-1");
    const last = releasedNow(harness, "pod-2");
    const forget = await tell(harness, { instance: "run-2", unmountRecords: [again, last] });
    await harness.advance(1_000);
    const toFirst = await tell(harness, { instance: "run-1", unmountRecords: [first, last] });
    await harness.advance(1);
    const toSecond = await tell(harness, { instance: "run-2", unmountRecords: [again, last] });

    expect(forget).toEqual([first.id, again.id]);
    expect([toFirst, toSecond].map((ids) => ids?.includes(last.id))).toEqual([true, true]);
    expect(harness.writes.at(-1)).toMatchObject({ unused: true, sinceMs: NOON + 3_000, lastUse: { podUid: "pod-2" } });
  });

  it("an unmount record whose volume and claim are still to come is kept for a quarter of an hour", async () => {
    const harness = await running({ claims: [], volumes: [] });
    const released = releasedNow(harness, "pod-1");
    const told = () => tellEnds(harness, [released]);

    const first = await told();
    await harness.advance(899_000);
    const kept = await told();
    await harness.advance(1_000);
    harness.cluster.isListed = false;
    const unlisted = await told();
    harness.cluster.isListed = true;
    const forgotten = await told();

    expect([first, kept, unlisted, forgotten]).toEqual([[], [], [], [released.id]]);
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

    const forget = await tellEnds(harness, [released]);
    await harness.advance(2_000);
    await harness.putClaim(claimWith({ resourceVersion: "900" }));

    expect(forget).toEqual([]);
    expect(statusOf(harness)).toMatchObject({ reason: "Unmounted", sinceMs: NOON });
  });

  it("one from before its machine was put back to a snapshot is kept for as long as any other", async () => {
    const harness = await running({ claims: [] });
    await harness.advance(7_200_000);
    const released = releasedNow(harness, "pod-1");
    await tellEnds(harness, [released]);
    const tellPutBack = async () => {
      await harness.advance(30_000);
      const sentAt = harness.clock.monotonicMs() - 3_600_000;
      return harness.report(reportAt(harness, { scan: { beganAt: sentAt - 1, endedAt: sentAt }, sentAt }));
    };
    const answers = [];
    for (let index = 0; index < 6; index += 1) answers.push(await tellPutBack());
    await harness.putClaim(claimWith({ resourceVersion: "900" }));

    expect(answers.slice(-2)).toEqual([[], []]);
    expect(statusOf(harness)?.lastUse).toMatchObject({ podUid: "pod-1" });
  });
});
