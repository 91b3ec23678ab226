import { describe, expect, it } from "vitest";
import type { WriteFailure } from "../../../../aggregator/sinks/writers.ts";
import { type Attempt, WriteGate } from "../../../../aggregator/writing/write-gate.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFixedRandom } from "../../../fakes/random.ts";

type Change = Partial<Attempt>;
type Outcome = WriteFailure["kind"];

function attemptOf(change: Change = {}): Attempt {
  const identity = { key: "shop/data", uid: "claim-1", resourceVersion: "100" };
  return { ...identity, content: "ours", isNews: true, ...change };
}

/** A gate, and a clock in seconds. */
function setUp() {
  const clock = createFakeClock();
  const begunAt = clock.monotonicMs();
  const gate = new WriteGate({ clock, random: createFixedRandom(0.5) });
  return { clock, gate, nowS: () => (clock.monotonicMs() - begunAt) / 1_000 };
}

/** So many attempts, each as soon as it is due, have this outcome; and when they were. */
function failing(
  outcome: Outcome,
  { times, retryAfterMs = 0 }: { readonly times: number; readonly retryAfterMs?: number },
) {
  const { clock, gate, nowS } = setUp();
  const at: number[] = [];
  for (let time = 0; time < times; time += 1) {
    clock.pass(Math.max(0, gate.restBefore(attemptOf())));
    at.push(nowS());
    gate.failed(attemptOf(), outcome, retryAfterMs);
  }
  return { gate, at };
}

const STALE = [0, 0.05, 0.15, 0.35, 0.75, 1.55, 3.15, 6.35, 12.75, 22.75, 32.75];

describe("a write is tried again", () => {
  it.each<readonly [name: string, outcome: Outcome, retryAfterMs: number, at: readonly number[]]>([
    ["each ten seconds in the end after conflicts that no watch shows", "stale", 0, STALE],
    ["each ten minutes in the end after a refusal", "refused", 0, [0, 60, 180, 420, 900, 1_500, 2_100]],
    ["once a minute in the end after failures", "failed", 0, [0, 0.5, 1.5, 3.5, 7.5, 15.5, 31.5, 63.5, 123.5, 183.5]],
    ["not before the time that the server asks for", "failed", 30_000, [0, 30, 60, 90]],
    ["once a minute in the end without a permission", "forbidden", 0, [0, 0.5, 1.5, 3.5, 7.5, 15.5, 31.5, 63.5, 123.5]],
  ])("%s", (...[, outcome, retryAfterMs, at]) => {
    expect(failing(outcome, { times: at.length, retryAfterMs }).at).toEqual(at);
  });

  it.each<readonly [name: string, outcome: Outcome, change: Change, restMs: number]>([
    ["at once after conflicts when the watch shows the change at last", "stale", { resourceVersion: "101" }, 167],
    ["no sooner after conflicts with another content", "stale", { content: "another" }, 10_000],
    ["ten seconds after many refusals when the claim has changed", "refused", { resourceVersion: "101" }, 10_000],
    ["ten seconds after many refusals with another content", "refused", { content: "another" }, 10_000],
    ["at once after refusals of a claim that was there before under its name", "refused", { uid: "claim-2" }, 0],
    ["no sooner after failures when the claim has changed", "failed", { resourceVersion: "101" }, 60_000],
  ])("%s", (...[, outcome, change, restMs]) => {
    expect(Math.round(failing(outcome, { times: 20 }).gate.restBefore(attemptOf(change)))).toBe(restMs);
  });

  it.each<readonly [name: string, outcomes: readonly Outcome[]]>([
    ["another change", ["stale"]],
    ["another change or a refusal", ["refused", "stale"]],
    ["another change or a failure", ["failed", "stale"]],
  ])("less and less often where each attempt meets %s", (_, outcomes) => {
    const { clock, gate } = setUp();
    let attempts = 0;

    for (let tenth = 0; tenth < 600; tenth += 1) {
      const attempt = attemptOf({ resourceVersion: String(tenth) });
      const outcome = outcomes[attempts % outcomes.length];
      clock.pass(100);
      if (outcome === undefined || gate.restBefore(attempt) > 0) continue;
      gate.failed(attempt, outcome);
      attempts += 1;
    }

    expect(attempts).toBeLessThan(20);
  });
});

it("waits are spread", () => {
  const rests = [0, 1].map((fraction) => {
    const gate = new WriteGate({ clock: createFakeClock(), random: createFixedRandom(fraction) });
    gate.failed(attemptOf(), "refused");
    return gate.restBefore(attemptOf());
  });

  expect(rests).toEqual([45_000, 75_000]);
});

it("a failure that differs from the one before is told from one that repeats it", () => {
  const { gate } = setUp();

  const outcomes = ["failed", "failed", "stale", "failed"] as const;

  expect(outcomes.map((outcome) => gate.failed(attemptOf(), outcome))).toEqual([true, false, true, true]);
});

describe("what another client changes", () => {
  it.each<readonly [name: string, left: string, again: Change]>([
    ["each time as it was before", "100", { isNews: false }],
    ["as it is stored, as a webhook may", "", { isNews: true }],
  ])("%s is written less and less often", (_, left, again) => {
    const { clock, gate, nowS } = setUp();
    const at: number[] = [];

    for (; nowS() < 600; clock.pass(1_000)) {
      if (gate.restBefore(attemptOf(again)) > 0) continue;
      at.push(nowS());
      gate.written(attemptOf(again), left);
    }

    expect(at).toEqual([0, 1, 3, 7, 15, 31, 63, 127, 255, 511]);
  });

  it.each<readonly [name: string, next: Change, restMs: number]>([
    ["waits where it corrects what others have changed", { resourceVersion: "102", isNews: false }, 1_000],
    ["waits where others have changed the claim, though it would be news", { resourceVersion: "102" }, 1_000],
    [
      "waits where only what is beside the status is corrected, and nobody has changed the claim",
      { isNews: false },
      1_000,
    ],
    ["does not wait where the content is another one", { content: "another" }, 0],
    ["does not wait where it is news on top of the stored status", {}, 0],
    ["does not wait where the claim was re-created", { uid: "claim-2" }, 0],
  ])("is written once, and the next write %s", (_, next, restMs) => {
    const { gate } = setUp();

    gate.written(attemptOf(), "101");

    expect(gate.restBefore(attemptOf({ resourceVersion: "101", ...next }))).toBe(restMs);
  });

  it("is written at once where the last write of it stood for more than twenty minutes", () => {
    const { clock, gate } = setUp();
    const correction = attemptOf({ isNews: false });
    gate.written(correction, "101");

    clock.pass(1_200_000);
    const again = gate.written(correction, "101");
    clock.pass(1_200_001);

    expect([again, gate.written(correction, "101")]).toEqual([2, 1]);
  });

  it("is remembered of the last 20,000 objects that were written", () => {
    const { gate } = setUp();
    const of = (index: number): Attempt => attemptOf({ key: `shop/${index}`, uid: `uid-${index}` });
    for (let index = 0; index < 20_000; index += 1) gate.written(of(index), "101");
    for (const index of [0, 20_000]) gate.written(of(index), "101");

    expect([0, 1, 2, 20_000].map((index) => gate.restBefore(of(index)))).toEqual([2_000, 0, 1_000, 1_000]);
  });
});
