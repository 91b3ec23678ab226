import { describe, expect, it } from "vitest";
import { createEngine } from "../../simulation/engine/engine.ts";
import { Life, startProcess } from "../../simulation/engine/process.ts";
import { CrashSites, type Phase } from "../../simulation/engine/sites.ts";

/** A process that stores one, sleeps a second, and stores two; it dies at a crash site, if given. */
function start(dies?: { readonly site: string; readonly phase: Phase }) {
  const { scheduler, machine } = createEngine({ seed: 1 });
  const sites = new CrashSites();
  const mayCrash = ({ site, phase }: { readonly site: string; readonly phase: Phase }): boolean =>
    site === dies?.site && phase === dies.phase;
  const computer = machine({ name: "m" });
  const life = new Life("p", "agent", { scheduler, machine: computer, sites, mayCrash });
  const stored: string[] = [];
  const store = (what: string): Promise<void> =>
    life.call(`store ${what}`, async () => {
      stored.push(what);
    });
  const process = startProcess(life, async (signal) => {
    await store("one");
    await life.sleep(1_000, signal);
    if (!signal.aborted) await store("two");
  });
  return { scheduler, process, life, stored, sites, machine: computer };
}

describe("a simulated process", () => {
  it("ends in good order", async () => {
    const { scheduler, process, stored } = start();
    await scheduler.runUntil(2_000);

    expect([process.state(), stored]).toEqual(["ended", ["one", "two"]]);
  });

  it.each([
    { name: "before a call took effect", site: "store one", phase: "before", left: [] },
    { name: "after it took effect", site: "store one", phase: "after", left: ["one"] },
    { name: "as it wakes", site: "timer", phase: "after", left: ["one"] },
    { name: "before its last call", site: "store two", phase: "before", left: ["one"] },
    { name: "after its last call", site: "store two", phase: "after", left: ["one", "two"] },
  ] as const)("has no effect after it was killed $name", async ({ site, phase, left }) => {
    const { scheduler, process, stored, sites } = start({ site, phase });
    await scheduler.runUntil(2_000);

    expect([process.state(), stored]).toEqual(["crashed", left]);
    expect(sites.figures().get(`${site}/${phase}`)).toEqual({ visits: 1, crashes: 1 });
  });

  it("has no effect while its promises unwind", async () => {
    const { scheduler, process, life, stored } = start();
    await scheduler.runUntil(500);
    process.crash();
    life.unwind();
    await scheduler.runUntil(2_000);

    expect(stored).toEqual(["one"]);
  });

  it("dies with its machine", async () => {
    const { scheduler, process, stored, machine } = start();
    await scheduler.runUntil(500);
    machine.powerOff();
    machine.powerOn();
    await scheduler.runUntil(2_000);

    expect([process.state(), stored]).toEqual(["crashed", ["one"]]);
  });

  it("gets SIGTERM after a pause", async () => {
    const { scheduler, process, stored } = start();
    await scheduler.runUntil(500);
    process.pause();
    process.stop();
    await scheduler.runUntil(5_000);
    const before = process.state();
    process.resume();
    await scheduler.runUntil(5_001);

    expect([before, process.state(), stored]).toEqual(["paused", "ended", ["one"]]);
  });

  it("takes what arrived during a pause in order, and later arrivals after that", async () => {
    const { scheduler, process, life } = start();
    const taken: string[] = [];
    process.pause();
    for (const what of ["one", "two", "three"])
      life.deliver(() => {
        taken.push(what);
        void Promise.resolve().then(() => taken.push(`after ${what}`));
      });
    process.resume();
    life.deliver(() => taken.push("four"));
    await scheduler.runUntil(1);

    expect(taken).toEqual(["one", "after one", "two", "after two", "three", "after three", "four"]);
  });

  it("counts as failed when it throws", async () => {
    const { scheduler, machine } = createEngine({ seed: 1 });
    const parts = { scheduler, machine: machine({ name: "m" }), sites: new CrashSites(), mayCrash: () => false };
    const process = startProcess(new Life("p", "agent", parts), () => Promise.reject(new TypeError("a bug")));
    await scheduler.runUntil(1);

    expect([process.state(), process.failure()]).toEqual(["failed", new TypeError("a bug")]);
  });
});
