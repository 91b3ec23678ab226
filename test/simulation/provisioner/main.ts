import { createSystemClock } from "../../../common/runtime/clock.ts";
import { provisionerPlanOf } from "./plan.ts";
import { runProvisionerPlan } from "./run.ts";
import { type ProvisionerSeed, playProvisionerSeed } from "./seeds.ts";

/** Options of a run of provisioner worlds. */
export interface ProvisionerRun {
  readonly first: number;
  readonly count: number;
  /** Play one seed, and print everything that happens. */
  readonly isVerbose: boolean;
  readonly shrinks: boolean;
  readonly mostFailures: number;
}

/** Plays worlds of the provisioner, and prints the results. False when a rule was broken. */
export async function playProvisioner(run: ProvisionerRun, write: (text: string) => void): Promise<boolean> {
  const clock = createSystemClock();
  const begunAt = clock.monotonicMs();
  if (run.isVerbose) {
    const { failure } = await runProvisionerPlan(provisionerPlanOf(run.first), { print: write });
    write(failure === undefined ? "Every rule was kept." : `Broke a rule: ${failure.detail}`);
    return failure === undefined;
  }
  const figures = new Map<string, number>();
  let [failed, played] = [0, 0];
  for (let seed = run.first; seed < run.first + run.count && failed < run.mostFailures; seed += 1) {
    const result = await playProvisionerSeed(seed, run.shrinks);
    played += 1;
    add(figures, result);
    if (result.failed === undefined) continue;
    failed += 1;
    write(failureText(seed, result.failed));
  }
  const tookMs = clock.monotonicMs() - begunAt;
  for (const [name, count] of [...figures].toSorted())
    write(`  ${name.padEnd(44)} ${String(Math.round(count)).padStart(12)}`);
  write(`${played} seeds, ${Math.round(tookMs / Math.max(1, played))} ms a seed, ${failed} broke a rule.`);
  return failed === 0;
}

function add(figures: Map<string, number>, { figures: more, sites }: ProvisionerSeed): void {
  const crashes = [...sites].map(([site, figure]) => [`crash at ${site}`, figure.crashes] as const);
  for (const [name, count] of [...Object.entries(more), ...crashes])
    if (count > 0) figures.set(name, (figures.get(name) ?? 0) + count);
}

function failureText(seed: number, { failure, plan }: NonNullable<ProvisionerSeed["failed"]>): string {
  return [
    `Seed ${seed} broke a rule after step ${failure.step}, ${Math.round(failure.atMs)} ms: ${failure.detail}`,
    `  in ${JSON.stringify(plan.nodes)}`,
    ...plan.actions.map((action) => `  ${JSON.stringify(action)}`),
  ].join("\n");
}
