import { describe, expect, it } from "vitest";
import { Rejections } from "../../../../aggregator/affinity/rejections.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";

const MINUTE = 60_000;
const LIMIT = 3;

/** Each of a namespace of its own, unless its UID names one. */
function keyOf(uid: string): string {
  return uid.includes("/") ? uid : `team-${uid}/${uid}`;
}

function counting(limit = LIMIT) {
  const [clock, logger] = [createFakeClock(), createFakeLogger()];
  const nodeNames = (): readonly string[] => Array.from({ length: 100 }, (_, index) => `n${index}`);
  const podByUid = (uid: string) => ({ key: keyOf(uid) });
  const rejections = new Rejections({ clock, logger, nowMs: clock.wallMs, nodeNames, podByUid }, limit);
  const reject = (uid: string, ageMs: number | undefined = 0): void =>
    rejections.onRejected({
      key: keyOf(uid),
      uid,
      node: "n1",
      rejection: { atMs: ageMs === undefined ? undefined : clock.wallMs() - ageMs, level: 0 },
    });
  return { clock, logger, rejections, reject };
}

describe("Rejections", () => {
  it("are held from the limit on, and let go of when they are half as many and ten minutes are over", async () => {
    const { clock, logger, rejections, reject } = counting();
    for (const uid of ["a", "b", "c"]) reject(uid);

    expect(rejections.pause()).toContain("3 pods on 1 of 100 nodes were rejected");
    await clock.advance(10 * MINUTE - 1);
    expect(rejections.pause()).toContain("3 pods");
    await clock.advance(1_000);
    expect(rejections.pause()).toBeUndefined();
    expect(logger.lines.map(({ level, message }) => `${level}: ${message}`)).toEqual([
      "warn: agents are told to reject no pod",
      "info: agents may reject pods again",
    ]);
  });

  it.each([
    { name: "a pod that is seen again", next: "c", ageMs: 0, count: 3 },
    { name: "one more", next: "d", ageMs: 0, count: 4 },
    { name: "one that was rejected some minutes ago", next: "d", ageMs: 9 * MINUTE, count: 4 },
    { name: "one that was rejected long ago", next: "d", ageMs: 10 * MINUTE, count: 3 },
    { name: "one that does not say when", next: "d", ageMs: undefined, count: 4 },
  ])("counts $name", ({ next, ageMs, count }) => {
    const { rejections, reject } = counting();
    for (const uid of ["a", "b", "c"]) reject(uid);

    reject(next, ageMs);

    expect(rejections.count()).toBe(count);
  });

  it("counts one that is to come as one of now", async () => {
    const { clock, rejections, reject } = counting();
    reject("a", -60 * MINUTE);

    await clock.advance(10 * MINUTE);

    expect(rejections.count()).toBe(0);
  });

  it("finds a new one at most a second later, however often it was asked before", async () => {
    const { clock, rejections, reject } = counting();
    expect(rejections.pause()).toBeUndefined();
    for (const uid of ["a", "b", "c"]) reject(uid);

    await clock.advance(1_000);

    expect(rejections.pause()).toBeDefined();
  });

  it("are held before any is made when too many pods wait for the wrong volumes, by the very report that tells of it", () => {
    const { rejections } = counting();
    const said = ["n1", "n2", "n3", "n4"].map((node) => {
      rejections.onWaiting(node, [`pod-on-${node}`]);
      return rejections.pause() !== undefined;
    });

    expect(said).toEqual([false, false, true, true]);
    expect([rejections.count(), rejections.waiting()]).toEqual([0, 4]);
  });

  it("are not held by one namespace, whose pods wait or are rejected", () => {
    const { rejections } = counting(10);
    for (let node = 0; node < 60; node += 1) rejections.onWaiting(`n${node}`, [`shop/${node}`]);
    for (let pod = 60; pod < 120; pod += 1)
      rejections.onRejected({ key: `shop/${pod}`, uid: `shop/${pod}`, node: "n1", rejection: undefined });

    expect(rejections.pause()).toBeUndefined();
    expect([rejections.count(), rejections.waiting()]).toEqual([60, 60]);
  });

  it("may be made of pods that have waited for ten minutes, as of old ones that are found", async () => {
    const { clock, rejections } = counting();
    rejections.onWaiting("n1", ["a", "b", "c", "d"]);
    const first = rejections.pause();

    await clock.advance(10 * MINUTE);
    rejections.onWaiting("n1", ["a", "b", "c", "d"]);

    expect(first).toBeDefined();
    expect(rejections.pause()).toBeUndefined();
    expect(rejections.waiting()).toBe(4);
  });

  it("count a pod once that waited and was rejected", () => {
    const { rejections, reject } = counting();
    rejections.onWaiting("n1", ["a", "b"]);
    reject("a");
    reject("b");

    expect(rejections.pause()).toBeUndefined();
  });

  it.each([
    { name: "no longer wait", left: [] },
    { name: "wait no longer but for one", left: ["a"] },
  ])("do not count pods that $name", ({ left }) => {
    const { rejections, reject } = counting();
    rejections.onWaiting("n1", ["a", "b"]);
    rejections.onWaiting("n1", left);
    reject("c");

    expect(rejections.pause()).toBeUndefined();
    expect(rejections.waiting()).toBe(left.length);
  });

  it("do not count pods of a node that is no more", async () => {
    const { clock, rejections } = counting();
    rejections.onWaiting("gone", ["a", "b", "c"]);

    expect(rejections.pause()).toBeUndefined();
    await clock.advance(1_000);
    expect(rejections.waiting()).toBe(0);
  });

  it("are never held with a limit of zero", () => {
    const { rejections } = counting(0);
    rejections.onWaiting("n1", ["a", "b", "c"]);

    expect(rejections.pause()).toBeUndefined();
  });
});
