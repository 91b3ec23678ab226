// Runs every parser of external input on unexpected inputs: npm run fuzz [-- target ...] [--minutes n]
import { hash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { messageOf } from "../../common/runtime/errors.ts";
import { createPrinter, standardScreen } from "../demo/print.ts";
import type { Owner } from "../rig/process/owner.ts";
import { runOwned } from "../rig/process/run-owned.ts";
import { type Finding, type Hunted, takeOnce } from "./hunt.ts";
import { createSlate, readSlate, type ThreadTask } from "./hunt-thread.ts";
import { TARGETS, targetOf } from "./targets.ts";

const OPTIONS = {
  allowPositionals: true,
  options: {
    minutes: { type: "string", default: "1" },
    seed: { type: "string", default: "1" },
    replay: { type: "string" },
  },
} as const;

/** An input takes a millisecond; a busy machine suspends a thread for a while. */
const HANGS_AFTER_CHECKS = 30;
const LOOK_MS = 1_000;
/** The heap of a thread, including its code and its corpus. */
const HEAP_MIB = 256;

const printer = createPrinter(standardScreen());

/** A hunt in its own thread: a hang or a full heap is a finding, too. */
async function huntIn(owner: Owner, task: Omit<ThreadTask, "slate">): Promise<Hunted> {
  const slate = createSlate();
  const { promise, resolve } = Promise.withResolvers<Hunted>();
  const lost = (why: string): void => {
    const { count, input } = readSlate(slate);
    resolve({ runs: count, corpus: 0, features: 0, slowestMs: 0, finding: { input, why } });
  };
  const worker = new Worker(new URL("hunt-thread.ts", import.meta.url), {
    workerData: { ...task, slate },
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB },
  });
  worker.on("message", resolve);
  worker.on("error", (error) => lost(error instanceof Error ? (error.stack ?? error.message) : String(error)));
  const done = new AbortController();
  const watching = watch(owner, {
    slate,
    onHang: () => lost(`took more than ${(HANGS_AFTER_CHECKS * LOOK_MS) / 1000} s`),
    done,
  });
  try {
    return await promise;
  } finally {
    done.abort();
    await watching;
    await worker.terminate();
  }
}

interface Watched {
  readonly slate: SharedArrayBuffer;
  readonly onHang: () => void;
  readonly done: AbortController;
}

/** Counts checks, not time: a suspend of the machine or of this run is no hang. */
async function watch({ clock, signal }: Owner, { slate, onHang, done }: Watched): Promise<void> {
  const ended = AbortSignal.any([signal, done.signal]);
  let [before, looks] = [-1, 0];
  while (!ended.aborted) {
    const { count } = readSlate(slate);
    looks = count === before ? looks + 1 : 0;
    before = count;
    if (looks >= HANGS_AFTER_CHECKS) onHang();
    await clock.sleep(LOOK_MS, ended);
  }
  if (signal.aborted) onHang();
}

/** Saves a finding beside the target's others: from now on a test runs it. */
function save(target: string, { input }: Finding): string {
  const folder = new URL(`corpus/${target}/`, import.meta.url);
  mkdirSync(folder, { recursive: true });
  const file = new URL(`found-${hash("sha256", input).slice(0, 12)}`, folder);
  writeFileSync(file, input, "latin1");
  return file.pathname;
}

function row(name: string, minutes: number, hunted: Hunted): readonly string[] {
  const { runs, corpus, features, slowestMs, finding } = hunted;
  const found = finding === undefined ? "0" : "1";
  return [name, ...[runs, Math.round(runs / minutes / 60), corpus, features].map(String), slowestMs.toFixed(1), found];
}

async function fuzz(owner: Owner, names: readonly string[], { minutes, seed }: { minutes: number; seed: number }) {
  const rows = [["TARGET", "INPUTS", "A SECOND", "CORPUS", "PLACES", "SLOWEST MS", "FOUND"]];
  for (const target of names) {
    if (owner.signal.aborted) return;
    const hunted = await huntIn(owner, { target, seed, minutes });
    rows.push([...row(target, minutes, hunted)]);
    if (hunted.finding === undefined || owner.signal.aborted) continue;
    process.exitCode = 1;
    printer.text(`${target}: ${hunted.finding.why}\n  saved as ${save(target, hunted.finding)}`);
  }
  printer.table(rows);
}

async function replay(name: string, file: string): Promise<void> {
  const { finding, ms } = await takeOnce(targetOf(name), readFileSync(file, "latin1"));
  printer.text(finding === undefined ? `${name} takes it in ${ms.toFixed(1)} ms` : `${name}: ${finding.why}`);
  if (finding !== undefined) process.exitCode = 1;
}

interface Flags {
  readonly names: readonly string[];
  readonly minutes: number;
  readonly seed: number;
  readonly replay: string | undefined;
}

/** Throws an error that says what is wrong with the flags. */
function readFlags(): Flags {
  const { values, positionals } = parseArgs(OPTIONS);
  const names = positionals.length > 0 ? positionals : TARGETS.map(({ name }) => name);
  for (const name of names) targetOf(name);
  const minutes = Number(values.minutes);
  if (!(minutes > 0)) throw new RangeError(`--minutes is "${values.minutes}", not a number above 0`);
  if (values.replay !== undefined) readFileSync(values.replay);
  return { names, minutes, seed: Number(values.seed), replay: values.replay };
}

let flags: Flags | undefined;
try {
  flags = readFlags();
} catch (error) {
  process.stderr.write(`mooring: ${messageOf(error)}\n`);
  process.exitCode = 2;
}
if (flags !== undefined) {
  const { names, replay: file } = flags;
  if (file !== undefined) await replay(names[0] ?? "", file);
  else await runOwned((owner) => fuzz(owner, names, flags));
}
