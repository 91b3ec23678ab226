import { readFile, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { createSystemClock } from "../../common/runtime/clock.ts";
import { messageOf } from "../../common/runtime/errors.ts";
import { PROMISES } from "../judge/docket.ts";
import { seldomJudged } from "../judge/tally.ts";
import { figuresText, notCovered } from "./figures.ts";
import { FOCUSED_SEEDS, tryMutants, unknownMutants, WINGS } from "./mutants.ts";
import { CRASH_SITES } from "./plan/crash-sites.ts";
import { planOf } from "./plan/generate.ts";
import { type Plan, readPlan } from "./plan/step.ts";
import { kindsOf, USUAL_KINDS } from "./plan/step-makers.ts";
import { playProvisioner } from "./provisioner/main.ts";
import { runPlan } from "./run.ts";
import { type FailedSeed, playSeed } from "./seeds.ts";
import { simulate } from "./simulate.ts";
import { NETWORK_FAULTS } from "./world/fault-injector.ts";

/** From this many seeds on, a fault or a crash site that no world covered fails the run. */
const LARGE = 10_000;

const USAGE = `Usage: npm run simulate [-- flags]

  --seeds N         number of worlds (200)
  --first-seed S    the first of them (1)
  --seed X          only this one; shortens a failing plan
  --plan FILE       this plan, from --save
  --save FILE       with --seed: save the shortest plan that fails
  --verbose         with --seed or --plan: print everything that happens
  --minutes M       start no further world after this many minutes
  --jobs J          number of threads (one for each core)
  --focus A,B       worlds in which only these step kinds cause faults
  --keep-going      continue after the tenth failure, and shorten no plans
  --world W         agents (default), or provisioner: with --seeds, --first-seed, --seed, --verbose, --keep-going and --mutants
  --mutants         try deliberately wrong variants of the product: each has to be caught; names may follow
`;

const OPTIONS = {
  allowPositionals: true,
  options: {
    seeds: { type: "string", default: "200" },
    "first-seed": { type: "string", default: "1" },
    seed: { type: "string" },
    plan: { type: "string" },
    save: { type: "string" },
    verbose: { type: "boolean", default: false },
    minutes: { type: "string", default: "600" },
    focus: { type: "string" },
    jobs: { type: "string", default: String(availableParallelism()) },
    world: { type: "string", default: "agents" },
    mutants: { type: "boolean", default: false },
    "keep-going": { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
} as const;

const WORLDS: readonly string[] = ["agents", "provisioner"];

const { values, positionals } = readFlags();

function readFlags(): ReturnType<typeof parseArgs<typeof OPTIONS>> {
  try {
    const flags = parseArgs(OPTIONS);
    for (const name of ["seeds", "first-seed", "seed", "minutes", "jobs"] as const) {
      const text = flags.values[name];
      // A run without worlds would keep every promise.
      if (text !== undefined && !/^[1-9]\d{0,8}$/.test(text))
        refuse(`--${name} is "${text}", not a whole number from 1 on`);
    }
    if (!WORLDS.includes(flags.values.world)) refuse(`--world is "${flags.values.world}", not ${WORLDS.join(" or ")}`);
    return flags;
  } catch (error) {
    return refuse(error instanceof Error ? error.message.split(". ", 1)[0] : String(error));
  }
}

function refuse(why: string | undefined): never {
  process.stderr.write(`mooring: ${why} (--help lists the flags)\n`);
  process.exit(1);
}

/** A failure as text, with the command that repeats it. */
function failureText({ seed, failure, plan }: FailedSeed): string {
  const { promise, detail, step, atMs } = failure;
  const words = promise in PROMISES ? "broke a promise" : "could not be played";
  return [
    `Seed ${seed} ${words} after step ${step}, ${Math.round(atMs)} ms of virtual time:`,
    `  ${detail}`,
    `Shortest plan found, ${plan.steps.length} steps, in ${JSON.stringify(plan.setup)}:`,
    ...plan.steps.map((one) => `  ${JSON.stringify(one)}`),
    `Again: npm run simulate -- --seed ${seed}${values.focus === undefined ? "" : ` --focus ${values.focus}`}`,
  ].join("\n");
}

const focus = values.focus === undefined ? undefined : kindsOf(values.focus);

function write(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function playPlan(plan: Plan): Promise<boolean> {
  const { failure } = await runPlan(plan, { print: values.verbose ? write : undefined });
  write(failure === undefined ? "This plan keeps every promise." : failureText({ seed: plan.seed, failure, plan }));
  return failure === undefined;
}

async function playOne(seed: number): Promise<boolean> {
  if (values.verbose) return await playPlan(planOf(seed, focus));
  const { failed } = await playSeed(seed, { focus, shrinks: true });
  if (values.save !== undefined && failed !== undefined) await writeFile(values.save, JSON.stringify(failed.plan));
  write(failed === undefined ? `Seed ${seed} keeps every promise.` : failureText(failed));
  return failed === undefined;
}

async function playMany(): Promise<boolean> {
  const { figures, failed, tookMs } = await simulate(createSystemClock(), {
    firstSeed: Number(values["first-seed"]),
    seeds: Number(values.seeds),
    jobs: Number(values.jobs),
    limitMs: Number(values.minutes) * 60_000,
    mostFailures: values["keep-going"] ? Number.POSITIVE_INFINITY : 10,
    shrinks: !values["keep-going"],
    focus,
    print: write,
  });
  for (const one of failed) write(`\n${failureText(one)}`);
  write(`\n${figuresText(figures, tookMs)}`);
  const missing =
    figures.seeds < LARGE
      ? []
      : notCovered(figures, { kinds: USUAL_KINDS, network: NETWORK_FAULTS, sites: CRASH_SITES });
  for (const one of missing) write(`Not covered: ${one}`);
  const seldom = seldomJudged(figures.chances);
  for (const one of seldom) write(`Judged in less than nine of ten chances: ${one}`);
  write(failed.length === 0 ? "\nEvery promise was kept." : `\n${failed.length} seeds broke a promise.`);
  return failed.length === 0 && missing.length === 0 && seldom.length === 0;
}

async function playMutants(): Promise<boolean> {
  const wing = values.world === "provisioner" ? WINGS.provisioner : WINGS.agents;
  const unknown = await unknownMutants(positionals, wing);
  // A run without mutants would have no survivor.
  if (unknown.length > 0) refuse(`no mutant is called ${unknown.join(", ")}`);
  const results = await tryMutants({ names: positionals, jobs: Number(values.jobs), wing }, write);
  const caught = results.filter(({ fate }) => fate.kind === "caught");
  write(
    `\n${caught.length} of ${results.length} mutants caught, each within ${FOCUSED_SEEDS} seeds with a focus and ${wing.seeds} of any.`,
  );
  return caught.length === results.length;
}

async function planIn(file: string): Promise<Plan> {
  try {
    return readPlan(JSON.parse(await readFile(file, "utf8")));
  } catch (error) {
    return refuse(`no plan can be read from ${file}: ${messageOf(error)}`);
  }
}

async function playProvisionerWorlds(): Promise<boolean> {
  const { seed, seeds, verbose } = values;
  const [first, count] = seed === undefined ? [values["first-seed"], seeds] : [seed, "1"];
  const shrinks = !values["keep-going"];
  const mostFailures = shrinks ? 10 : Number.POSITIVE_INFINITY;
  const isVerbose = verbose && seed !== undefined;
  return await playProvisioner({ first: Number(first), count: Number(count), isVerbose, shrinks, mostFailures }, write);
}

async function play(): Promise<boolean> {
  if (values.world === "provisioner" && !values.mutants) return await playProvisionerWorlds();
  if (values.mutants) return await playMutants();
  if (values.plan !== undefined) return await playPlan(await planIn(values.plan));
  return values.seed === undefined ? await playMany() : await playOne(Number(values.seed));
}

if (values.help) write(USAGE);
else {
  const isGood = await play();
  process.exitCode = isGood ? 0 : 1;
}
