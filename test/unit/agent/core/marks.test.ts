import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sharedMarks, withMark } from "../../../../agent/core/marks.ts";
import { MAX_MARKS, type Mark } from "../../../../common/storage/node-report.ts";

const HEARTBEAT_MS = 30_000;

function marksAt(...stamps: readonly number[]): readonly Mark[] {
  return stamps.map((at) => ({ at, ms: 1_000_000 + at }));
}

/** The marks after so many answers, one with each heartbeat. */
function answered(count: number): readonly Mark[] {
  return marksAt(...Array.from({ length: count }, (_, index) => index * HEARTBEAT_MS)).reduce(withMark, []);
}

describe("the marks of an agent", () => {
  it("are all kept as long as there are few", () => {
    expect(answered(MAX_MARKS)).toEqual(marksAt(...Array.from({ length: MAX_MARKS }, (_, at) => at * HEARTBEAT_MS)));
  });

  it("date what has just happened by the last answers, and what is old by one from a while before", () => {
    const count = 2_000;
    const now = (count - 1) * HEARTBEAT_MS;

    const marks = answered(count);

    expect(marks).toHaveLength(MAX_MARKS);
    expect(marks[0]).toEqual({ at: 0, ms: 1_000_000 });
    expect(marks.slice(-2).map(({ at }) => at)).toEqual([now - HEARTBEAT_MS, now]);
    for (let stamp = 0; stamp <= now; stamp += HEARTBEAT_MS) {
      const mark = marks.findLast(({ at }) => at <= stamp);
      // No more than a few times as long before it as it is old.
      expect(stamp - (mark?.at ?? Number.NaN)).toBeLessThanOrEqual(8 * (now - stamp));
    }
  });

  it("of a clock that went back are those from before where it stands now", () => {
    expect(withMark(marksAt(1, 5, 9), { at: 5, ms: 7 })).toEqual([...marksAt(1), { at: 5, ms: 7 }]);
  });

  it("of two agents of one boot are those of both, in their order", () => {
    expect(sharedMarks(marksAt(2, 6), marksAt(1, 6, 9))).toEqual(marksAt(1, 2, 6, 9));
  });

  it("are never too many, follow each other, and are some that were told, the last of them included", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(1_000_000), { minLength: 1, maxLength: 40 }), (stamps) => {
        const marks = marksAt(...stamps).reduce(withMark, []);

        const kept = marks.map(({ at }) => at);
        expect(kept.length).toBeLessThanOrEqual(MAX_MARKS);
        expect(kept).toEqual([...new Set(kept)].toSorted((one, other) => one - other));
        expect(new Set(kept).isSubsetOf(new Set(stamps))).toBe(true);
        expect(kept.at(-1)).toBe(stamps.at(-1));
      }),
    );
  });
});
