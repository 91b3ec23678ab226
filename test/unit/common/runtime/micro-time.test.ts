import { describe, expect, it } from "vitest";
import { formatMicroTime } from "../../../../common/runtime/micro-time.ts";

describe("a time of the API with microseconds", () => {
  it.each([
    { ms: 1_234, expected: "1970-01-01T00:00:01.234000Z" },
    { ms: 1_000, expected: "1970-01-01T00:00:01.000000Z" },
    { ms: 1_234.9, expected: "1970-01-01T00:00:01.234000Z" },
    { ms: -1e18, expected: "0000-01-01T00:00:00.000000Z" },
    { ms: 1e18, expected: "9999-12-31T23:59:59.999000Z" },
    { ms: Number.NaN, expected: "0000-01-01T00:00:00.000000Z" },
  ])("has six digits, also at $ms ms", ({ ms, expected }) => {
    expect(formatMicroTime(ms)).toBe(expected);
  });
});
