import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { repeat } from "../../../../common/kube/repeat.ts";
import { MooringError } from "../../../../common/runtime/errors.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFixedRandom } from "../../../fakes/random.ts";

const AWAY = new MooringError("transport-failed", "away");

/** Runs a task with the given failures in turn, and then without. */
async function repeated(
  failures: readonly unknown[],
  afterMs: number,
  pace: { everyMs?: number } = { everyMs: 60_000 },
) {
  const clock = createFakeClock();
  const [times, warnings, outcomes]: [number[], string[], (string | undefined)[]] = [[], [], []];
  const begunAt = clock.monotonicMs();
  const task = async (): Promise<void> => {
    const failure = failures[times.length];
    times.push(clock.monotonicMs() - begunAt);
    if (failure !== undefined) throw failure;
  };
  const stop = new AbortController();
  const how = { ...pace, retry: { firstMs: 1_000, maxMs: 2_000 } };
  const told = { warn: (why: string) => warnings.push(why), onOutcome: (why?: string) => outcomes.push(why) };
  const running = repeat({ clock, random: createFixedRandom(0.5) }, { task, ...how, ...told }, stop.signal);
  const ended = running.then(
    () => "ended",
    (error: unknown) => error,
  );
  await clock.advance(afterMs);
  stop.abort();
  return { times, warnings, outcomes, end: await ended };
}

describe("a repeated task", () => {
  it("is done at once, and then at its pace until it is stopped", async () => {
    const { times, warnings, end } = await repeated([], 121_000);

    expect(times).toEqual([0, 60_000, 120_000]);
    expect(warnings).toEqual([]);
    expect(end).toBe("ended");
  });

  it("runs again soon after a failure, later after each further one, and at its interval after a success", async () => {
    const { times } = await repeated([AWAY, AWAY, AWAY, undefined, AWAY], 66_000);

    expect(times).toEqual([0, 750, 2_250, 3_750, 63_750, 64_500]);
  });

  it("is done no more after one success where that is enough", async () => {
    const { times, end } = await repeated([AWAY], 1_000_000, {});

    expect(times).toEqual([0, 750]);
    expect(end).toBe("ended");
  });

  it("logs each reason once, and again after a success", async () => {
    const unreadable = new v.ValiError(v.safeParse(v.string(), 1).issues ?? expect.fail());
    const { warnings, outcomes } = await repeated([AWAY, AWAY, unreadable, undefined, AWAY], 66_000);

    const other = expect.stringContaining("string");
    expect(warnings).toEqual(["away", other, "away"]);
    expect(outcomes).toEqual(["away", "away", other, undefined, "away", undefined]);
  });

  it("ends with a bug", async () => {
    const bug = new TypeError("no function");

    const { end } = await repeated([bug], 0);

    expect(end).toBe(bug);
  });
});
