import { PROMISES } from "./invariants/promises.ts";
import { planOf } from "./plan/generate.ts";
import { kindsOf } from "./plan/happenings.ts";
import { runPlan } from "./run.ts";

/** Run in a copy of the tree that a mutant has spoilt: plays seeds until a promise is broken, and prints which. */
const [first = "1", last = "1", words = ""] = process.argv.slice(2);
const focus = words === "" ? undefined : kindsOf(words);

for (let seed = Number(first); seed <= Number(last); seed += 1) {
  const { failure } = await runPlan(planOf(seed, focus));
  if (failure === undefined || !(failure.promise in PROMISES)) continue;
  process.stdout.write(JSON.stringify({ seed, promise: failure.promise, detail: failure.detail }));
  break;
}
