import { describe, expect, it } from "vitest";
import { readOsInfo } from "../../../../agent/sources/os-info.ts";

describe("readOsInfo", () => {
  it("names this machine's distribution by the tools of this machine, or nothing", async () => {
    const distribution = await readOsInfo(new AbortController().signal);

    expect(distribution === undefined || /^\S.*\S$/.test(distribution)).toBe(true);
    expect(distribution).not.toContain("unknown");
  });

  it.each([
    { name: "before it began", abort: (stop: AbortController) => stop.abort() },
    { name: "in the middle", abort: (stop: AbortController) => process.nextTick(() => stop.abort()) },
  ])("answers nothing when it is given up $name", async ({ abort }) => {
    const stop = new AbortController();
    abort(stop);

    expect(await readOsInfo(stop.signal)).toBeUndefined();
  });
});
