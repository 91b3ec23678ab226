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
  const nodeNames = (): readonly string[] => Array.from({ length: 100 }, (_, index) => `n${index}`);
  const podByUid = (uid: string) => ({ key: keyOf(uid) });
  const rejections = new Rejections({ clock, logger, nowMs: clock.wallMs, nodeNames, podByUid }, limit);
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

  it("are paused as soon as a report shows that too many pods wait for the wrong volumes", () => {
    const { rejections } = counting();
    const paused = ["n1", "n2", "n3", "n4"].map((node) => {
      rejections.onWaiting(node, [`pod-on-${node}`]);
      return rejections.pause() !== undefined;
    });

    expect(paused).toEqual([false, false, true, true]);
    expect([rejections.count(), rejections.waiting()]).toEqual([0, 4]);
  });

  it("are not paused by one namespace, whose pods wait or are rejected", () => {
    const { rejections, reject } = counting(10);
    for (let pod = 0; pod < 60; pod += 1) {
      rejections.onWaiting(`n${pod}`, [`shop/${pod}`]);
      reject(`shop/${60 + pod}`);
    }

    expect(rejections.pause()).toBeUndefined();
    expect([rejections.count(), rejections.waiting()]).toEqual([60, 60]);
  });

  it("may be made of pods that have waited for ten minutes, as of old ones that are found", async () => {
    const { clock, logger, rejections } = counting();
    rejections.onWaiting("n1", ["a", "b", "c", "d"]);
    const first = rejections.pause();

    await clock.advance(10 * MINUTE);
    rejections.onWaiting("n1", ["a", "b", "c", "d"]);

    expect(first).toBeDefined();
    expect([rejections.pause(), rejections.waiting()]).toEqual([undefined, 4]);
    expect(logger.messages()).toEqual(["agents are told to reject no pod", "agents may reject pods again"]);
  });

  it.each([
    ["one once that waited and was rejected", ["a", "b"], ["a", "b"]],
    ["none that waits no longer", [], ["c"]],
    ["none that waits no longer, but the one beside it", ["a"], ["c"]],
  ])("count, of pods that wait, %s", (_, left, rejected) => {
    const { rejections, reject } = counting();
    rejections.onWaiting("n1", ["a", "b"]);
    rejections.onWaiting("n1", left);
    reject(...rejected);

    expect([rejections.pause(), rejections.waiting()]).toEqual([undefined, left.length]);
  });

  it("do not count pods of a node that is gone", async () => {
    const { clock, rejections } = counting();
    rejections.onWaiting("gone", ["a", "b", "c"]);
    const atOnce = rejections.pause();
    await clock.advance(1_000);

    expect([atOnce, rejections.waiting()]).toEqual([undefined, 0]);
  });
});
