import { afterEach, describe, expect, it } from "vitest";
import type { ProtectionMode } from "../../../../aggregator/core/deletion.ts";
import { MooringError } from "../../../../common/runtime/errors.ts";
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

const lostAnswer = new MooringError("transport-failed", "the connection broke");
const NEVER_USED = statusWith({ unused: true, reason: "NeverObservedInUse" });

afterEach(stopHarnesses);

describe("what is written of a claim", () => {
  it.each<{
    readonly name: string;
    readonly first?: (harness: Harness) => void;
    readonly next: (harness: Harness) => unknown;
    readonly writes?: number;
  }>([
    {
      name: "is not written again when an answer was lost, as soon as the watch shows what was stored",
      first: ({ outcomes }) => outcomes.push({ fails: lostAnswer, isStored: true }),
      next: (harness) => harness.catchUp(),
    },
    {
      name: "counts until the watch has caught up",
      first: ({ outcomes }) => outcomes.push("stored"),
      next: (harness) => harness.enqueueAll(),
    },
    {
      name: "counts for more than an older object that the watch shows",
      next: ({ cluster }) => cluster.byKey.set("shop/data", claimWith()),
    },
    {
      name: "is written again where a backup was put back: the watch shows less, and has come as far as the write",
      next: (harness) => {
        harness.cluster.claimsAt = "100000";
        return harness.putClaim(claimWith({ resourceVersion: "101", status: NEVER_USED }));
      },
      writes: 2,
    },
  ])("$name", async ({ first, next, writes = 1 }) => {
    const harness = await running();
    first?.(harness);

    await tellMounted(harness, ["pod-1"]);
    await next(harness);
    await harness.enqueueAll();
    await harness.advance(10_000);

    expect(reasonsOf(harness)).toEqual(["NeverObservedInUse", ...Array(writes).fill("Mounted")]);
  });

  it("folds changes of the reason alone over the delay", async () => {
    const harness = await running();
    await tellMounted(harness, ["pod-1"]);
    await harness.putPod(podWith());
    const before = harness.writes.length;

    await tellEnds(harness, [releasedNow(harness, "pod-1")]);
    await harness.advance(4_999);
    const early = harness.writes.length;
    await harness.advance(1);

    expect(early).toBe(before);
    expect(reasonsOf(harness).slice(before)).toEqual(["Referenced"]);
  });

  it("is two writes for a short run of a cron job", async () => {
    const harness = await running();
    await harness.putPod(podWith({ hasStarted: false }));
    await harness.advance(1_000);
    await tellMounted(harness, ["pod-1"]);
    await harness.putPod(podWith({ resourceVersion: "201" }));
    await harness.advance(2_000);
    await harness.putPod(podWith({ resourceVersion: "202", isTerminal: true }));
    await harness.advance(500);

    await tellEnds(harness, [releasedNow(harness, "pod-1")], { podsResourceVersion: "202" });
    await harness.advance(60_000);

    expect(reasonsOf(harness)).toEqual(["NeverObservedInUse", "Referenced", "Unmounted"]);
    expect(statusOf(harness)?.sinceMs).toBe(NOON + 4_000);
  });

  it.each([
    { name: "before it was made was an earlier claim's", seenAtMs: NOON - 1_001, reasons: [] },
    { name: "in the second in which it was made may be its own", seenAtMs: NOON, reasons: ["Referenced", "Unmounted"] },
  ])("the end of a pod that was seen $name", async ({ seenAtMs, reasons }) => {
    const harness = await running({ claims: [claimWith({ createdAtMs: NOON, status: NEVER_USED })] });

    harness.onPodEnded({ pod: podWith(), gone: "300", wasOver: false, seenAtMs });
    await harness.advance(1_000);
    await tell(harness, { podsResourceVersion: "300" });

    expect(reasonsOf(harness)).toEqual(reasons);
  });

  it("is decided while the API server answers no write, so that it is kept in mind and a successor knows", async () => {
    const used = claimWith({ status: statusWith({ unused: true, reason: "Unmounted" }) });
    const others = Array.from({ length: 20 }, (_, index) =>
      claimWith({ name: `x${index}`, uid: `x${index}`, volume: undefined }),
    );
    const harness = await running({ claims: [used, ...others] }, { silent: ["n1"] });
    harness.holdWrites();
    await tell(harness);
    await harness.advance(100);

    await tellMounted(harness, ["pod-1"]);
    await harness.advance(100);
    const [unstored, isAtRest] = [harness.unstored.list(), harness.reconciler.queue.isIdle];
    harness.letWrites();
    await harness.advance(10_000);

    expect([unstored, isAtRest]).toEqual([[{ uid: used.uid, sinceMs: undefined }], false]);
    expect(statusOf(harness)).toMatchObject({ unused: false, reason: "Mounted" });
    expect([harness.unstored.list(), harness.reconciler.queue.isIdle]).toEqual([[], true]);
  });

  it("leaves a warning where Kubernetes calls a mounted claim unused and that lasts, although nothing is written", async () => {
    const upstream = { unused: true, sinceMs: NOON, owner: "other" as const };
    const harness = await running({ claims: [claimWith({ upstream })] });
    await tellMounted(harness, ["pod-1"]);
    await harness.advance(9_900);
    const early = [...harness.warnings];
    await harness.advance(100);
    const lasting = harness.reconciler.unusedWhileMounted.size;
    harness.reconciler.onClaimGone(claimWith());

    expect([early, lasting, harness.reconciler.unusedWhileMounted.size]).toEqual([[], 1, 0]);
    expect(harness.warnings).toMatchObject([{ kind: "unused-while-mounted", nodes: ["n1"] }]);
  });

  it.each<{
    readonly name: string;
    readonly protection: ProtectionMode;
    readonly staged: readonly (string | undefined)[];
  }>([
    {
      name: "until that is over, where it keeps the claim",
      protection: "enforce",
      staged: [undefined, "n1", undefined],
    },
    { name: "not at all where nothing is kept", protection: "off", staged: [undefined, undefined] },
  ])("tells that a volume is staged without use $name", async ({ protection, staged }) => {
    const csi = { driver: "d", handleHash: "h".repeat(64) };
    const harness = await running({ volumes: [volumeWith({ csi })], protection });
    const staging = { kind: "staging", volume: { by: "handle", ...csi }, since: 0 } as const;

    for (const mountedVolumes of [[mountedVolumeOf("pod-1"), staging], [staging], []]) {
      await tell(harness, { mountedVolumes });
      await harness.advance(1_000);
    }

    const told = harness.writes.filter(({ reason }) => reason !== "NeverObservedInUse");
    expect(told.map((status) => /Staged on node (\w+)/.exec(status.staged ?? "")?.[1])).toEqual(staged);
    expect(told.map(({ reason }) => reason)).toEqual(["Mounted", ...Array(staged.length - 1).fill("Unmounted")]);
  });
});

describe("a claim that is being deleted", () => {
  it("is decided on first", async () => {
    const others = ["a", "b", "c", "d", "e"].map((name) => claimWith({ name, uid: name }));
    const deleted = claimWith({ isDeleting: true, status: statusWith() });
    const harness = idle({ claims: [...others, deleted], volumes: [], nodes: [] });
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

  it("has no time moved by the end of a pod that was never scheduled", async () => {
    const status = statusWith({ unused: true, reason: "NoPodUsing", sinceMs: NOON - 60_000 });
    const harness = await running({ claims: [claimWith({ isDeleting: true, status })] });
    await harness.putPod(podWith({ node: undefined, hasStarted: false, resourceVersion: "300" }));

    await harness.removePod("pod-1", "301");
    await harness.advance(1_000);
    await tell(harness, { podsResourceVersion: "301" });
    await harness.advance(10_000);

    expect(harness.writes).toEqual([]);
  });

  it.each([
    { name: "was seen on a node", isSeen: true },
    { name: "came and went between two decisions", isSeen: false },
  ])("stays in use when its pod $name and was deleted by force, until that node has reported", async ({ isSeen }) => {
    const claims = [claimWith({ isDeleting: true, status: NEVER_USED })];
    const harness = await running({ claims, nodes: [nodeWith("n1"), nodeWith("n2")] });
    const pod = podWith({ hasStarted: false, resourceVersion: "300" });
    if (isSeen) await harness.putPod(pod);
    else harness.cluster.pods.set(pod.uid, pod);
    await harness.removePod(pod.uid, "301");
    await harness.advance(10_000);
    const unused = [statusOf(harness)?.unused];

    for (const node of ["n2", "n1"]) {
      await tell(harness, { node, podsResourceVersion: "301" });
      await harness.advance(10_000);
      unused.push(statusOf(harness)?.unused);
    }

    expect(unused).toEqual([false, false, true]);
  });
});
