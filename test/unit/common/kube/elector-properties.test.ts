import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Incident, type Passage, type ProcessPlan, SimulatedElection } from "./simulated-election.ts";

/** The same runs each time; for a hunt with new ones `MOORING_PROPERTY_RUNS` says how many. */
const { MOORING_PROPERTY_RUNS: hunt } = process.env;
const RUNS = hunt === undefined ? { seed: 5541, numRuns: 20 } : { numRuns: Number(hunt) };
const STEP_MS = 50;
const TROUBLE_MS = 90_000;
/** A lost leader is replaced after 15 s and a look; a request without an answer is given up after 5 s. */
const RECOVERY_MS = 60_000;

const delay = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 200 }) },
  { weight: 2, arbitrary: fc.integer({ min: 200, max: 6_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 6_000, max: 40_000 }) },
);
const leg = fc.oneof({ weight: 8, arbitrary: delay }, { weight: 1, arbitrary: fc.constant(undefined) });
const several = (one: fc.Arbitrary<Passage>, maxLength: number): fc.Arbitrary<Passage[]> =>
  fc.array(one, { maxLength });
/** A mixed time, a good one, answers that are nearly too late, and an outage: the worst come one after the other. */
const phase = fc.oneof(
  several(fc.record({ there: leg, back: leg }), 12),
  several(fc.constant({ there: 5, back: 5 }), 6),
  several(fc.record({ there: fc.constant(5), back: fc.integer({ min: 3_000, max: 5_600 }) }), 2),
  several(fc.constantFrom({ there: undefined, back: undefined }, { there: 5, back: undefined }), 8),
);
const plan: fc.Arbitrary<ProcessPlan> = fc.record({
  rate: fc.oneof(fc.constantFrom(0.9, 1.1), fc.double({ min: 0.9, max: 1.1, noNaN: true })),
  passages: fc.array(phase, { maxLength: 6 }).map((phases) => phases.flat()),
});
const incident: fc.Arbitrary<Incident> = fc.record({
  atMs: fc.integer({ min: 0, max: TROUBLE_MS / STEP_MS }).map((step) => step * STEP_MS),
  process: fc.integer({ min: 0, max: 3 }),
  kind: fc.constantFrom("stopped", "suspended", "ended", "killed"),
  forMs: fc.integer({ min: 1, max: 40_000 / STEP_MS }).map((step) => step * STEP_MS),
});

interface Story {
  /** The most that believed at one moment that they may act. */
  readonly most: number;
  /** Who believes it at the end. */
  readonly last: readonly number[];
  /** For how much of the time there was a leader. */
  readonly led: number;
}

/** Incidents that overlap on one process: the first counts. */
function apart(incidents: readonly Incident[]): readonly Incident[] {
  const kept: Incident[] = [];
  for (const one of incidents.toSorted((a, b) => a.atMs - b.atMs)) {
    const isFree = kept.every(({ process, atMs, forMs }) => process !== one.process || atMs + forMs < one.atMs);
    if (isFree) kept.push(one);
  }
  return kept;
}

async function play(plans: readonly ProcessPlan[], incidents: readonly Incident[]): Promise<Story> {
  const election = new SimulatedElection(plans);
  let [most, led, steps] = [0, 0, 0];
  const look = (): void => {
    most = Math.max(most, election.believers.length);
  };
  const begins = apart(incidents).filter(({ process }) => process < plans.length);
  const lastMs = Math.max(TROUBLE_MS, ...begins.map(({ atMs, forMs }) => atMs + forMs)) + RECOVERY_MS;
  for (let atMs = 0; atMs <= lastMs; atMs += STEP_MS) {
    for (const one of begins.filter((each) => each.atMs + each.forMs === atMs)) await election.finish(one, look);
    for (const one of begins.filter((each) => each.atMs === atMs)) await election.begin(one);
    look();
    if (election.believers.length > 0) led += 1;
    steps += 1;
    await election.advance(STEP_MS);
  }
  return { most, last: election.believers, led: led / steps };
}

const calm: ProcessPlan = { rate: 1, passages: [] };

describe("electors of one Lease", () => {
  it("never let two act at one moment, and let one act when the trouble is over", async () => {
    const plans = fc.array(plan, { minLength: 2, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(plans, fc.array(incident, { maxLength: 8 }), async (processes, incidents) => {
        const { most, last } = await play(processes, incidents);

        expect(most).toBeLessThanOrEqual(1);
        expect(last).toHaveLength(1);
      }),
      RUNS,
    );
  }, 600_000);

  it.each([
    { name: "nearly all the time without faults", incidents: [], least: 0.99 },
    {
      name: "again after 15 s when a leader is killed",
      incidents: [{ atMs: 30_000, process: 0, kind: "killed", forMs: 40_000 }],
      least: 0.85,
    },
  ] as const)("lead $name", async ({ incidents, least }) => {
    const { most, led } = await play([calm, { ...calm, rate: 1.01 }], incidents);

    expect(most).toBe(1);
    expect(led).toBeGreaterThan(least);
  });
});
