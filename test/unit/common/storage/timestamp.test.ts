import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  formatMillisecondsUp,
  formatSecondsUp,
  LATEST_MS,
  parseTimestamp,
} from "../../../../common/storage/timestamp.ts";

/** Milliseconds with three digits behind the point. */
const instant = fc.integer({ min: 0, max: 4e15 }).map((microseconds) => microseconds / 1_000);

describe("timestamps", () => {
  it.each([
    { ms: 0, expected: "1970-01-01T00:00:00Z" },
    { ms: 1, expected: "1970-01-01T00:00:01Z" },
    { ms: 999.9, expected: "1970-01-01T00:00:01Z" },
    { ms: 1_000, expected: "1970-01-01T00:00:01Z" },
    { ms: 1_000.001, expected: "1970-01-01T00:00:02Z" },
    { ms: 59_999, expected: "1970-01-01T00:01:00Z" },
  ])("round $ms ms up to $expected", ({ ms, expected }) => {
    expect(formatSecondsUp(ms)).toBe(expected);
  });

  it("round milliseconds up, too", () => {
    expect(formatMillisecondsUp(0.2)).toBe("1970-01-01T00:00:00.001Z");
    expect(formatMillisecondsUp(1)).toBe("1970-01-01T00:00:00.001Z");
  });

  it("are never earlier than the instant, and never a second later", () => {
    fc.assert(
      fc.property(instant, (ms) => {
        const seconds = parseTimestamp(formatSecondsUp(ms)) ?? Number.NaN;
        const milliseconds = parseTimestamp(formatMillisecondsUp(ms)) ?? Number.NaN;

        expect(seconds).toBeGreaterThanOrEqual(ms);
        expect(seconds).toBeLessThan(ms + 1_000);
        expect(milliseconds).toBeGreaterThanOrEqual(ms);
        expect(milliseconds).toBeLessThan(ms + 1);
      }),
    );
  });

  it("that were rounded once stay as they are", () => {
    fc.assert(
      fc.property(instant, (ms) => {
        const once = formatSecondsUp(ms);

        expect(formatSecondsUp(parseTimestamp(once) ?? Number.NaN)).toBe(once);
      }),
    );
  });

  it.each([
    { name: "before the year 0", ms: -1e14, expected: "0000-01-01T00:00:00Z" },
    { name: "far before any date", ms: -1e18, expected: "0000-01-01T00:00:00Z" },
    { name: "without a begin", ms: Number.NEGATIVE_INFINITY, expected: "0000-01-01T00:00:00Z" },
    { name: "in the last second of the year 9999", ms: 253_402_300_799_000, expected: "9999-12-31T23:59:59Z" },
    { name: "after it", ms: 253_402_300_799_001, expected: "9999-12-31T23:59:59Z" },
    { name: "after any date", ms: 1e18, expected: "9999-12-31T23:59:59Z" },
    { name: "without an end", ms: Number.POSITIVE_INFINITY, expected: "9999-12-31T23:59:59Z" },
    { name: "that is none", ms: Number.NaN, expected: "9999-12-31T23:59:59Z" },
  ])("are the nearest that can be written for an instant $name", ({ ms, expected }) => {
    expect(formatSecondsUp(ms)).toBe(expected);
    expect(formatMillisecondsUp(ms)).toBe(expected.replace("Z", ".000Z"));
  });

  it("can be written of any number, are read again, and none is earlier than a number that can be a time", () => {
    fc.assert(
      fc.property(fc.double(), (ms) => {
        for (const text of [formatSecondsUp(ms), formatMillisecondsUp(ms)]) {
          const read = parseTimestamp(text) ?? Number.NaN;

          expect(read).toBeGreaterThanOrEqual(Math.min(Number.isNaN(ms) ? LATEST_MS : ms, LATEST_MS));
        }
      }),
    );
  });

  it.each([
    { text: "2026-11-21T10:00:00Z", expected: 1_795_255_200_000 },
    { text: "2026-11-21T10:00:00.5Z", expected: 1_795_255_200_500 },
    { text: "2026-11-21T12:00:00+02:00", expected: 1_795_255_200_000 },
    { text: "2026-11-21T10:00:00.123456Z", expected: 1_795_255_200_123 },
  ])("are read: $text", ({ text, expected }) => {
    expect(parseTimestamp(text)).toBe(expected);
  });

  it.each([
    { text: undefined },
    { text: null },
    // Rounded up, or in UTC, their years would have five digits, or a sign, and could not be parsed.
    { text: "9999-12-31T23:59:59.9Z" },
    { text: "9999-12-31T23:59:59-14:00" },
    { text: "0000-01-01T00:00:00+14:00" },
    { text: "" },
    { text: "2026-11-21" },
    { text: "2026-11-21T10:00:00" },
    { text: "2026-13-21T10:00:00Z" },
    { text: "yesterday" },
    { text: "2026-11-21T10:00:00Z " },
    { text: "+002026-11-21T10:00:00Z" },
  ])("are not read from $text", ({ text }) => {
    expect(parseTimestamp(text)).toBeUndefined();
  });
});
