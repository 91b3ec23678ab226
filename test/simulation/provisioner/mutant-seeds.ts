import { readFile } from "node:fs/promises";
import { provisionerPlanOf, readProvisionerPlan } from "./plan.ts";
import { runProvisionerPlan } from "./run.ts";

/** Runs in a copy of the tree with a mutant: plays seeds until a rule is broken, and prints that rule. */
const [first = "1", last = "1", , file = ""] = process.argv.slice(2);
const kept = file === "" ? undefined : readProvisionerPlan(JSON.parse(await readFile(file, "utf8")));

for (let seed = Number(first); seed <= Number(last); seed += 1) {
  const { failure } = await runProvisionerPlan(kept ?? provisionerPlanOf(seed));
  if (failure === undefined) continue;
  process.stdout.write(JSON.stringify({ seed, promise: failure.rule, detail: failure.detail }));
  break;
}
