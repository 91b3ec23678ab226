import { array, type InferOutput, number, object, optional, parse, record, string } from "valibot";
import { EQUIVALENTS, type Equivalent } from "./equivalents.ts";

const place = object({ line: number(), column: number() });
const reportSchema = object({
  files: record(
    string(),
    object({
      source: string(),
      mutants: array(
        object({
          mutatorName: string(),
          replacement: optional(string()),
          status: string(),
          location: object({ start: place, end: place }),
        }),
      ),
    }),
  ),
});
type ReportedMutant = InferOutput<typeof reportSchema>["files"][string]["mutants"][number];

/** A change that no test saw. */
export interface Survivor {
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  /** The line or lines that are changed, before and after, without indentation. */
  readonly before: string;
  readonly after: string;
}

/** What became of the mutants of a part. */
export interface Score {
  readonly name: string;
  /** Failed a test, or ran for ever. */
  readonly killed: number;
  /** Refused by the compiler: neither killed nor survived. */
  readonly refused: number;
  /** In code that runs when a file is loaded: not run. */
  readonly ignored: number;
  readonly equivalent: readonly Survivor[];
  readonly survivors: readonly Survivor[];
}

/** Reads Stryker's JSON report. */
export function scoreOf(name: string, report: unknown, known: readonly Equivalent[] = EQUIVALENTS): Score {
  const { files } = parse(reportSchema, report);
  const all = Object.entries(files).flatMap(([file, { source, mutants }]) =>
    mutants.map((mutant) => ({ file, source, mutant })),
  );
  const count = (...statuses: readonly string[]): number =>
    all.filter(({ mutant }) => statuses.includes(mutant.status)).length;
  const alive = all
    .filter(({ mutant: { status } }) => status === "Survived" || status === "NoCoverage")
    .map(({ file, source, mutant }) => survivorOf(file, source, mutant));
  const isKnown = (survivor: Survivor): boolean => known.some((one) => isSame(one, survivor));
  return {
    name,
    killed: count("Killed", "Timeout", "RuntimeError"),
    refused: count("CompileError"),
    ignored: count("Ignored"),
    equivalent: alive.filter(isKnown),
    survivors: alive.filter((survivor) => !isKnown(survivor)),
  };
}

function survivorOf(file: string, source: string, { location: { start, end }, replacement }: ReportedMutant): Survivor {
  const lines = source.split("\n").slice(start.line - 1, end.line);
  const last = lines.at(-1) ?? "";
  const after = `${lines[0]?.slice(0, start.column - 1)}${replacement ?? ""}${last.slice(end.column - 1)}`;
  return { file, line: start.line, before: oneLine(lines.join("\n")), after: oneLine(after) };
}

function oneLine(text: string): string {
  return text.trim().replace(/\s+/g, " ");
}

function isSame(one: Equivalent, { file, before, after }: Survivor): boolean {
  return one.file === file && one.before === before && one.after === after;
}

/** Killed mutants of those that ran, in percent. What is known to be equivalent counts as if it had survived. */
export function percentOf(scores: readonly Score[]): number {
  const killed = scores.reduce((sum, score) => sum + score.killed, 0);
  const run = killed + scores.reduce((sum, { equivalent, survivors }) => sum + equivalent.length + survivors.length, 0);
  return run === 0 ? 0 : (100 * killed) / run;
}

/** A row for each part, and one for all. */
export function scoreRows(scores: readonly Score[]): readonly (readonly string[])[] {
  const row = (name: string, of: readonly Score[]): readonly string[] => {
    const sum = (take: (score: Score) => number): string => String(of.reduce((total, one) => total + take(one), 0));
    return [
      name,
      `${percentOf(of).toFixed(1)} %`,
      sum(({ killed }) => killed),
      sum(({ survivors }) => survivors.length),
      sum(({ equivalent }) => equivalent.length),
      sum(({ refused }) => refused),
      sum(({ ignored }) => ignored),
    ];
  };
  return [
    ["MUTATED", "SCORE", "KILLED", "SURVIVED", "EQUIVALENT", "REFUSED BY TYPES", "STATIC"],
    ...scores.map((score) => row(score.name, [score])),
    row("in all", scores),
  ];
}
