// Changes the code that decides, one place at a time, and says which changes no unit test sees: npm run mutation [-- folder or file]
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { createPrinter, standardScreen } from "../demo/print.ts";
import { HarnessError } from "../rig/process/errors.ts";
import type { Owner } from "../rig/process/owner.ts";
import { runOwned } from "../rig/process/run-owned.ts";
import { type Part, partsFor, strykerOptions } from "./parts.ts";
import { percentOf, type Score, scoreOf, scoreRows } from "./score.ts";

/** In percent, for each part. */
const LOWEST_SCORE = 85;

const root = new URL("../../", import.meta.url).pathname;
const home = `${root}test/mutation`;
const stamp = `${home}/node_modules/.installed-lock`;
const printer = createPrinter(standardScreen());

/** Its packages are a third more files for a run that is rare: they are not among Mooring's own. */
async function install(owner: Owner): Promise<void> {
  const lock = createHash("sha256")
    .update(readFileSync(`${home}/package-lock.json`))
    .digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === lock) return;
  owner.say("installing StrykerJS (about 60 MB, once)");
  const lines: string[] = [];
  const npm = owner.child({
    name: "npm",
    command: "npm",
    args: ["ci", "--ignore-scripts", "--loglevel=error"],
    cwd: home,
    onLine: (line) => void lines.push(line),
  });
  await npm.start();
  const { code } = await npm.exited;
  if (code !== 0) throw new HarnessError(`npm ci failed in test/mutation:\n${lines.join("\n")}`);
  writeFileSync(stamp, lock);
}

async function mutate(owner: Owner, part: Part): Promise<Score> {
  const name = `stryker-${part.name.replaceAll(/[^\w.-]+/g, "-")}`;
  const report = `${owner.folder}/${name}-report.json`;
  const options = strykerOptions(part, {
    report,
    sandbox: `${owner.folder}/${name}`,
    jobs: availableParallelism(),
  });
  const config = `${owner.folder}/${name}.json`;
  writeFileSync(config, JSON.stringify(options));
  const lines: string[] = [];
  const stryker = owner.child({
    name,
    command: process.execPath,
    args: [`${home}/node_modules/@stryker-mutator/core/bin/stryker.js`, "run", config],
    env: {
      MOORING_MUTATION_TESTS: part.tests.join(" "),
      // Each mutant has a thread of its own, which would compile the test runner anew: that was most of the time.
      NODE_COMPILE_CACHE: `${owner.folder}/compiled`,
      NO_COLOR: "1",
    },
    cwd: root,
    onLine: (line) => void lines.push(line),
  });
  await stryker.start();
  const { code } = await stryker.exited;
  if (code !== 0) throw new HarnessError(`StrykerJS failed for ${part.name}:\n${lines.slice(-30).join("\n")}`);
  return scoreOf(part.name, JSON.parse(readFileSync(report, "utf8")));
}

function tell({ survivors }: Score): void {
  for (const { file, line, before, after } of survivors) printer.text(`${file}:${line}\n  - ${before}\n  + ${after}`);
}

async function run(owner: Owner, parts: readonly Part[]): Promise<void> {
  await install(owner);
  const scores: Score[] = [];
  owner.defer(() => {
    if (scores.length > 0) printer.table(scoreRows(scores));
  });
  for (const part of parts) {
    printer.title(`\n${part.name}`);
    const score = await mutate(owner, part);
    tell(score);
    scores.push(score);
  }
  const low = scores.filter((score) => percentOf([score]) < LOWEST_SCORE).map(({ name }) => name);
  if (low.length > 0) throw new HarnessError(`below ${LOWEST_SCORE} %: ${low.join(", ")}`);
}

try {
  const parts = partsFor(process.argv.slice(2));
  await runOwned((owner) => run(owner, parts));
} catch (error) {
  if (!(error instanceof HarnessError)) throw error;
  process.stderr.write(`mooring: ${error.message}\n`);
  process.exitCode = 1;
}
