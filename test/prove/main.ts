// Runs the long versions of the proofs, one after the other: npm run prove [-- crashes simulation mutants restart nodes affinity mutation]
import { readFileSync } from "node:fs";
import { object, parse, record, string } from "valibot";
import { createPrinter, standardScreen } from "../demo/print.ts";
import { HarnessError } from "../rig/process/errors.ts";
import type { Owner } from "../rig/process/owner.ts";
import { runOwned } from "../rig/process/run-owned.ts";
import { isProven, type Outcome, type Part, partsFor, summaryRows } from "./parts.ts";

const root = new URL("../../", import.meta.url);
/** An interrupted simulation still prints its results so far. */
const STOP_LIMIT_MS = 20_000;

function scriptsOf(): Readonly<Record<string, string>> {
  const text = readFileSync(new URL("package.json", root), "utf8");
  return parse(object({ scripts: record(string(), string()) }), JSON.parse(text)).scripts;
}

async function run(owner: Owner, { name, script, args }: Part): Promise<Outcome> {
  const begunAt = owner.clock.monotonicMs();
  const child = owner.child({
    name,
    command: "npm",
    args: ["run", "--silent", script, "--", ...args],
    cwd: root.pathname,
    onLine: (line) => void process.stdout.write(`${line}\n`),
    stopLimitMs: STOP_LIMIT_MS,
  });
  await child.start();
  const { code } = await child.exited;
  return { name, exitCode: code ?? undefined, seconds: (owner.clock.monotonicMs() - begunAt) / 1000 };
}

async function prove(owner: Owner, parts: readonly Part[]): Promise<void> {
  const printer = createPrinter(standardScreen());
  const outcomes: Outcome[] = [];
  owner.defer(() => {
    printer.title("\nSummary");
    printer.table(summaryRows(parts, outcomes));
  });
  for (const part of parts) {
    if (owner.signal.aborted) return;
    printer.title(`\n${part.name}: ${part.shows}`);
    outcomes.push(await run(owner, part));
  }
  if (!isProven(parts, outcomes)) process.exitCode = 1;
}

try {
  const parts = partsFor(process.argv.slice(2), scriptsOf());
  await runOwned((owner) => prove(owner, parts));
} catch (error) {
  if (!(error instanceof HarnessError)) throw error;
  process.stderr.write(`mooring: ${error.message}\n`);
  process.exitCode = 1;
}
