import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { array, number, object, parse, pipe, string, transform } from "valibot";

/** A piece of source text at the place where it would stand. */
export interface Snippet {
  readonly file: string;
  readonly code: string;
}

interface Finding {
  readonly file: string;
  readonly line: number;
  readonly rule: string;
}

interface Place {
  readonly file: string;
  readonly first: number;
  readonly last: number;
}

const root = resolve(import.meta.dirname, "../../..");

/** A rule of our own has no name in the output: its message stands for it. */
const biomeReport = object({
  diagnostics: array(
    pipe(
      object({
        category: string(),
        message: string(),
        location: object({ path: string(), start: object({ line: number() }) }),
      }),
      transform(
        ({ category, message, location }): Finding => ({
          file: location.path,
          line: location.start.line,
          rule: category === "plugin" ? message : category.replace(/^.*\//, ""),
        }),
      ),
    ),
  ),
});

/** Runs Biome with the rules of this repository once over all snippets and returns the broken rules of each, in order. */
export function lintAll(snippets: readonly Snippet[]): readonly (readonly string[])[] {
  const folder = mkdtempSync(join(tmpdir(), "mooring-lint-"));
  try {
    cpSync(join(root, "biome.json"), join(folder, "biome.json"));
    cpSync(join(root, ".ci/lint"), join(folder, ".ci/lint"), { recursive: true });
    const places = layOut(folder, snippets);
    const findings = lint(folder);
    return places.map((place) => findings.filter((found) => isIn(place, found)).map(({ rule }) => rule));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function isIn({ file, first, last }: Place, found: Finding): boolean {
  // What is wrong with the name of a file is reported on line 0.
  return found.file === file && (found.line === 0 || (found.line >= first && found.line <= last));
}

/** Snippets of the same file are written one below the other, because a rule may hold for one file alone. */
function layOut(folder: string, snippets: readonly Snippet[]): readonly Place[] {
  const files = new Map<string, string[]>();
  const places = snippets.map(({ file, code }) => {
    const lines = files.get(file) ?? [];
    files.set(file, lines);
    const first = lines.length + 1;
    lines.push(...code.split("\n"));
    return { file, first, last: lines.length };
  });
  for (const [file, lines] of files) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), `${lines.join("\n")}\n`);
  }
  return places;
}

function lint(folder: string): readonly Finding[] {
  const biome = join(root, "node_modules/@biomejs/biome/bin/biome");
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [biome, "lint", "--reporter=json", "--max-diagnostics=none", "."],
    { cwd: folder, encoding: "utf8", maxBuffer: 2 ** 26 },
  );
  if (!stdout.startsWith("{")) throw new Error(`biome gave no report: ${stderr}`);
  const findings = parse(biomeReport, JSON.parse(stdout)).diagnostics;
  // Biome applies no rule to a file that it cannot parse: every row of it would look allowed.
  const unparsed = findings.find(({ rule }) => rule === "parse");
  if (unparsed !== undefined) throw new Error(`line ${unparsed.line} of ${unparsed.file} is not TypeScript`);
  return findings;
}
