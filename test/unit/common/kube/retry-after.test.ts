import { describe, expect, it } from "vitest";
import { retryAfterMs } from "../../../../common/kube/retry-after.ts";
import { parseHttpDate } from "../../../../common/runtime/http-date.ts";

const NOW = "Sat, 21 Nov 2026 10:00:00 GMT";
const nowMs = parseHttpDate(NOW) ?? 0;

describe("retryAfterMs", () => {
  it.each([
    { name: "seconds", headers: { "retry-after": "7" }, expected: 7_000 },
    { name: "seconds with white space around", headers: { "retry-after": " 7 " }, expected: 7_000 },
    {
      name: "a date, by the date of the answer and not by our clock",
      headers: { "retry-after": "Sat, 21 Nov 2026 12:00:09 GMT", date: "Sat, 21 Nov 2026 12:00:00 GMT" },
      expected: 9_000,
    },
    {
      name: "a date of an answer without one",
      headers: { "retry-after": "Sat, 21 Nov 2026 10:00:09 GMT" },
      expected: 9_000,
    },
    { name: "a date that is past", headers: { "retry-after": "Sat, 21 Nov 2026 09:00:00 GMT" }, expected: undefined },
    { name: "more than five minutes", headers: { "retry-after": "86400" }, expected: 300_000 },
    { name: "a number without end", headers: { "retry-after": "9".repeat(400) }, expected: 300_000 },
    { name: "zero", headers: { "retry-after": "0" }, expected: undefined },
    { name: "a negative number", headers: { "retry-after": "-5" }, expected: undefined },
    { name: "a text", headers: { "retry-after": "soon" }, expected: undefined },
    { name: "nothing", headers: {}, expected: undefined },
    { name: "the seconds of the status object", headers: {}, seconds: 3, expected: 3_000 },
    { name: "the header rather than the status object", headers: { "retry-after": "1" }, seconds: 3, expected: 1_000 },
    {
      name: "the status object where the header is no sense",
      headers: { "retry-after": "soon" },
      seconds: 3,
      expected: 3_000,
    },
  ])("reads $name", ({ headers, seconds, expected }) => {
    expect(retryAfterMs(headers, { seconds, nowMs })).toBe(expected);
  });
});
