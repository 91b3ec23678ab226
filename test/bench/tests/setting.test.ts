import { describe, expect, it } from "vitest";
import { HarnessError } from "../../rig/process/errors.ts";
import { numberSetting } from "../setting.ts";

describe("a number in a bench setting", () => {
  it.each([
    { name: "is the given one", text: "0.2", value: 0.2 },
    { name: "may be 0", text: "0", value: 0 },
    { name: "is the default without a setting", text: undefined, value: 3 },
    { name: "is the usual one where it is empty", text: " ", value: 3 },
  ])("$name", ({ text, value }) => {
    expect(numberSetting("MOORING_BENCH_X", 3, { MOORING_BENCH_X: text })).toBe(value);
  });

  it.each(["two", "-1", "Infinity", "1,000"])("is refused by name where it is %j", (text) => {
    const read = (): number => numberSetting("MOORING_BENCH_X", 3, { MOORING_BENCH_X: text });

    expect(read).toThrow(HarnessError);
    expect(read).toThrow(`MOORING_BENCH_X: "${text}"`);
  });
});
