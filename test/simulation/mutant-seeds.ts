import { readFile } from "node:fs/promises";
import { PROMISES } from "../judge/docket.ts";
import { planOf } from "./plan/generate.ts";
import { readPlan } from "./plan/step.ts";
import { kindsOf } from "./plan/step-makers.ts";
import { runPlan } from "./run.ts";

/** Runs in a copy of the tree with a mutant: plays seeds, or a kept plan, until a promise is broken, and prints that promise. */
const [first = "1", last = "1", words = "", file = ""] = process.argv.slice(2);
const focus = words === "" ? undefined : kindsOf(words);
const kept = file === "" ? undefined : readPlan(JSON.parse(await readFile(file, "utf8")));

for (let seed = Number(first); seed <= Number(last); seed += 1) {
  const { failure } = await runPlan(kept ?? planOf(seed, focus));
  if (failure === undefined || !(failure.promise in PROMISES)) continue;
  process.stdout.write(JSON.stringify({ seed, promise: failure.promise, detail: failure.detail }));
  break;
}
