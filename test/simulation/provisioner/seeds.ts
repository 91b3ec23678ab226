import { CrashSites, type SiteFigure } from "../engine/sites.ts";
import { shrink } from "../plan/shrink.ts";
import { type ProvisionerPlan, provisionerPlanOf, type TimedAction } from "./plan.ts";
import { type ProvisionerFailure, runProvisionerPlan } from "./run.ts";

/** The result of one seed; its plan is the shortest found that breaks the same rule. */
export interface ProvisionerSeed {
  readonly failed: { readonly failure: ProvisionerFailure; readonly plan: ProvisionerPlan } | undefined;
  readonly figures: Readonly<Record<string, number>>;
  readonly sites: ReadonlyMap<string, SiteFigure>;
}

const MOST_TRIES = 150;

/** Plays the plan of a seed. */
export async function playProvisionerSeed(seed: number, shrinks: boolean): Promise<ProvisionerSeed> {
  const plan = provisionerPlanOf(seed);
  const sites = new CrashSites();
  const { failure, figures, events, virtualMs } = await runProvisionerPlan(plan, { sites });
  const all = { ...figures, events, "virtual hours": virtualMs / 3_600_000 };
  if (failure === undefined) return { failed: undefined, figures: all, sites: sites.figures() };
  return { failed: shrinks ? await shortest(plan, failure) : { failure, plan }, figures: all, sites: sites.figures() };
}

async function shortest(plan: ProvisionerPlan, failure: ProvisionerFailure) {
  const failsAlike = async (actions: readonly TimedAction[]): Promise<boolean> =>
    (await runProvisionerPlan({ ...plan, actions })).failure?.rule === failure.rule;
  const short = { ...plan, actions: await shrink(plan.actions, failsAlike, MOST_TRIES) };
  return { failure: (await runProvisionerPlan(short)).failure ?? failure, plan: short };
}
