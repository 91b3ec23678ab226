import { describe, expect, it } from "vitest";
import { tryAgainMs } from "../../../../provisioner/core/retry-delay.ts";

describe("a delayed deletion is tried again", () => {
  it.each([
    { waited: "nothing", waitedMs: 0, afterMs: 1_000 },
    { waited: "a minute", waitedMs: 60_000, afterMs: 1_000 },
    { waited: "ten minutes", waitedMs: 600_000, afterMs: 10_000 },
    { waited: "three days", waitedMs: 3 * 86_400_000, afterMs: 30_000 },
  ])("$afterMs ms after it has waited for $waited", ({ waitedMs, afterMs }) => {
    expect(tryAgainMs(waitedMs)).toBe(afterMs);
  });
});
