import { describe, expect, it } from "vitest";
import { Rejections } from "../../../../aggregator/affinity/rejections.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";

const MINUTE = 60_000;

/** Each of a namespace of its own, unless its UID names one. */
function keyOf(uid: string): string {
  return uid.includes("/") ? uid : `team-${uid}/${uid}`;
}

function counting(limit = 3) {
  const [clock, logger] = [createFakeClock(), createFakeLogger()];
  const rejections = new Rejections({ clock, logger, nowMs: clock.wallMs, nodeCount: () => 100 }, limit);
  const rejectAged = (uid: string, ageMs: number | undefined): void => {
    const rejection = { atMs: ageMs === undefined ? undefined : clock.wallMs() - ageMs, level: 0 };
    rejections.onRejected({ key: keyOf(uid), uid, node: "n1", rejection });
  };
  const reject = (...uids: readonly string[]): void => uids.forEach((uid) => void rejectAged(uid, 0));
  return { clock, logger, rejections, rejectAged, reject };
}

describe("rejections", () => {
  it.each<readonly [name: string, next: string, ageMs: number | undefined, count: number]>([
    ["a pod that is seen again once", "c", 0, 3],
    ["one more", "d", 0, 4],
    ["one that is to come", "d", -60 * MINUTE, 4],
  ])("count %s, and none of them ten minutes later", async (...[, next, ageMs, count]) => {
    const { clock, rejections, reject, rejectAged } = counting();
    reject("a", "b", "c");

    rejectAged(next, ageMs);
    const counted = rejections.count();
    await clock.advance(10 * MINUTE);

    expect([counted, rejections.count()]).toEqual([count, 0]);
  });

  it("are paused within a second of the one that is too many, and for ten minutes", async () => {
    const { clock, logger, rejections, reject } = counting();
    reject("a", "b");
    const before = rejections.pause();
    reject("c");
    await clock.advance(1_000);
    const paused = rejections.pause();

    await clock.advance(10 * MINUTE);

    expect(before).toBeUndefined();
    expect(paused).toBe("in the last 10 minutes 3 pods on 1 of 100 nodes were rejected");
    expect(rejections.pause()).toBeUndefined();
    expect(logger.messages()).toEqual(["agents are told to reject no pod", "agents may reject pods again"]);
  });

  it("are not paused by one namespace", () => {
    const { rejections, reject } = counting(10);
    for (let pod = 0; pod < 60; pod += 1) reject(`shop/${pod}`);

    expect(rejections.pause()).toBeUndefined();
    expect(rejections.count()).toBe(60);
  });
});
