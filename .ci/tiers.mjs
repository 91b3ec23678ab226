// Runs every tier of tests that package.json has, then prints what each tier counted and, last, the totals.
import { existsSync, readFileSync, rmSync } from "node:fs";
import { constants } from "node:os";
import { run, StartError } from "./command.mjs";
import { askForPackages, missingOf, namesIn } from "./packages.ts";
import { totalsOf } from "./totals.ts";

const reportFile = "test-results.json";
const commands = [
  { script: "test", tiers: ["unit", "program", "integration"] },
  // The probe prints a JSON list of what keeps this machine from running the tier.
  { script: "test:e2e", tiers: ["e2e"], packages: ".ci/e2e-packages", probe: "test/rig/node/probe.ts" },
];

async function runTiers({ script, tiers, packages, probe }) {
  if (packages !== undefined && !isStopped()) await installPackages(namesIn(readFileSync(packages, "utf8")));
  const missing = probe === undefined || isStopped() ? [] : await missingFor(probe);
  // A probe that was told to end names nothing, and tiers that were not begun must not look like ones that this machine lacks.
  if (isStopped()) return { tiers, exitCode: 128 + constants.signals[stoppedBy], report: undefined };
  if (missing.length > 0) return { tiers, missing, exitCode: 0, report: undefined };
  // What an earlier run left must not count for one that leaves nothing.
  rmSync(reportFile, { force: true });
  const exitCode = await run({ command: ["npm", "run", "--silent", script] });
  return { tiers, exitCode, report: existsSync(reportFile) ? readFileSync(reportFile, "utf8") : undefined };
}

/** Installs what is missing, where it may and can; what is still missing then, the probe names. */
async function installPackages(names) {
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) return;
  const missing = missingOf(names, (await outputOf(askForPackages(names))).output);
  if (missing.length === 0) return;
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const apt = ["apt-get", "--quiet", "-o", "DPkg::Lock::Timeout=120"];
  await run({ command: [...apt, "update"], options: { env } });
  if (isStopped()) return;
  await run({ command: [...apt, "install", "--yes", "--no-install-recommends", ...missing], options: { env } });
}

/** What a probe says is missing. Nothing when it fails: the tier then shows why. */
async function missingFor(probe) {
  const { code, output } = await outputOf([process.execPath, probe]);
  return code === 0 ? JSON.parse(output) : [];
}

async function outputOf(command) {
  const chunks = [];
  const options = { stdio: ["ignore", "pipe", "inherit"] };
  const onStart = ({ stdout }) => stdout.on("data", (chunk) => chunks.push(chunk));
  try {
    const code = await run({ command, options, onStart });
    return { code, output: Buffer.concat(chunks).toString() };
  } catch (error) {
    // A machine without dpkg: nothing is installed by it.
    if (error instanceof StartError) return { code: 127, output: "" };
    throw error;
  }
}

let stoppedBy;
function isStopped() {
  return stoppedBy !== undefined;
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    stoppedBy ??= signal;
  });
}

const { scripts } = JSON.parse(readFileSync("package.json", "utf8"));
const runs = [];
// Also when it was told to end: what is then not begun must not be missing from the totals.
for (const command of commands.filter(({ script }) => script in scripts)) runs.push(await runTiers(command));

const { lines, isGood } = totalsOf(runs, process.cwd());
console.log(`\n${lines.join("\n")}`);
process.exitCode = isGood ? 0 : 1;
