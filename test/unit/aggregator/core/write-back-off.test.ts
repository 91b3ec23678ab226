import { describe, expect, it } from "vitest";
import { type Attempts, nextAttempts, restBefore } from "../../../../aggregator/core/write-back-off.ts";

const MINUTE = 60_000;

function attemptsWith(fields: Partial<Attempts> = {}): Attempts {
  return { outcome: "refused", times: 1, changes: 1, atMs: 0, retryAfterMs: 0, jitter: 0.5, ...fields };
}

describe("the wait before the same is written again", () => {
  it.each<{
    readonly name: string;
    readonly attempts?: Partial<Attempts>;
    readonly nowMs?: number;
    readonly hasChanged?: boolean;
    readonly restMs: number;
  }>([
    { name: "what was refused is tried again after a minute", restMs: MINUTE },
    { name: "later and later", attempts: { times: 3 }, restMs: 4 * MINUTE },
    { name: "but every ten minutes", attempts: { times: 99 }, restMs: 10 * MINUTE },
    { name: "at once when something has changed", hasChanged: true, restMs: 500 },
    { name: "not so quickly when it changes all the time", attempts: { changes: 5 }, hasChanged: true, restMs: 8_000 },
    { name: "but every ten minutes, too", attempts: { changes: 99 }, hasChanged: true, restMs: 10 * MINUTE },
    { name: "a write on an old state waits for the watch", attempts: { outcome: "stale" }, restMs: 10_000 },
    { name: "a moment when that shows a newer one", attempts: { outcome: "stale" }, hasChanged: true, restMs: 50 },
    { name: "at once after a day of repeats, too", attempts: { times: 150 }, hasChanged: true, restMs: 500 },
    { name: "ten seconds at last", attempts: { outcome: "stale", changes: 99 }, hasChanged: true, restMs: 10_000 },
    { name: "a failure of the server is tried again soon", attempts: { outcome: "failed" }, restMs: 500 },
    { name: "also where something has changed", attempts: { outcome: "failed" }, hasChanged: true, restMs: 500 },
    { name: "a lasting one once a minute", attempts: { outcome: "failed", times: 20 }, restMs: MINUTE },
    { name: "what others changed is put right at first", attempts: { outcome: "written" }, restMs: 1_000 },
    { name: "and once in ten minutes at last", attempts: { outcome: "written", times: 99 }, restMs: 10 * MINUTE },
    { name: "never sooner than asked", attempts: { outcome: "failed", retryAfterMs: 7_000 }, restMs: 7_000 },
    { name: "time that has passed counts", nowMs: MINUTE / 2, restMs: MINUTE / 2 },
    { name: "a wait that is over is over", nowMs: 3 * MINUTE, restMs: -2 * MINUTE },
    { name: "waits are spread: shorter", attempts: { jitter: 0 }, restMs: 0.75 * MINUTE },
    { name: "waits are spread: longer", attempts: { jitter: 1 }, restMs: 1.25 * MINUTE },
  ])("$name", ({ attempts = {}, nowMs = 0, hasChanged = false, restMs }) => {
    expect(restBefore(attemptsWith(attempts), nowMs, hasChanged)).toBe(restMs);
  });

  it.each([
    { name: "grows with the same outcome", next: {}, times: 5 },
    { name: "begins anew with another outcome", next: { outcome: "stale" as const }, times: 1 },
    { name: "goes on within twenty minutes", next: { atMs: 20 * MINUTE }, times: 5 },
    { name: "begins anew after them", next: { atMs: 20 * MINUTE + 1 }, times: 1 },
  ])("$name", ({ next, times }) => {
    expect(nextAttempts(attemptsWith({ times: 4 }), attemptsWith(next)).times).toBe(times);
  });

  it.each([
    { name: "a repeat", hasChanged: false, next: {}, changes: 2 },
    { name: "a change", hasChanged: true, next: {}, changes: 3 },
    { name: "another outcome", hasChanged: false, next: { outcome: "stale" as const }, changes: 1 },
  ])("counts the changes of the object: $name", ({ hasChanged, next, changes }) => {
    const known = attemptsWith({ times: 4, changes: 2 });

    expect(nextAttempts(known, attemptsWith(next), hasChanged).changes).toBe(changes);
  });
});
