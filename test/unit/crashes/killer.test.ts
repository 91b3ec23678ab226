import { describe, expect, it } from "vitest";
import { Killer, type KillOptions } from "../../crashes/killer.ts";
import type { KillableProcess } from "../../crashes/process.ts";
import type { Kill, Victim } from "../../crashes/record.ts";
import { createFakeClock, type FakeClock } from "../../fakes/clock.ts";

/** A process that records when it is killed and started. */
class FakeMortal implements KillableProcess {
  readonly name: string;
  readonly seen: string[] = [];
  readonly #clock: FakeClock;
  readonly #begunMs: number;
  running = true;

  constructor(clock: FakeClock, name: string) {
    this.#clock = clock;
    this.#begunMs = clock.wallMs();
    this.name = name;
  }

  #note(what: string): void {
    this.seen.push(`${what} at ${this.#clock.wallMs() - this.#begunMs}`);
  }

  readonly isRunning = (): boolean => this.running;
  readonly uptimes = () => [];
  readonly up = async (): Promise<void> => {};
  readonly start = async (): Promise<void> => {
    this.running = true;
    this.#note("started");
  };
  readonly kill = async (): Promise<number> => {
    this.running = false;
    this.#note("killed");
    return this.#clock.wallMs();
  };
}

function scene() {
  const clock = createFakeClock();
  const ending = new AbortController();
  const agent = new FakeMortal(clock, "agent");
  const first = new FakeMortal(clock, "aggregator-0");
  const second = new FakeMortal(clock, "aggregator-1");
  let leader: FakeMortal | undefined = first;
  const kills: Kill[] = [];
  const findVictim = (victim: Victim): KillableProcess | undefined => (victim === "leader" ? leader : agent);
  const killer = new Killer({ clock, signal: ending.signal }, { findVictim, onKill: (kill) => kills.push(kill) });
  const pause = (ms: number, lateMs = 0): KillOptions => ({ lateMs, over: () => clock.sleep(ms, ending.signal) });
  const lead = (next: FakeMortal | undefined): void => {
    leader = next;
  };
  return { clock, ending, agent, first, second, kills, killer, pause, lead };
}

describe("the killer", () => {
  it("kills at once, and restarts after the pause", async () => {
    const { clock, agent, killer, kills, pause } = scene();
    const begunMs = clock.wallMs();

    await killer.kill(["agent of node-a"], pause(700));
    await clock.advance(1_000);

    expect(agent.seen).toEqual(["killed at 0", "started at 700"]);
    expect(kills).toEqual([{ victim: "agent of node-a", name: "agent", atMs: begunMs }]);
  });

  it("kills several at the same moment", async () => {
    const { clock, agent, first, killer, kills, pause } = scene();

    await killer.kill(["agent of node-a", "leader"], pause(100));
    await clock.advance(200);

    expect([agent.seen, first.seen]).toEqual([
      ["killed at 0", "started at 100"],
      ["killed at 0", "started at 100"],
    ]);
    expect(kills.map(({ name }) => name)).toEqual(["agent", "aggregator-0"]);
  });

  it("waits for a process that is down, and kills it as soon as it runs", async () => {
    const { clock, agent, killer, pause } = scene();
    await killer.kill(["agent of node-a"], pause(400));

    killer.inBackground(killer.kill(["agent of node-a"], pause(10_000)));
    await clock.advance(1_000);

    expect(agent.seen).toEqual(["killed at 0", "started at 400", "killed at 400"]);
  });

  it("lets a process that was down run for the given time first", async () => {
    const { clock, agent, killer, pause } = scene();
    await killer.kill(["agent of node-a"], pause(400));

    killer.inBackground(killer.kill(["agent of node-a"], pause(10_000, 250)));
    await clock.advance(1_000);

    expect(agent.seen).toEqual(["killed at 0", "started at 400", "killed at 650"]);
  });

  it("kills no process twice at a time, and each one that it should", async () => {
    const { clock, agent, kills, killer, pause } = scene();

    for (let time = 0; time < 3; time += 1) killer.inBackground(killer.kill(["agent of node-a"], pause(100)));
    await clock.advance(1_000);

    expect(agent.seen.map((line) => line.split(" ")[0])).toEqual([
      "killed",
      "started",
      "killed",
      "started",
      "killed",
      "started",
    ]);
    expect(kills).toHaveLength(3);
  });

  it("kills none of several before all run", async () => {
    const { clock, agent, second, killer, pause, lead } = scene();
    lead(undefined);

    killer.inBackground(killer.kill(["agent of node-a", "leader"], pause(0)));
    await clock.advance(500);
    const before = [...agent.seen];
    lead(second);
    await clock.advance(100);

    expect(before).toEqual([]);
    expect(agent.seen.map((line) => line.split(" ")[0])).toEqual(["killed", "started"]);
    expect(second.seen.map((line) => line.split(" ")[0])).toEqual(["killed", "started"]);
  });

  it("is settled when all have restarted", async () => {
    const { clock, agent, killer, pause } = scene();
    await killer.kill(["agent of node-a"], pause(700));
    let isSettled = false;

    const settled = killer.settled().then(() => {
      isSettled = true;
    });
    await clock.advance(699);
    const before = isSettled;
    await clock.advance(1);
    await settled;

    expect([before, isSettled, agent.running]).toEqual([false, true, true]);
  });

  it("rejects with a failure in the background when it is settled", async () => {
    const { killer } = scene();

    killer.inBackground(Promise.reject(new TypeError("no such node")));

    await expect(killer.settled()).rejects.toThrow("no such node");
  });

  it("restarts no process when the run is over", async () => {
    const { clock, ending, agent, killer, pause } = scene();
    await killer.kill(["agent of node-a"], pause(700));

    ending.abort();
    await clock.advance(1_000);

    expect(agent.seen).toEqual(["killed at 0"]);
  });
});
