import { HarnessError } from "../rig/process/errors.ts";

/** One long run: a script of package.json, and what it is told. */
export interface Part {
  readonly name: string;
  readonly script: string;
  readonly args: readonly string[];
  /** What it shows, in a few words. */
  readonly shows: string;
}

/** The long versions of what `npm test` runs a share of. */
export const PARTS: readonly Part[] = [
  { name: "crashes", script: "crashes", args: [], shows: "kill -9 of real processes in the middle of real uses" },
  {
    name: "simulation",
    script: "simulate",
    args: ["--seeds", "100000"],
    shows: "every fault at every step, in a world whose truth is known",
  },
  { name: "mutants", script: "simulate", args: ["--mutants"], shows: "that the simulation sees code that is wrong" },
  {
    name: "provisioner-mutants",
    script: "simulate",
    args: ["--world", "provisioner", "--mutants"],
    shows: "the same of the provisioner and its keeper",
  },
  { name: "worlds", script: "simulate", args: ["--seeds", "1000"], shows: "a thousand worlds of all faults" },
  {
    name: "provisioner-worlds",
    script: "simulate",
    args: ["--world", "provisioner", "--seeds", "1000"],
    shows: "the same of the provisioner and its keeper",
  },
  {
    name: "restart",
    script: "simulate:restart",
    args: [],
    shows: "that an aggregator which starts beside 200,000 conditions writes nothing but news",
  },
  {
    name: "nodes",
    script: "test:e2e",
    args: [],
    shows:
      "real nodes: what befalls claims on good days and bad ones, while nobody watches, and in upgrades of everything",
  },
  {
    name: "affinity",
    script: "test:e2e:long",
    args: ["test/e2e/long/affinity.test.ts"],
    shows: "pods on wrong nodes, with Kubernetes alone and with Mooring",
  },
  {
    name: "failover",
    script: "test:e2e:long",
    args: ["test/e2e/long/failover.test.ts"],
    shows: "how soon another aggregator leads, and what is written by then",
  },
  {
    name: "certificates",
    script: "test:e2e:long",
    args: ["test/e2e/long/certificates.test.ts", "test/e2e/long/given-certificates.test.ts"],
    shows: "certificates that are replaced or somebody else's from now on, while agents report and volumes are used",
  },
  { name: "wires", script: "wires", args: [], shows: "that the tests of whole programs see a wire that is cut" },
  { name: "mutation", script: "mutation", args: [], shows: "that the unit tests see code that is changed" },
  {
    name: "fuzz",
    script: "fuzz",
    args: ["--minutes", "5"],
    shows: "each parser of what comes from outside, for five minutes",
  },
];

/** What became of a part. */
export interface Outcome {
  readonly name: string;
  /** Nothing where it was ended by a signal or did not begin. */
  readonly exitCode: number | undefined;
  readonly seconds: number;
}

/**
 * The parts that are asked for by name, in their own order; all of them when none is. Throws a HarnessError for a name that there is not,
 * and for a part whose script this project does not have: what was not run must not look as if it had been.
 */
export function partsFor(names: readonly string[], scripts: Readonly<Record<string, unknown>>): readonly Part[] {
  const known = PARTS.map(({ name }) => name).join(", ");
  const unknown = names.filter((name) => !PARTS.some((part) => part.name === name));
  if (unknown.length > 0) throw new HarnessError(`there is no ${unknown.join(", ")} to prove; there are ${known}`);
  const parts = names.length === 0 ? PARTS : PARTS.filter(({ name }) => names.includes(name));
  const missing = parts
    .filter(({ script }) => !(script in scripts))
    .map(({ name, script }) => `${name} (npm run ${script})`);
  if (missing.length > 0) throw new HarnessError(`package.json has no script for ${missing.join(", ")}`);
  return parts;
}

/** The summary: a row for each part, whether it ran or not. */
export function summaryRows(parts: readonly Part[], outcomes: readonly Outcome[]): readonly (readonly string[])[] {
  const rows = parts.map(({ name, shows }) => {
    const outcome = outcomes.find((one) => one.name === name);
    if (outcome === undefined) return [name, "NOT RUN", "-", shows];
    const result = outcome.exitCode === 0 ? "holds" : `FAILED (${codeText(outcome)})`;
    return [name, result, `${Math.round(outcome.seconds)} s`, shows];
  });
  return [["PART", "RESULT", "TOOK", "SHOWS"], ...rows];
}

/** True only when every part ran to its end and holds. */
export function isProven(parts: readonly Part[], outcomes: readonly Outcome[]): boolean {
  return parts.every(({ name }) => outcomes.some((one) => one.name === name && one.exitCode === 0));
}

function codeText({ exitCode }: Outcome): string {
  return exitCode === undefined ? "ended by a signal" : `exit code ${exitCode}`;
}
