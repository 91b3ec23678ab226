import { describe, expect, it } from "vitest";
import { formatAge, formatUncertainty } from "../../../cli/age.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

describe("formatAge", () => {
  it.each([
    { name: "a time to come is no age", ms: -5 * SECOND, text: "0s" },
    { name: "a part of a second does not count", ms: 1_999, text: "1s" },
    { name: "under two minutes in seconds", ms: 119 * SECOND, text: "119s" },
    { name: "two minutes", ms: 2 * MINUTE, text: "2m" },
    { name: "under ten minutes with seconds", ms: 9 * MINUTE + 59 * SECOND, text: "9m59s" },
    { name: "ten minutes without seconds", ms: 10 * MINUTE + 59 * SECOND, text: "10m" },
    { name: "under three hours in minutes", ms: 179 * MINUTE, text: "179m" },
    { name: "three hours", ms: 3 * HOUR, text: "3h" },
    { name: "under eight hours with minutes", ms: 7 * HOUR + 59 * MINUTE, text: "7h59m" },
    { name: "eight hours without minutes", ms: 8 * HOUR + 59 * MINUTE, text: "8h" },
    { name: "under two days in hours", ms: 47 * HOUR, text: "47h" },
    { name: "two days", ms: 2 * DAY, text: "2d" },
    { name: "under eight days with hours", ms: 5 * DAY + 3 * HOUR, text: "5d3h" },
    { name: "eight days without hours", ms: 8 * DAY + 3 * HOUR, text: "8d" },
    { name: "under two years in days", ms: 2 * YEAR - HOUR, text: "729d" },
    { name: "two years", ms: 2 * YEAR, text: "2y" },
    { name: "under eight years with days", ms: 7 * YEAR + 3 * DAY, text: "7y3d" },
    { name: "eight years without days", ms: 8 * YEAR + 3 * DAY, text: "8y" },
  ])("$name: $text", ({ ms, text }) => {
    expect(formatAge(ms)).toBe(text);
  });
});

describe("formatUncertainty", () => {
  it.each([
    { name: "nothing", ms: 0, text: "0ms" },
    { name: "a part of a millisecond counts whole", ms: 11.2, text: "12ms" },
    { name: "under a second in milliseconds", ms: 999, text: "999ms" },
    { name: "under ten seconds with tenths, rounded up", ms: 1_201, text: "1.3s" },
    { name: "from ten seconds on as an age, rounded up", ms: 29_001, text: "30s" },
    { name: "hours", ms: 3 * HOUR, text: "3h" },
  ])("$name: $text", ({ ms, text }) => {
    expect(formatUncertainty(ms)).toBe(text);
  });
});
