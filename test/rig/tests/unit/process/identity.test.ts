import { describe, expect, it } from "vitest";
import {
  identify,
  judge,
  parseStartTicks,
  pidsWithEnvironment,
  systemProcessTable,
} from "../../../process/identity.ts";

const table = {
  bootId: "boot-a",
  pidNamespace: "pid:[1]",
  startTicksOf: (pid: number) => (pid === 100 ? 5000 : undefined),
};
const recorded = { pid: 100, startTicks: 5000, bootId: "boot-a", pidNamespace: "pid:[1]" };

describe("judge", () => {
  it.each([
    { name: "the same id with the same start time is alive", change: {}, judgement: "alive" },
    { name: "the same id with another start time is another process", change: { startTicks: 4999 }, judgement: "dead" },
    { name: "an id that no process has is dead", change: { pid: 101 }, judgement: "dead" },
    { name: "a process of another boot is dead", change: { bootId: "boot-b" }, judgement: "dead" },
    {
      name: "a process of another pid namespace is unknown",
      change: { pidNamespace: "pid:[2]" },
      judgement: "unknown",
    },
    {
      name: "a process of another boot is dead whatever its namespace",
      change: { bootId: "boot-b", pidNamespace: "pid:[2]" },
      judgement: "dead",
    },
  ])("$name", ({ change, judgement }) => {
    expect(judge(table, { ...recorded, ...change })).toBe(judgement);
  });
});

describe("parseStartTicks", () => {
  const rest = "1 100 100 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 81234 1000 200";

  it.each([
    { name: "field 22 is the start time", stat: `100 (sh) S ${rest}`, ticks: 81234 },
    { name: "a command with spaces and brackets shifts nothing", stat: `100 (a) R (b c) S ${rest}`, ticks: 81234 },
    { name: "a zombie does not run", stat: `100 (sh) Z ${rest}`, ticks: undefined },
    { name: "a dead process does not run", stat: `100 (sh) X ${rest}`, ticks: undefined },
    { name: "a truncated line gives no identity", stat: "100 (sh) S 1 100", ticks: undefined },
    { name: "an empty text gives no identity", stat: "", ticks: undefined },
  ])("$name", ({ stat, ticks }) => {
    expect(parseStartTicks(stat)).toBe(ticks);
  });
});

describe("the process table of this machine", () => {
  it("knows this process by the same identity each time", () => {
    const machine = systemProcessTable();

    const identity = identify(machine, process.pid);

    expect(identity).toEqual(identify(systemProcessTable(), process.pid));
    expect(identity?.startTicks).toBeGreaterThan(0);
  });

  it("finds no process by an environment that none has", () => {
    expect(pidsWithEnvironment("MOORING_NONE", "no-such-value")).toEqual([]);
  });
});
