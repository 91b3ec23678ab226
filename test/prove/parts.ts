import { HarnessError } from "../rig/process/errors.ts";

/** One long run: a script of package.json with its arguments. */
export interface Part {
  readonly name: string;
  readonly script: string;
  readonly args: readonly string[];
  /** What it shows, in a few words. */
  readonly shows: string;
}

/** The long versions of the proofs of which `npm test` runs a share. */
export const PARTS: readonly Part[] = [
  { name: "crashes", script: "crashes", args: [], shows: "kill -9 of real processes during real uses" },
  {
    name: "simulation",
    script: "simulate",
    args: ["--seeds", "100000"],
    shows: "every fault at every step, in a world with a known truth",
  },
  { name: "mutants", script: "simulate", args: ["--mutants"], shows: "that the simulation catches wrong code" },
  {
    name: "provisioner-mutants",
    script: "simulate",
    args: ["--world", "provisioner", "--mutants"],
    shows: "the same for the provisioner and its keeper",
  },
  { name: "worlds", script: "simulate", args: ["--seeds", "1000"], shows: "a thousand worlds with all faults" },
  {
    name: "provisioner-worlds",
    script: "simulate",
    args: ["--world", "provisioner", "--seeds", "1000"],
    shows: "the same for the provisioner and its keeper",
  },
  {
    name: "restart",
    script: "simulate:restart",
    args: [],
    shows: "that an aggregator which restarts beside 200,000 conditions writes only changes",
  },
  {
    name: "nodes",
    script: "test:e2e",
    args: [],
    shows: "real nodes: claims with and without faults, during outages, and in upgrades of everything",
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
    shows: "how soon another aggregator leads, and what it has written by then",
  },
  {
    name: "certificates",
    script: "test:e2e:long",
    args: ["test/e2e/long/certificates.test.ts", "test/e2e/long/given-certificates.test.ts"],
    shows: "certificates that are rotated or replaced by external ones, while agents report and volumes are in use",
  },
  { name: "wires", script: "wires", args: [], shows: "that the tests of whole programs catch a cut connection" },
  { name: "mutation", script: "mutation", args: [], shows: "that the unit tests catch changed code" },
  {
    name: "fuzz",
    script: "fuzz",
    args: ["--minutes", "5"],
    shows: "each parser of external input, for five minutes",
  },
];

/** The result of a part. */
export interface Outcome {
  readonly name: string;
  /** Undefined when a signal ended it or it did not start. */
  readonly exitCode: number | undefined;
  readonly seconds: number;
}

/**
 * The named parts, in their own order; all parts without a name. Throws a HarnessError for an unknown name, and for a part whose script
 * this project does not have: a part that did not run must not look as if it had.
 */
export function partsFor(names: readonly string[], scripts: Readonly<Record<string, unknown>>): readonly Part[] {
  const known = PARTS.map(({ name }) => name).join(", ");
  const unknown = names.filter((name) => !PARTS.some((part) => part.name === name));
  if (unknown.length > 0) throw new HarnessError(`unknown proof ${unknown.join(", ")}; the proofs are ${known}`);
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
