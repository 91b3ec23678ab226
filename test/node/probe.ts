// Prints what keeps this machine from running nodes: a JSON list of sentences, empty when they can run.
import { runOwned } from "../process/run-owned.ts";
import { missingForNodes } from "./preconditions.ts";

await runOwned(async (owner) => {
  process.stdout.write(`${JSON.stringify(await missingForNodes(owner))}\n`);
});
