import { describe, expect, it } from "vitest";
import type { PodWatch, UnstoredClaim, WatchHistory } from "../../../../aggregator/core/pod-watch/history.ts";
import { EndedPods } from "../../../../aggregator/pod-watch/ended-pods.ts";
import { PodWatchHistory } from "../../../../aggregator/pod-watch/pod-watch-history.ts";
import {
  COVERAGE_ANNOTATION,
  readCoverage,
  writeCoverage,
} from "../../../../aggregator/sources/watch-history-annotation.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { NOON, podWith } from "../world.ts";

const PREDECESSOR: WatchHistory = {
  sinceMs: NOON - 60_000,
  gap: undefined,
  reached: "100",
  reachedAtMs: NOON - 3_000,
};
const LEFT = { [COVERAGE_ANNOTATION]: writeCoverage(PREDECESSOR) };

class World {
  nowMs = NOON;
  watch: PodWatch | undefined = { sinceVersion: "50", sinceMs: NOON - 30_000 };
  reached: string | undefined = "100";
  /** How many events came in, and how many of them are decided. */
  received = 0;
  done = 0;
  unstored: readonly UnstoredClaim[] | undefined = [];
  readonly inherited: UnstoredClaim[] = [];
  readonly logger = createFakeLogger();
  readonly ends = new EndedPods({ claim: () => undefined, nowMs: () => NOON });
  readonly coverage = new PodWatchHistory({
    logger: this.logger,
    ends: this.ends,
    unstored: { begin: (claims) => this.inherited.push(...claims), list: () => this.unstored },
    cluster: { podsWatchedSince: () => this.watch, podsReached: () => this.reached },
    checkpoint: () => {
      const marked = this.received;
      return () => this.done >= marked;
    },
    nowMs: () => this.nowMs,
    client: { serverTime: () => ({ latestMs: this.nowMs, widthMs: 100 }) },
  });

  /** What a renewal writes after some seconds. */
  renew(seconds: number, reached: string | undefined): ReturnType<typeof readCoverage> {
    this.nowMs += seconds * 1_000;
    this.reached = reached;
    return readCoverage(this.coverage.handOver()[COVERAGE_ANNOTATION], this.nowMs);
  }
}

/** A replica that leads after one that has handed over its coverage. */
function follower(): World {
  const world = new World();
  world.coverage.begin(LEFT);
  return world;
}

describe("the coverage that is handed over", () => {
  it("goes on from the predecessor's, with the time at which the watch had surely come that far", () => {
    const world = follower();

    const first = world.renew(2, "100");
    const second = world.renew(2, "110");

    expect(first).toEqual({ ...PREDECESSOR, unstored: [] });
    // At the check before, at 12:00:02, it had not come that far, or just had. The clock may be a tenth of a second ahead.
    expect(second).toEqual({ ...PREDECESSOR, reached: "110", reachedAtMs: NOON + 1_900, unstored: [] });
  });

  it("names the decisions that are not stored, and those of a predecessor, unless they are too many", () => {
    const left = { [COVERAGE_ANNOTATION]: writeCoverage(PREDECESSOR, [{ uid: "a", sinceMs: NOON - 9_000 }]) };
    const world = new World();
    world.coverage.begin(left);
    world.unstored = [
      { uid: "b", sinceMs: NOON - 5_000 },
      { uid: "c", sinceMs: undefined },
    ];

    const handed = world.renew(2, "110");
    world.unstored = undefined;
    const full = world.renew(2, "120");
    world.unstored = [];

    expect(world.inherited).toEqual([{ uid: "a", sinceMs: NOON - 9_000 }]);
    expect(handed).toMatchObject({ reached: "110", unstored: [{ uid: "b" }, { uid: "c" }] });
    expect([full, world.renew(2, "120")?.reached]).toEqual([undefined, "120"]);
  });

  it("goes on under constant load, as far as all events are decided", () => {
    const world = follower();

    world.received = 5;
    const first = world.renew(2, "110");
    world.received = 9;
    world.done = 4;
    const second = world.renew(2, "120");
    world.done = 5;
    const third = world.renew(2, "130");
    world.received = 12;
    world.done = 9;
    const fourth = world.renew(2, "140");

    // The events up to 110 are decided when the watch has come to 130, and those up to 130 at 140.
    expect([first, second, third?.reached, fourth?.reached]).toEqual([undefined, undefined, "110", "130"]);
    expect(third?.reachedAtMs).toBe(NOON - 100);
  });

  it("would break with a watch that began after what the predecessor handed over", () => {
    const world = new World();
    const breaks = ["100", "101"].map((sinceVersion) => {
      world.watch = { sinceVersion, sinceMs: NOON - 1_000 };
      return world.coverage.wouldBreak(LEFT);
    });

    expect(breaks).toEqual([false, true]);
  });

  it("begins anew when pods had to be listed anew in the middle", () => {
    const world = follower();
    world.renew(2, "110");
    world.received = 1;
    world.renew(1, "120");

    world.watch = { sinceVersion: "130", sinceMs: NOON + 4_000 };
    world.received = 2;
    // Only events from before the new list are decided.
    world.done = 1;
    const before = world.renew(3, "130");
    world.done = 2;
    const after = world.renew(2, "131");

    expect(before).toBeUndefined();
    expect(after).toMatchObject({
      sinceMs: NOON + 4_000,
      gap: { fromMs: NOON - 100, toMs: NOON + 4_000 },
      reached: "131",
    });
  });

  it("begins anew when ends that no leader has decided had to be dropped", () => {
    const world = new World();
    for (let gone = 60; gone <= 50_060; gone += 1) {
      world.ends.note({
        pod: podWith({ uid: `pod-${gone}`, claims: [`shop/claim-${gone}`] }),
        gone: String(gone),
        claimUids: [],
        wasOver: false,
        seenAtMs: NOON,
      });
    }
    world.coverage.begin(LEFT);

    expect(world.renew(2, "50070")).toMatchObject({
      sinceMs: NOON,
      gap: { fromMs: NOON - 3_000, toMs: NOON },
    });
  });

  it("knows without a Lease, too, up to when it watched before it had to list pods anew", () => {
    const world = new World();
    world.coverage.begin({});
    const first = world.coverage.history?.gap;
    for (const reached of ["110", "120"]) {
      world.nowMs += 2_000;
      world.reached = reached;
      world.coverage.handOver();
    }

    world.watch = { sinceVersion: "150", sinceMs: NOON + 9_000 };
    world.coverage.handOver();

    // No replica is known to have watched before.
    expect(first).toMatchObject({ fromMs: undefined, toMs: NOON - 30_000 });
    // At the check before the last one, by a clock that may be a tenth of a second ahead. No node had answered for the time before the first watch.
    expect(world.coverage.history).toMatchObject({ reachedAtMs: NOON + 1_900 });
    expect(world.coverage.history?.gap).toMatchObject({ fromMs: 0, toMs: NOON + 9_000 });
  });

  it("names the nodes of a gap that have not answered, once claims are decided by the answers of the others", () => {
    const world = new World();
    world.coverage.begin({});
    world.received = 1;
    world.coverage.settle(["n1"]);
    const before = world.renew(2, "110");
    world.done = 1;

    expect([before, world.renew(2, "110")?.gap]).toMatchObject([undefined, { isForAll: false, open: ["n1"] }]);
    world.coverage.settle([]);
    expect(world.renew(2, "110")?.gap).toBeUndefined();
  });

  it("waits for every node anew after another gap, whichever have answered for the one before", () => {
    const world = new World();
    world.coverage.begin({});
    world.coverage.settle([]);
    world.watch = { sinceVersion: "150", sinceMs: NOON + 9_000 };

    expect(world.renew(10, "160")?.gap).toMatchObject({ isForAll: true, toMs: NOON + 9_000 });
  });

  it("begins anew, and takes no node for away, when etcd was restored from a backup", () => {
    const world = follower();
    const before = world.renew(2, "110");
    world.watch = { sinceVersion: "60", sinceMs: NOON + 60_000 };

    world.nowMs = NOON + 60_000;
    const restored = world.renew(1, "60");
    const later = world.renew(1, "61");

    const gap = { fromMs: before?.reachedAtMs, toMs: NOON + 60_000, reached: undefined };
    expect(before?.reached).toBe("110");
    expect(restored).toMatchObject({ sinceMs: NOON + 60_000, reached: "60", gap });
    expect(later).toMatchObject({ sinceMs: NOON + 60_000, reached: "61", gap });
  });
});
