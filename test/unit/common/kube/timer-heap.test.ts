import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TimerHeap } from "../../../../common/kube/timer-heap.ts";

describe("due times", () => {
  it("returns nothing when no key waits", () => {
    expect(new TimerHeap().take(1_000)).toEqual([]);
    expect(new TimerHeap().next()).toBeUndefined();
  });

  it("returns a key once, at the earliest of its times", () => {
    const due = new TimerHeap();

    due.add("a", 30);
    due.add("a", 10);
    due.add("a", 20);

    expect(due.take(9)).toEqual([]);
    expect(due.take(10)).toEqual(["a"]);
    expect(due.take(100)).toEqual([]);
  });

  it("accepts a key again that it has returned", () => {
    const due = new TimerHeap();
    due.add("a", 10);
    due.take(10);

    due.add("a", 15);

    expect(due.next()).toBe(15);
    expect(due.take(15)).toEqual(["a"]);
  });

  it("returns all keys in the order of their times, whatever the order they were added in", () => {
    const entry = fc.record({ key: fc.stringMatching(/^[a-f]{1,2}$/), at: fc.nat(100) });
    fc.assert(
      fc.property(fc.array(entry), fc.nat(100), (entries, now) => {
        const due = new TimerHeap();
        const earliest = new Map<string, number>();
        for (const { key, at } of entries) {
          due.add(key, at);
          earliest.set(key, Math.min(at, earliest.get(key) ?? at));
        }

        const taken = due.take(now);

        const expected = [...earliest].filter(([, at]) => at <= now);
        expect(taken.toSorted()).toEqual(expected.map(([key]) => key).toSorted());
        const times = taken.map((key) => earliest.get(key) ?? -1);
        expect(times).toEqual(times.toSorted((one, other) => one - other));
        expect(due.take(1_000)).toHaveLength(earliest.size - taken.length);
      }),
    );
  });
});
