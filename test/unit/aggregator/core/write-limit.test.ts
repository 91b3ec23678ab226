import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  FIRST_LIMIT,
  MOST_WRITES,
  nextLimit,
  type WriteAnswer,
  type WriteLimit,
} from "../../../../aggregator/core/write-limit.ts";

function answerWith(fields: Partial<WriteAnswer> = {}): WriteAnswer {
  return { kind: "done", begunAtMs: 0, endedAtMs: 10, wasFull: true, retryAfterMs: 0, ...fields };
}

function limitWith(fields: Partial<WriteLimit> = {}): WriteLimit {
  return { ...FIRST_LIMIT, limit: 16, isStarting: false, shortestMs: 10, typicalMs: 10, ...fields };
}

function learnt(known: WriteLimit, answers: readonly WriteAnswer[]): WriteLimit {
  return answers.reduce(nextLimit, known);
}

function times(count: number, answer: WriteAnswer): readonly WriteAnswer[] {
  return Array.from({ length: count }, () => answer);
}

const ANSWER_MS = 10;

/** A server that takes `capacity` writes at once and refuses the others for a second: what it got done in so many milliseconds. */
function worked(capacity: number, ms: number): { readonly done: number; readonly refused: number } {
  let known: WriteLimit = FIRST_LIMIT;
  let [done, refused] = [0, 0];
  for (let now = 0; now < ms; now += ANSWER_MS) {
    const begun = now < known.pausedUntilMs ? 0 : Math.floor(known.limit);
    const taken = Math.min(begun, capacity);
    const span = { begunAtMs: now, endedAtMs: now + ANSWER_MS - 1 };
    const [answer, refusal] = [answerWith(span), answerWith({ ...span, kind: "overloaded", retryAfterMs: 1_000 })];
    for (let index = 0; index < begun; index += 1) known = nextLimit(known, index < taken ? answer : refusal);
    done += taken;
    refused += begun - taken;
  }
  return { done, refused };
}

const quick = answerWith();
const slow = answerWith({ endedAtMs: 1_000 });

describe("nextLimit", () => {
  it("doubles with each round of quick answers at first", () => {
    const { limit } = learnt(
      FIRST_LIMIT,
      Array.from({ length: FIRST_LIMIT.limit }, () => quick),
    );

    expect(limit).toBe(2 * FIRST_LIMIT.limit);
  });

  it.each([
    { name: "grows by one with a round of quick answers", answers: times(16, quick), least: 16.9, most: 17 },
    { name: "shrinks by one with a round of slow answers", answers: times(16, slow), least: 14.9, most: 15.2 },
    {
      name: "stays when fewer were under way than might have been",
      answers: times(16, answerWith({ wasFull: false })),
      least: 16,
      most: 16,
    },
    {
      name: "takes answers as quick that are not much slower than the quickest",
      answers: times(16, answerWith({ endedAtMs: 44 })),
      least: 16.9,
      most: 17,
    },
    { name: "never shrinks below four because of slow answers alone", answers: times(200, slow), least: 4, most: 4 },
    { name: "never exceeds the most", answers: times(99_999, quick), least: MOST_WRITES, most: MOST_WRITES },
  ])("$name", ({ answers, least, most }) => {
    const { limit } = learnt(limitWith(), answers);

    expect(limit).toBeGreaterThanOrEqual(least);
    expect(limit).toBeLessThanOrEqual(most);
  });

  it("stays where refusals left it while answers are slow", () => {
    expect(learnt(limitWith({ limit: 2 }), times(100, slow)).limit).toBe(2);
  });

  it("ends the doubling when answers become slow", () => {
    expect(learnt(FIRST_LIMIT, [quick, slow, slow]).isStarting).toBe(false);
  });

  it("gets used to a server that became slower for good", () => {
    const known = limitWith({ limit: 1 });

    const { limit } = learnt(known, times(2_000, answerWith({ endedAtMs: 120 })));

    expect(limit).toBeGreaterThan(16);
  });

  it("is halved once when a round is refused", () => {
    const refused = answerWith({ kind: "overloaded", begunAtMs: 100, endedAtMs: 110 });

    const once = learnt(limitWith(), [refused]);
    const round = learnt(limitWith(), [refused, { ...refused, endedAtMs: 120 }, { ...refused, endedAtMs: 130 }]);
    const next = nextLimit(round, { ...refused, begunAtMs: 140, endedAtMs: 150 });

    expect(once.limit).toBe(8);
    expect(round.limit).toBe(8);
    expect(next.limit).toBe(4);
  });

  it("stays below what was too much for half a minute, then tries again", () => {
    const cut = learnt(limitWith(), [answerWith({ kind: "overloaded", begunAtMs: 1, endedAtMs: 2 })]);

    const soon = learnt(cut, times(500, answerWith({ endedAtMs: 10 })));
    const later = learnt(soon, times(500, answerWith({ begunAtMs: 30_000, endedAtMs: 30_010 })));

    expect(soon.limit).toBe(15);
    expect(later.limit).toBeGreaterThan(16);
  });

  it("is not halved by a failure that says nothing of load", () => {
    expect(nextLimit(limitWith(), answerWith({ kind: "failed" })).limit).toBe(16);
  });

  it("never falls below one", () => {
    const refused = Array.from({ length: 50 }, (_, index) =>
      answerWith({ kind: "overloaded", begunAtMs: index * 10, endedAtMs: index * 10 }),
    );

    expect(learnt(limitWith(), refused).limit).toBe(1);
  });

  it("pauses for as long as the server asks, and never for less because of a later answer", () => {
    const asked = answerWith({ kind: "overloaded", endedAtMs: 1_000, retryAfterMs: 5_000 });

    const limit = learnt(limitWith(), [
      asked,
      answerWith({ kind: "overloaded", endedAtMs: 1_001, retryAfterMs: 1_000 }),
    ]);

    expect(limit.pausedUntilMs).toBe(6_000);
  });

  it("pauses longer and longer while nothing succeeds, at most for half a minute, and forgets that with a success", () => {
    const failed = answerWith({ kind: "failed", endedAtMs: 0 });
    const known = limitWith({ limit: 2 });

    const pauses = [1, 2, 3, 4, 99].map((count) => learnt(known, times(count, failed)).pausedUntilMs);
    const again = learnt(known, [...times(99, failed), answerWith(), failed]);

    expect(pauses).toEqual([0, 100, 200, 400, 30_000]);
    expect(again.failures).toBe(1);
  });

  it("keeps a server that takes so many at once busy, although each refusal costs a second", () => {
    const capacities = fc.integer({ min: 1, max: MOST_WRITES + 8 });
    fc.assert(
      fc.property(capacities, (capacity) => {
        const { done, refused } = worked(capacity, 60_000);

        expect(done).toBeGreaterThan((0.7 * Math.min(capacity, MOST_WRITES) * 60_000) / ANSWER_MS);
        expect(refused).toBeLessThan(10 * MOST_WRITES);
      }),
      { numRuns: 20, examples: [[1], [2], [3], [MOST_WRITES - 1], [MOST_WRITES]] },
    );
  });

  it("finds about the most that a server takes, whatever that is", () => {
    const capacities = fc.integer({ min: 2, max: MOST_WRITES - 8 });
    fc.assert(
      fc.property(capacities, (capacity) => {
        let known: WriteLimit = FIRST_LIMIT;
        for (let round = 0; round < 400; round += 1) {
          const count = Math.floor(known.limit);
          const begunAtMs = round * 100;
          for (let index = 0; index < count; index += 1) {
            const kind = index < capacity ? "done" : "overloaded";
            known = nextLimit(known, answerWith({ kind, begunAtMs, endedAtMs: begunAtMs + 10 }));
          }
        }

        expect(known.limit).toBeGreaterThanOrEqual(Math.floor(capacity / 2));
        expect(known.limit).toBeLessThanOrEqual(capacity + 2);
      }),
    );
  });
});
