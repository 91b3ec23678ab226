import { describe, expect, it } from "vitest";
import type { WriteFailure } from "../../../../aggregator/sinks/writers.ts";
import { type Attempt, WriteGate } from "../../../../aggregator/writing/write-gate.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFixedRandom } from "../../../fakes/random.ts";

type Change = Partial<Attempt>;
type Outcome = WriteFailure["kind"];

function attemptOf(change: Change = {}): Attempt {
  const identity = { key: "shop/data", uid: "claim-1", resourceVersion: "100" };
  return { ...identity, content: "ours", isUrgent: false, ...change };
}

function failureOf(kind: Outcome, retryAfterMs = 0): WriteFailure {
  const message = "no";
  if (kind === "stale") return { kind, message };
  return kind === "refused" ? { kind, reason: "Invalid", message } : { kind, message, retryAfterMs };
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
    gate.failed(attemptOf(), failureOf(outcome, retryAfterMs));
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
    ["ten seconds after many conflicts, though the claim has changed", "stale", { resourceVersion: "101" }, 10_000],
    ["ten seconds after many refusals when the claim has changed", "refused", { resourceVersion: "101" }, 10_000],
    ["ten seconds after many refusals with another content", "refused", { content: "another" }, 10_000],
    ["at once after refusals of a claim that was there before under its name", "refused", { uid: "claim-2" }, 0],
    ["no sooner after failures when the claim has changed", "failed", { resourceVersion: "101" }, 60_000],
  ])("%s", (...[, outcome, change, restMs]) => {
    expect(failing(outcome, { times: 20 }).gate.restBefore(attemptOf(change))).toBe(restMs);
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
      gate.failed(attempt, failureOf(outcome));
      attempts += 1;
    }

    expect(attempts).toBeLessThan(20);
  });
});

it("waits are spread", () => {
  const rests = [0, 1].map((fraction) => {
    const gate = new WriteGate({ clock: createFakeClock(), random: createFixedRandom(fraction) });
    gate.failed(attemptOf(), failureOf("refused"));
    return gate.restBefore(attemptOf());
  });

  expect(rests).toEqual([45_000, 75_000]);
});

it("a failure that differs from the one before is told from one that repeats it", () => {
  const { gate } = setUp();

  const outcomes = ["failed", "failed", "stale", "failed"] as const;

  expect(outcomes.map((outcome) => gate.failed(attemptOf(), failureOf(outcome)))).toEqual([true, false, true, true]);
});

describe("successful writes of one object", () => {
  /** Writes as soon as the gate allows it and as the attempt is there, for so long; and when it has written. */
  function writing(seconds: number, of: (second: number) => Change | undefined) {
    const { clock, gate, nowS } = setUp();
    const at: number[] = [];
    const tooOftenAt: number[] = [];
    for (; nowS() < seconds; clock.pass(1_000)) {
      const change = of(nowS());
      if (change === undefined || gate.restBefore(attemptOf(change)) > 0) continue;
      at.push(nowS());
      if (gate.written(attemptOf(change))) tooOftenAt.push(nowS());
    }
    return { at, tooOftenAt };
  }

  it("are four a minute where another client never gives in, and the gate says so from the first that waits", () => {
    const { at, tooOftenAt } = writing(3_600, () => ({}));

    expect(at.filter((second) => second < 60)).toHaveLength(25 + 4 - 1);
    expect(at.filter((second) => second >= 3_000)).toHaveLength(40);
    expect(tooOftenAt[0]).toBe(at[25]);
  });

  it("never wait for a claim that comes into use each minute, with three writes each time", () => {
    const times = [0, 6, 40];
    const { at, tooOftenAt } = writing(36_000, (second) =>
      times.includes(second % 60) ? { isUrgent: second % 60 === 0 } : undefined,
    );

    expect([at.length, tooOftenAt]).toEqual([1_800, []]);
  });

  it("that bring a claim into use do not wait while the others do, however often it comes into use", () => {
    let isUsed = false;
    const waited: number[] = [];
    const { clock, gate } = setUp();
    for (let second = 0; second < 3_600; second += 1) {
      const attempt = attemptOf({ isUrgent: !isUsed });
      if (gate.restBefore(attempt) === 0) {
        gate.written(attempt);
        isUsed = !isUsed;
      } else if (!isUsed) waited.push(second);
      clock.pass(1_000);
    }

    expect(waited).toEqual([]);
  });

  it("are counted for each object, by its UID, and for the 20,000 that were written last", () => {
    const { gate } = setUp();
    const of = (index: number): Attempt => attemptOf({ uid: `uid-${index}` });
    const writeOften = (index: number): void => {
      for (let time = 0; time < 30; time += 1) gate.written(of(index));
    };
    for (const index of [0, 1]) writeOften(index);
    for (let index = 2; index <= 20_000; index += 1) gate.written(of(index));

    expect([1, 2, 0].map((index) => gate.restBefore(of(index)))).toEqual([90_000, 0, 0]);
  });
});
