import { describe, expect, it } from "vitest";
import { type Attempt, WriteGate } from "../../../../aggregator/writing/write-gate.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFixedRandom } from "../../../fakes/random.ts";

function attemptWith(fields: Partial<Attempt> = {}): Attempt {
  return {
    key: "shop/data",
    uid: "uid-1",
    resourceVersion: "100",
    stands: "theirs",
    content: "ours",
    isNews: true,
    ...fields,
  };
}

function setUp(): WriteGate {
  return new WriteGate({ clock: createFakeClock(), random: createFixedRandom(0.5) });
}

describe("WriteGate", () => {
  it.each([
    { name: "refused as it is", outcome: "refused", next: {}, restMs: 60_000 },
    { name: "refused, the object changes", outcome: "refused", next: { resourceVersion: "101" }, restMs: 500 },
    { name: "refused, another content", outcome: "refused", next: { content: "news" }, restMs: 500 },
    { name: "refused, the object is re-created", outcome: "refused", next: { uid: "uid-2" }, restMs: 0 },
    { name: "on an old state", outcome: "stale", next: {}, restMs: 10_000 },
    { name: "on an old state, another content", outcome: "stale", next: { content: "news" }, restMs: 10_000 },
    {
      name: "on an old state, the watch shows a newer one",
      outcome: "stale",
      next: { resourceVersion: "101" },
      restMs: 50,
    },
    { name: "failed, the object changes", outcome: "failed", next: { resourceVersion: "101" }, restMs: 500 },
  ] as const)("waits after a write that was $name", ({ outcome, next, restMs }) => {
    const gate = setUp();
    gate.failed(attemptWith(), outcome);

    expect(gate.restBefore(attemptWith(next))).toBe(restMs);
  });

  it.each([
    { name: "another client changed what was written", next: { stands: "theirs" }, restMs: 1_000 },
    { name: "what was written still stands: a later time is news", next: { stands: "left" }, restMs: 0 },
    {
      name: "what was written still stands, and annotations beside it are removed",
      next: { stands: "left", isNews: false },
      restMs: 1_000,
    },
    { name: "another client changed it, and the content is another one", next: { content: "news" }, restMs: 0 },
    { name: "the object is re-created", next: { uid: "uid-2" }, restMs: 0 },
  ])("waits only to put back: $name", ({ next, restMs }) => {
    const gate = setUp();
    gate.written(attemptWith(), "left");

    expect(gate.restBefore(attemptWith(next))).toBe(restMs);
  });

  it("counts how often the same was put back, and begins anew with another content", () => {
    const gate = setUp();

    const times = ["ours", "ours", "ours", "news", "ours"].map((content) =>
      gate.written(attemptWith({ content }), "left"),
    );

    expect(times).toEqual([1, 2, 3, 1, 1]);
  });

  it("counts refused objects until nothing has to be written any more", () => {
    const gate = setUp();
    gate.failed(attemptWith(), "refused");
    gate.failed(attemptWith({ key: "shop/other", uid: "uid-2" }), "failed");
    const before = gate.count("refused");

    gate.rest("shop/data");

    expect([before, gate.count("refused")]).toEqual([1, 0]);
  });

  it("remembers the last 20,000 objects that were written", () => {
    const gate = setUp();
    const attempts = Array.from({ length: 20_001 }, (_, index) => attemptWith({ uid: `uid-${index}` }));
    for (const attempt of attempts) gate.written(attempt, "left");

    const rests = [attempts[0], attempts[1], attempts.at(-1)].map((attempt) => attempt && gate.restBefore(attempt));

    expect(rests).toEqual([0, 1_000, 1_000]);
  });
});
