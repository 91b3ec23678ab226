import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative } from "node:path";

interface Place {
  readonly line: number;
  readonly column: number;
}

/** A change of the code, as Stryker tells it to a checker: lines and columns begin with 0. */
export interface Mutant {
  readonly id: string;
  readonly fileName: string;
  readonly replacement: string;
  readonly location: { readonly start: Place; readonly end: Place };
}

/** What a checker says of a mutant, in Stryker's words. */
export type Verdict = { readonly status: "passed" } | { readonly status: "compileError"; readonly reason: string };

const COPIED = ["agent", "aggregator", "common"];

/** The source with one change in it. */
export function mutated(source: string, { location: { start, end }, replacement }: Mutant): string {
  return source.slice(0, offsetOf(source, start)) + replacement + source.slice(offsetOf(source, end));
}

function offsetOf(source: string, { line, column }: Place): number {
  let offset = 0;
  for (let passed = 0; passed < line; passed += 1) offset = source.indexOf("\n", offset) + 1;
  return offset + column;
}

/**
 * Which mutants the compiler refuses, so that `npm run check` finds them and no test has to. Stryker's own checker needs the
 * compiler as a library, which TypeScript 7 is not: here each mutant is a file of its own beside the one that it changes, and all of them
 * are compiled at once. What others make of the changed exports is not looked at: rather one mutant too many is run.
 */
export function checkTypes(root: string, mutants: readonly Mutant[]): Readonly<Record<string, Verdict>> {
  const folder = mkdtempSync(join(tmpdir(), "mooring-mutants-"));
  try {
    for (const name of COPIED) cpSync(join(root, name), join(folder, name), { recursive: true });
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    const files = mutants.map((mutant) => writeMutant(folder, relative(root, mutant.fileName), mutant));
    const errors = compile(root, { folder, files });
    return Object.fromEntries(mutants.map(({ id }, index) => [id, verdictOf(errors.get(files[index] ?? ""))]));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function writeMutant(folder: string, path: string, mutant: Mutant): string {
  const file = join(dirname(path), `${basename(path, ".ts")}.mutant-${mutant.id}.ts`);
  writeFileSync(join(folder, file), mutated(readFileSync(join(folder, path), "utf8"), mutant));
  return file;
}

/** The first error of each file that has one. */
function compile(
  root: string,
  { folder, files }: { readonly folder: string; readonly files: readonly string[] },
): ReadonlyMap<string, string> {
  const { compilerOptions } = JSON.parse(readFileSync(join(root, "tsconfig.json"), "utf8"));
  // What a change leaves unused is no error of the code that is left.
  const options = { ...compilerOptions, noUnusedLocals: false, noUnusedParameters: false };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: options, files }));
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  const { stdout, stderr } = spawnSync(process.execPath, [tsc, "--pretty", "false"], {
    cwd: folder,
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  });
  const lines = [...stdout.matchAll(/^(?<file>[^\s(][^(]*)\(\d+,\d+\): error (?<what>.*)$/gm)];
  const errors = new Map(lines.toReversed().map(({ groups }) => [groups?.file ?? "", groups?.what ?? ""]));
  const foreign = [...errors].find(([file]) => !files.includes(file));
  // An error outside of the mutants, or none where the compiler complains: then it says nothing of them.
  if (foreign !== undefined || stderr !== "") throw new Error(`${foreign?.join(": ") ?? ""}${stderr}`);
  return errors;
}

function verdictOf(error: string | undefined): Verdict {
  return error === undefined ? { status: "passed" } : { status: "compileError", reason: error };
}

/** Stryker's plugin of the name `types`. */
export const strykerPlugins = [
  {
    kind: "Checker",
    name: "types",
    factory: () => ({
      init: () => Promise.resolve(),
      group: (mutants: readonly Mutant[]) => Promise.resolve([mutants.map(({ id }) => id)]),
      check: (mutants: readonly Mutant[]) => Promise.resolve(checkTypes(process.cwd(), mutants)),
    }),
  },
];
