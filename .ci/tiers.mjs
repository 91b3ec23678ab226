// Runs every tier of tests that package.json has, then prints what each tier counted and, last, the totals.
import { existsSync, readFileSync, rmSync } from "node:fs";
import { run } from "./command.mjs";
import { totalsOf } from "./totals.ts";

const reportFile = "test-results.json";
const commands = [
  { script: "test", tiers: ["unit", "integration"] },
  { script: "test:e2e", tiers: ["e2e"] },
];

async function runTiers({ script, tiers }) {
  // What an earlier run left must not count for one that leaves nothing.
  rmSync(reportFile, { force: true });
  const exitCode = await run({ command: ["npm", "run", "--silent", script] });
  return { tiers, exitCode, report: existsSync(reportFile) ? readFileSync(reportFile, "utf8") : undefined };
}

let isStopped = false;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    isStopped = true;
  });
}

const { scripts } = JSON.parse(readFileSync("package.json", "utf8"));
const runs = [];
for (const command of commands.filter(({ script }) => script in scripts)) {
  runs.push(await runTiers(command));
  if (isStopped) break;
}

const { lines, isGood } = totalsOf(runs, process.cwd());
console.log(`\n${lines.join("\n")}`);
process.exitCode = isGood ? 0 : 1;
