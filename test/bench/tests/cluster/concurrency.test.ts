import { describe, expect, it } from "vitest";
import { settle } from "../../../fakes/clock.ts";
import { forEachIndex } from "../../cluster/concurrency.ts";

const never = new AbortController().signal;

describe("forEachIndex", () => {
  it("runs each once, with the given concurrency", async () => {
    const done: number[] = [];
    let running = 0;
    let most = 0;

    await forEachIndex({ count: 10, workers: 3, signal: never }, async (index) => {
      running += 1;
      most = Math.max(most, running);
      await settle();
      running -= 1;
      done.push(index);
    });

    expect(done.toSorted((one, other) => one - other)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(most).toBe(3);
  });

  it("begins nothing more after a failure, and fails with it", async () => {
    const begun: number[] = [];

    const all = forEachIndex({ count: 100, workers: 2, signal: never }, async (index) => {
      begun.push(index);
      await settle();
      if (index === 3) throw new Error("the fourth");
    });

    await expect(all).rejects.toThrow("the fourth");
    await settle();
    expect(begun.length).toBeLessThan(8);
  });

  it("fails when it is stopped: what follows must not count on the rest", async () => {
    const stop = new AbortController();

    const all = forEachIndex({ count: 100, workers: 2, signal: stop.signal }, async (index) => {
      if (index === 5) stop.abort(new Error("stopped"));
    });

    await expect(all).rejects.toThrow("stopped");
  });
});
