import { CrashSites } from "./engine/sites.ts";
import { addFigures, type Figures, NO_FIGURES } from "./figures.ts";
import { planOf } from "./plan/generate.ts";
import { shrink } from "./plan/shrink.ts";
import type { Plan, Step, StepKind } from "./plan/step.ts";
import { type Failure, type Outcome, runPlan } from "./run.ts";

/** A seed that broke a promise, with the shortest plan found that breaks the same one. */
export interface FailedSeed {
  readonly seed: number;
  readonly failure: Failure;
  readonly plan: Plan;
}

/** The result of one seed. */
export interface SeedResult {
  readonly figures: Figures;
  readonly failed: FailedSeed | undefined;
}

/** The most runs to shorten a plan. */
const MOST_TRIES = 250;

export interface SeedOptions {
  /** Only steps of these kinds cause faults. */
  readonly focus?: readonly StepKind[] | undefined;
  readonly shrinks: boolean;
}

/** Plays the plan of a seed; shortens a plan that fails. */
export async function playSeed(seed: number, { focus, shrinks }: SeedOptions): Promise<SeedResult> {
  const plan = planOf(seed, focus);
  const sites = new CrashSites();
  const outcome = await runPlan(plan, { sites });
  const figures = figuresOf(plan, outcome, sites);
  const { failure } = outcome;
  if (failure === undefined) return { figures, failed: undefined };
  return { figures, failed: shrinks ? await shortest(plan, failure) : { seed, failure, plan } };
}

/** A shorter plan counts only when it breaks the same promise. */
async function shortest(plan: Plan, failure: Failure): Promise<FailedSeed> {
  const failsAlike = async (steps: readonly Step[]): Promise<boolean> =>
    (await runPlan({ ...plan, steps })).failure?.promise === failure.promise;
  // The steps after the failure do not matter.
  const begun = plan.steps.slice(0, failure.step);
  const first = (await failsAlike(begun)) ? begun : plan.steps;
  const steps = await shrink(first, failsAlike, MOST_TRIES);
  const short = { ...plan, steps };
  const again = (await runPlan(short)).failure ?? failure;
  return { seed: plan.seed, failure: again, plan: short };
}

function figuresOf({ steps }: Plan, outcome: Outcome, sites: CrashSites): Figures {
  const kinds: Record<string, number> = {};
  for (const { kind } of steps.slice(0, outcome.steps)) kinds[kind] = (kinds[kind] ?? 0) + 1;
  return addFigures(NO_FIGURES, {
    seeds: 1,
    steps: outcome.steps,
    events: outcome.events,
    virtualMs: outcome.virtualMs,
    uses: outcome.uses,
    writes: outcome.writes,
    kinds,
    network: Object.fromEntries(outcome.networkHits),
    chances: outcome.chances,
    sites: Object.fromEntries(sites.figures()),
  });
}
