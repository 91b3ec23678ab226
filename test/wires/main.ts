// Cuts the product's connections, one at a time, and prints which test fails for each: npm run wires [-- names]
import { availableParallelism } from "node:os";
import { tryCuts, unknownCuts } from "./wires.ts";

function write(text: string): void {
  process.stdout.write(`${text}\n`);
}

const names = process.argv.slice(2);
const unknown = await unknownCuts(names);
if (unknown.length > 0) {
  process.stderr.write(`mooring: no cut has the name ${unknown.join(", ")}\n`);
  process.exit(1);
}
const results = await tryCuts({ names, jobs: availableParallelism() }, write);
const caught = results.filter(({ fate }) => fate.kind === "caught").length;
write(`${caught} of ${results.length} cuts are caught.`);
process.exitCode = caught === results.length ? 0 : 1;
