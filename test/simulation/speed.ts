import { planOf } from "./plan/generate.ts";
import { runPlan } from "./run.ts";

/**
 * Prints what a seed costs: `node .ci/launch.mjs test/simulation/speed.ts [seeds] [rounds]`. Each round plays the same seeds, so that the
 * figures show the share of compilation.
 */
const [seeds = "20", rounds = "3"] = process.argv.slice(2);

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

for (let round = 1; round <= Number(rounds); round += 1) {
  const begunAt = cpuMs();
  const total = { events: 0, steps: 0, virtualMs: 0 };
  for (let seed = 1; seed <= Number(seeds); seed += 1) {
    const { events, steps, virtualMs } = await runPlan(planOf(seed));
    total.events += events;
    total.steps += steps;
    total.virtualMs += virtualMs;
  }
  const ms = cpuMs() - begunAt;
  const of = (value: number, digits = 0): string => (value / Number(seeds)).toFixed(digits);
  const heap = (process.memoryUsage().heapUsed / 1e6).toFixed(0);
  console.log(
    `round ${round}: ${of(ms, 1)} ms CPU a seed, ${of(total.steps)} steps, ${of(total.virtualMs / 1000)} s of its time, ${of(total.events)} events, ${((ms * 1000) / total.events).toFixed(1)} µs an event, heap ${heap} MB`,
  );
}
