import { describe, expect, it } from "vitest";
import type { CrashSites, SiteVisit } from "../../simulation/engine/sites.ts";
import { createStory } from "./story.ts";

const END_MS = 100_000;
/** At this time the claim is in use, shortly before its unmount. */
const IN_USE_MS = 28_000;
/** By then an agent that was killed at the worst moment has caught up, and so has a leader that waited for a Lease to expire. */
const CAUGHT_UP_MS = 60_000;

async function play(mayCrash: (visit: SiteVisit, atMs: number) => boolean) {
  const story = createStory(
    { seed: 3, mayCrash: (visit) => mayCrash(visit, story.engine.scheduler.nowMs()) },
    { restarts: true },
  );
  story.startAggregator("a");
  story.startAggregator("b");
  story.startAgent();
  story.use(20_000);
  await story.engine.scheduler.runUntil(END_MS);
  const { status } = story.claim();
  const states = story.processes.map((process) => process.state());
  const figures = story.engine.sites.figures();
  await story.engine.close();
  return { status, states, figures, unmountedAtMs: story.unmountedAtMs() ?? Number.NaN };
}

/** Every crash site of the story, and the visit at which a crash matters most. */
async function places(): Promise<readonly { readonly place: string; readonly nth: number }[]> {
  const visits = new Map<string, number[]>();
  await play(({ site, phase }, atMs) => {
    const place = `${site}/${phase}`;
    visits.set(place, [...(visits.get(place) ?? []), atMs]);
    return false;
  });
  return [...visits].map(([place, times]) => {
    const index = times.findIndex((atMs) => atMs >= IN_USE_MS);
    return { place, nth: index === -1 ? times.length : index + 1 };
  });
}

/** Kills the process at the n-th visit of a site, once. */
function dieAt(place: string, nth: number): (visit: SiteVisit) => boolean {
  let visits = 0;
  return ({ site, phase }) => {
    if (`${site}/${phase}` !== place) return false;
    visits += 1;
    return visits === nth;
  };
}

function crashesIn(figures: ReturnType<CrashSites["figures"]>): number {
  return [...figures.values()].reduce((sum, { crashes }) => sum + crashes, 0);
}

describe("a process that is killed at a call of a port", async () => {
  it.each(await places())("leaves nothing wrong and nothing undone: $place, visit $nth", async ({ place, nth }) => {
    const { status, states, figures, unmountedAtMs } = await play(dieAt(place, nth));

    expect(figures.get(place)?.crashes).toBe(1);
    expect(crashesIn(figures)).toBe(1);
    expect(states.filter((state) => state === "failed")).toEqual([]);
    expect(states.filter((state) => state === "running")).toHaveLength(3);
    expect(status?.unused).toBe(true);
    expect(status?.sinceMs).toBeGreaterThanOrEqual(unmountedAtMs);
    expect(status?.sinceMs).toBeLessThan(unmountedAtMs + CAUGHT_UP_MS);
  });
});
