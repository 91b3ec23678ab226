import { PROMISES } from "./invariants/promises.ts";
import { planOf } from "./plan/generate.ts";
import { runPlan } from "./run.ts";

/** Run in a copy of the tree that a mutant has spoilt: plays seeds until a promise is broken, and prints which. */
const [first, last] = process.argv.slice(2).map(Number);

for (let seed = first ?? 1; seed <= (last ?? 1); seed += 1) {
  const { failure } = await runPlan(planOf(seed));
  if (failure === undefined || !(failure.promise in PROMISES)) continue;
  process.stdout.write(JSON.stringify({ seed, promise: failure.promise, detail: failure.detail }));
  break;
}
