import { relative } from "node:path";
import { array, literal, object, optional, safeParse, string, union } from "valibot";

/** One run of the test runner: the tiers it was to run, its exit code and the JSON it left, if any. */
export interface TierRun {
  readonly tiers: readonly string[];
  readonly exitCode: number;
  readonly report: string | undefined;
  /** What keeps this machine from running the tiers, in words: then they were not started. */
  readonly missing?: readonly string[];
}

export interface Totals {
  /** What to print, a line per tier and problem; the last is `N passed, N failed` alone. */
  readonly lines: readonly string[];
  readonly isGood: boolean;
}

interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

interface Outcome {
  readonly counts: ReadonlyMap<string, Counts>;
  readonly problems: readonly string[];
}

const none: Counts = { passed: 0, failed: 0, skipped: 0 };

/** The part of vitest's JSON reporter (jest's format) that is counted. A status that is not listed here is no report. */
const runnerReport = object({
  testResults: array(
    object({
      name: string(),
      status: union([literal("passed"), literal("failed")]),
      message: optional(string(), ""),
      assertionResults: array(
        object({
          status: union([
            literal("passed"),
            literal("failed"),
            literal("skipped"),
            literal("pending"),
            literal("todo"),
            literal("disabled"),
          ]),
          fullName: optional(string(), ""),
          failureMessages: optional(array(string()), []),
        }),
      ),
    }),
  ),
});

/** Adds up all runs. It is good only if every tier that this machine can run ran a test, nothing failed and each runner agrees. */
export function totalsOf(all: readonly TierRun[], root: string): Totals {
  const runs = all.filter(({ missing = [] }) => missing.length === 0);
  const outcomes = runs.map((run) => outcomeOf(run, root));
  const problems = outcomes.flatMap((outcome) => outcome.problems);
  const counts = outcomes.flatMap((outcome) => [...outcome.counts]);
  const total = counts.map(([, count]) => count).reduce(add, none);
  const lines = counts.map(([tier, count]) => `${tier}: ${textOf(count)}`);
  return {
    lines: [...lines, ...all.flatMap(notRun), ...problems, textOf(total)],
    isGood: problems.length === 0 && total.failed === 0 && total.passed > 0,
  };
}

/** A line for each thing that is missing for tiers: they count as neither passed nor failed. */
function notRun({ tiers, missing = [] }: TierRun): readonly string[] {
  return missing.map((reason) => `${tiers.join(", ")}: NOT RUN, for this machine lacks ${reason}`);
}

function outcomeOf({ tiers, exitCode, report }: TierRun, root: string): Outcome {
  const empty = new Map(tiers.map((tier) => [tier, none]));
  const files = decode(report);
  if (files === undefined) {
    return { counts: empty, problems: [`${tiers.join(", ")}: no readable report (exit code ${exitCode})`] };
  }
  const counts = files.reduce((sums, file) => {
    const tier = tierOf(relative(root, file.name));
    return sums.set(tier, add(sums.get(tier) ?? none, countsOf(file)));
  }, empty);
  const failed = [...counts.values()].reduce(add, none).failed;
  return {
    counts,
    problems: [
      ...files.filter(hasBrokenSetUp).map(({ name, message }) => `${name}: ${firstLine(message) || "did not load"}`),
      ...files.flatMap((file) => failuresOf(file, root)),
      ...[...counts].filter(([, count]) => count.passed + count.failed === 0).map(([tier]) => `${tier}: no test ran`),
      ...(exitCode !== 0 && failed === 0 ? [`${tiers.join(", ")}: exit code ${exitCode}, though no test failed`] : []),
    ],
  };
}

type TestFile = NonNullable<ReturnType<typeof decode>>[number];

function decode(report: string | undefined) {
  const decoded = safeParse(runnerReport, parseJson(report));
  return decoded.success ? decoded.output.testResults : undefined;
}

function parseJson(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    // A runner that was killed while it wrote: the same as no report.
    return undefined;
  }
}

/** `test/unit/agent/holds.test.ts` belongs to `unit`. */
function tierOf(path: string): string {
  return /^test\/([^/]+)\//.exec(path)?.[1] ?? "elsewhere";
}

/** A file that did not load, or whose set-up failed, has no failed test of its own: it counts as one. */
function hasBrokenSetUp({ status, assertionResults }: TestFile): boolean {
  return status === "failed" && assertionResults.every((test) => test.status !== "failed");
}

/** What makes a random counterexample come again (fast-check prints these lines below the first). */
const COUNTEREXAMPLE = /^(?:\{ seed: |Counterexample: )/;

/** As many lines of a counterexample, each so long. */
const SHOWN_LINES = 2;
const SHOWN_CHARACTERS = 1_000;

/** A line for each failed test, for a reader who has only the end of a long log, and its counterexample. */
function failuresOf({ name, assertionResults }: TestFile, root: string): readonly string[] {
  return assertionResults
    .filter(({ status }) => status === "failed")
    .flatMap(({ fullName, failureMessages: [why = ""] }) => [
      `${relative(root, name)}: FAILED: ${fullName}: ${firstLine(why)}`,
      ...counterexampleIn(why),
    ]);
}

function counterexampleIn(why: string): readonly string[] {
  const lines = why.split("\n").map((line) => line.trim());
  const telling = lines.filter((line) => COUNTEREXAMPLE.test(line)).slice(0, SHOWN_LINES);
  return telling.map((line) => `  ${line.slice(0, SHOWN_CHARACTERS)}`);
}

function countsOf(file: TestFile): Counts {
  const passed = file.assertionResults.filter(({ status }) => status === "passed").length;
  const failed = file.assertionResults.filter(({ status }) => status === "failed").length;
  const skipped = file.assertionResults.length - passed - failed;
  return { passed, failed: hasBrokenSetUp(file) ? 1 : failed, skipped };
}

function add(a: Counts, b: Counts): Counts {
  return { passed: a.passed + b.passed, failed: a.failed + b.failed, skipped: a.skipped + b.skipped };
}

function textOf({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}
