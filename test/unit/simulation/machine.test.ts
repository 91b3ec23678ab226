import { describe, expect, it } from "vitest";
import { createEngine } from "../../simulation/engine/engine.ts";
import type { SimMachine } from "../../simulation/engine/machine.ts";

const HOUR_MS = 3_600_000;

/** How far the clocks of a machine advance in an hour of true time. */
async function anHour(options: { readonly driftPpm?: number; readonly slewPpm?: number; readonly isSlewed?: boolean }) {
  const { driftPpm, slewPpm, isSlewed } = options;
  const engine = createEngine({ seed: 1 });
  const rate = isSlewed ? ({ source: "monotonic", driftPpm: 100_000 } as const) : undefined;
  const { clock } = engine.machine({ name: "m", driftPpm, slewPpm, rate });
  const before = [clock.monotonicMs(), clock.uptimeMs(), clock.wallMs()];
  await engine.scheduler.runUntil(HOUR_MS);
  const after = [clock.monotonicMs(), clock.uptimeMs(), clock.wallMs()];
  return after.map((value, index) => Math.round(value - (before[index] ?? 0)));
}

describe("the clocks of a simulated machine", () => {
  it.each([
    { name: "go with true time", options: {}, shown: [HOUR_MS, HOUR_MS, HOUR_MS] },
    {
      name: "all drift with the crystal",
      options: { driftPpm: 100 },
      shown: [HOUR_MS + 360, HOUR_MS + 360, HOUR_MS + 360],
    },
    {
      name: "are slewed by NTP, but for the raw one",
      options: { slewPpm: 1_000 },
      shown: [HOUR_MS, HOUR_MS + 3_600, HOUR_MS + 3_600],
    },
    {
      name: "are slewed by NTP, all of them, where there is no raw one",
      options: { slewPpm: 1_000, isSlewed: true },
      shown: [HOUR_MS + 3_600, HOUR_MS + 3_600, HOUR_MS + 3_600],
    },
  ])("$name", async ({ options, shown }) => {
    expect(await anHour(options)).toEqual(shown);
  });

  it.each([
    { name: "a suspend stops the monotonic clock alone", action: suspended, shown: [0, 60_000, 60_000] },
    { name: "a step moves the wall clock alone", action: stepped, shown: [60_000, 60_000, 3_660_000] },
    {
      name: "a boot restarts both others, and not the wall clock",
      action: rebooted,
      shown: [10_000, 10_000, 60_000],
    },
  ])("$name", async ({ action, shown }) => {
    const engine = createEngine({ seed: 1 });
    const machine = engine.machine({ name: "m", upForMs: 0 });
    const { clock } = machine;
    const wallMs = clock.wallMs();

    action(machine);
    await engine.scheduler.runUntil(50_000);
    machine.powerOn();
    await engine.scheduler.runUntil(60_000);

    expect([clock.monotonicMs(), clock.uptimeMs(), clock.wallMs() - wallMs]).toEqual(shown);
  });

  it("wakes by its own clock: later while it is suspended, and never after its power went", async () => {
    const engine = createEngine({ seed: 1 });
    const [slow, off] = [engine.machine({ name: "slow" }), engine.machine({ name: "off" })];
    const woken: string[] = [];
    for (const { name, timer } of [slow, off]) timer(1_000, () => woken.push(`${name} ${engine.scheduler.nowMs()}`));

    await engine.scheduler.runUntil(500);
    slow.suspend();
    off.powerOff();
    off.powerOn();
    await engine.scheduler.runUntil(5_000);
    slow.resume();
    await engine.scheduler.runUntil(10_000);

    expect(woken).toEqual(["slow 5500"]);
  });

  it("is in the same boot at an earlier time when a snapshot of it is put back, and nothing that slept wakes", async () => {
    const engine = createEngine({ seed: 1 });
    const machine = engine.machine({ name: "m", upForMs: 100_000 });
    const [boot, wallMs] = [machine.bootId(), machine.clock.wallMs()];
    let isWoken = false;
    machine.timer(70_000, () => {
      isWoken = true;
    });
    await engine.scheduler.runUntil(60_000);

    machine.goBack(40_000);
    await engine.scheduler.runUntil(90_000);

    expect([machine.bootId(), isWoken]).toEqual([boot, false]);
    expect([machine.clock.monotonicMs(), machine.clock.wallMs() - wallMs]).toEqual([150_000, 50_000]);
  });

  it("has another boot ID after each boot", () => {
    const machine = createEngine({ seed: 1 }).machine({ name: "m" });
    const ids = [1, 2, 3].map(() => {
      const id = machine.bootId();
      machine.powerOff();
      machine.powerOn();
      return id;
    });

    expect(new Set(ids).size).toBe(3);
  });
});

function suspended(machine: SimMachine): void {
  machine.suspend();
}

function stepped(machine: SimMachine): void {
  machine.stepWall(HOUR_MS);
}

function rebooted(machine: SimMachine): void {
  machine.powerOff();
}
