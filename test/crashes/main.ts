// Kills agents, aggregators and the API server at random moments of real uses of claims, and judges what was published.
import { cpSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createPrinter, type Printer, standardScreen } from "../demo/print.ts";
import { seldomJudged } from "../judge/tally.ts";
import { HarnessError } from "../rig/process/errors.ts";
import type { Owner } from "../rig/process/owner.ts";
import { runOwned } from "../rig/process/run-owned.ts";
import { runCampaign } from "./campaign.ts";
import { figureRows } from "./figures.ts";
import { type CrashFlags, HELP, readFlags } from "./flags.ts";
import { type Finding, judge, type Verdict } from "./judge.ts";
import { planOf } from "./plan.ts";
import type { CrashRecord } from "./record.ts";
import { shortfalls } from "./shortfall.ts";
import { clockTime } from "./states.ts";
import { storyOf } from "./story.ts";
import { openCrashWorld } from "./world.ts";

async function play(owner: Owner, { size, keep }: CrashFlags): Promise<void> {
  const printer = createPrinter(standardScreen());
  printer.title(`kill -9 of everything, seed ${size.seed}`);
  const begunAt = owner.clock.monotonicMs();
  const world = await openCrashWorld(owner);
  let printed = 0;
  // Prints and saves findings at once: a long run may be interrupted.
  const onRound = (record: CrashRecord): void => {
    const seconds = Math.round((owner.clock.monotonicMs() - begunAt) / 1000);
    const { findings } = judge(record);
    printer.text(`  ${seconds} s: ${record.uses.length} uses, ${record.kills.length} kills, ${findings.length} faults`);
    for (const finding of findings.slice(printed)) printFinding(printer, finding);
    printed = findings.length;
    if (keep !== undefined) keepRecord(owner, record, keep);
  };
  const record = await runCampaign(owner, { world, rounds: planOf(size), onRound });
  if (owner.signal.aborted) return;
  const verdict = judge(record);
  const { findings } = verdict;
  tell(printer, record, verdict);
  const seldom = seldomJudged(verdict.chances).map((one) => `judged in less than nine of ten chances: ${one}`);
  const missing = [...shortfalls(size, record), ...seldom];
  for (const line of missing) printer.line("failed", line);
  if (findings.length === 0 && missing.length === 0) return;
  throw new HarnessError(`${findings.length} faults; the plan again: npm run crashes -- --seed ${size.seed}`);
}

/** Prints the story of each claim with a finding, and then the table. */
function tell(printer: Printer, record: CrashRecord, verdict: Verdict): void {
  const { findings } = verdict;
  for (const claim of new Set(findings.map((finding) => finding.claim))) {
    printer.title(`\n${claim}`);
    for (const line of storyOf(claim, record)) printer.text(line);
  }
  printer.text("");
  for (const finding of findings) printFinding(printer, finding);
  printer.table(figureRows(record, verdict));
}

function printFinding(printer: Printer, { claim, atMs, text }: Finding): void {
  printer.line("failed", `${clockTime(atMs)} ${claim}: ${text}`);
}

/** Saves the record and the logs of all processes. */
function keepRecord(owner: Owner, record: CrashRecord, folder: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "record.json"), JSON.stringify(record, undefined, 1));
  const logs = readdirSync(owner.folder).filter((name) => name.endsWith(".log"));
  for (const name of logs) cpSync(join(owner.folder, name), join(folder, name));
}

try {
  const flags = readFlags(process.argv.slice(2));
  if (flags.help) process.stdout.write(HELP);
  else await runOwned((owner) => play(owner, flags));
} catch (error) {
  if (!(error instanceof HarnessError)) throw error;
  process.stderr.write(`mooring: ${error.message}\n`);
  process.exitCode = 1;
}
