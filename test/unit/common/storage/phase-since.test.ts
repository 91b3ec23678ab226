import { describe, expect, it } from "vitest";
import { isNoAnswer, type PhaseSince, phaseSince } from "../../../../common/storage/phase-since.ts";

/** A whole second. */
const NOON = 1_789_000_000_000;
const DAY_MS = 86_400_000;
const CREATED = NOON - 10 * DAY_MS;

describe("a time from the API server", () => {
  it.each([
    { name: "is an answer", apiMs: NOON - DAY_MS, expected: false },
    { name: "is an answer while it is five seconds ahead: clocks differ", apiMs: NOON + 5_000, expected: false },
    { name: "is none when it lies further ahead", apiMs: NOON + 5_001, expected: true },
    { name: "is none in the year 2099", apiMs: 4_070_908_800_000, expected: true },
    { name: "is none when it is missing", apiMs: undefined, expected: true },
  ])("$name", ({ apiMs, expected }) => {
    expect(isNoAnswer(apiMs, NOON)).toBe(expected);
  });
});

describe("phaseSince", () => {
  it.each<{
    readonly name: string;
    readonly times: Parameters<typeof phaseSince>[0];
    readonly since: PhaseSince | undefined;
  }>([
    {
      name: "is the API server's time",
      times: { apiMs: NOON, createdAtMs: CREATED, firstSeenMs: undefined },
      since: { ms: NOON, from: "api" },
    },
    {
      name: "is the creation where the API server's time is earlier",
      times: { apiMs: CREATED - 1_000, createdAtMs: CREATED, firstSeenMs: undefined },
      since: { ms: CREATED, from: "created" },
    },
    {
      name: "is the API server's where the creation is that very second",
      times: { apiMs: CREATED, createdAtMs: CREATED, firstSeenMs: undefined },
      since: { ms: CREATED, from: "api" },
    },
    {
      name: "is the first observation where that was used before, whatever the API server's time is",
      times: { apiMs: NOON - DAY_MS, createdAtMs: CREATED, firstSeenMs: NOON },
      since: { ms: NOON, from: "first-seen" },
    },
    {
      name: "by first observation is never earlier than the creation",
      times: { apiMs: undefined, createdAtMs: NOON + 1_000, firstSeenMs: NOON },
      since: { ms: NOON + 1_000, from: "first-seen" },
    },
    {
      name: "is unknown where nothing is known",
      times: { apiMs: undefined, createdAtMs: CREATED, firstSeenMs: undefined },
      since: undefined,
    },
    {
      name: "needs no creation",
      times: { apiMs: NOON, createdAtMs: undefined, firstSeenMs: undefined },
      since: { ms: NOON, from: "api" },
    },
  ])("$name", ({ times, since }) => {
    expect(phaseSince(times)).toEqual(since);
  });
});
