import { execFile } from "node:child_process";
import { cp, mkdtemp, readdir, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import * as v from "valibot";

const run = promisify(execFile);

/** Each mutant has to be caught within so many seeds. */
export const MUTANT_SEEDS = 60;

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FOLDER = join(ROOT, "test/simulation/mutants");
/** All that the simulation runs. */
const COPIED = ["agent", "aggregator", "common", "test/simulation", "test/fakes", "package.json"];

/** What became of a deliberately wrong variant of the product. */
export type Fate =
  | { readonly kind: "caught"; readonly seed: number; readonly promise: string; readonly detail: string }
  | { readonly kind: "survived" }
  /** The product has changed since. */
  | { readonly kind: "does not apply"; readonly why: string };

export interface MutantResult {
  readonly name: string;
  /** What is wrong with it, in a sentence. */
  readonly what: string;
  readonly fate: Fate;
}

const caught = v.object({ seed: v.number(), promise: v.string(), detail: v.string() });

/**
 * Tries all mutants, or those that are named; each in a copy of the tree that is thrown away. All are made of the tree as it is at the
 * begin, and a seed at which that breaks a promise, too, catches nobody.
 */
export async function tryMutants(
  names: readonly string[],
  tell: (line: string) => void,
): Promise<readonly MutantResult[]> {
  const patches = (await readdir(FOLDER)).filter((file) => file.endsWith(".patch")).toSorted();
  const wanted = patches
    .map((file) => file.slice(0, -".patch".length))
    .filter((name) => names.length === 0 || names.includes(name));
  const results: MutantResult[] = [];
  const folder = await mkdtemp(join(tmpdir(), "mooring-mutants-"));
  try {
    const plain = join(folder, "plain");
    await copyTree(ROOT, plain);
    for (const name of wanted) {
      const result = await tryMutant(name, plain);
      results.push(result);
      tell(mutantText(result));
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return results;
}

async function copyTree(from: string, to: string): Promise<void> {
  for (const part of COPIED) await cp(join(from, part), join(to, part), { recursive: true });
  await symlink(join(ROOT, "node_modules"), join(to, "node_modules"));
}

async function tryMutant(name: string, plain: string): Promise<MutantResult> {
  const patch = join(FOLDER, `${name}.patch`);
  const [what = ""] = (await readFile(patch, "utf8")).split("\n");
  const copy = await mkdtemp(join(plain, "../mutant-"));
  try {
    await copyTree(plain, copy);
    const why = await apply(patch, copy);
    const fate: Fate = why === undefined ? await hunt(copy, plain) : { kind: "does not apply", why };
    return { name, what, fate };
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

/** Plays seeds with the mutant until one is found that it fails and the product does not. */
async function hunt(mutant: string, plain: string): Promise<Fate> {
  let first = 1;
  for (;;) {
    const found = await play(mutant, { first, last: MUTANT_SEEDS });
    if (found.kind !== "caught") return found;
    const { kind } = await play(plain, { first: found.seed, last: found.seed });
    if (kind === "survived") return found;
    first = found.seed + 1;
  }
}

/** Why the patch does not apply, when it does not. */
async function apply(patch: string, cwd: string): Promise<string | undefined> {
  try {
    // In a folder below a repository git would take the patch to be for that one, and do nothing.
    await run("git", ["apply", patch], { cwd, env: { ...process.env, GIT_CEILING_DIRECTORIES: join(cwd, "..") } });
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function play(cwd: string, { first, last }: { readonly first: number; readonly last: number }): Promise<Fate> {
  const program = join(cwd, "test/simulation/mutant-seeds.ts");
  const { stdout } = await run(process.execPath, [program, String(first), String(last)], { cwd });
  return stdout === "" ? { kind: "survived" } : { kind: "caught", ...v.parse(caught, JSON.parse(stdout)) };
}

export function mutantText({ name, what, fate }: MutantResult): string {
  const end = fate.kind === "caught" ? `caught by "${fate.promise}", seed ${fate.seed}` : fate.kind.toUpperCase();
  return `${name.padEnd(34)} ${end.padEnd(52)} ${what}`;
}
