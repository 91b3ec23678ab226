import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdtemp, readdir, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import * as v from "valibot";

const run = promisify(execFile);

/** Each mutant has to be caught within so many seeds of worlds in which its focus goes wrong, and so many of any. */
export const FOCUSED_SEEDS = 40;
export const MUTANT_SEEDS = 40;

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Where mutants are, what plays their worlds, and within how many seeds each is caught. */
export interface Wing {
  readonly folder: string;
  readonly program: string;
  readonly seeds: number;
}

export const WINGS = {
  agents: { folder: "test/simulation/mutants", program: "test/simulation/mutant-seeds.ts", seeds: MUTANT_SEEDS },
  provisioner: {
    folder: "test/simulation/provisioner/mutants",
    program: "test/simulation/provisioner/mutant-seeds.ts",
    seeds: 1_000,
  },
} as const satisfies Readonly<Record<string, Wing>>;

/** All that the simulation runs. */
const COPIED = ["agent", "aggregator", "provisioner", "common", "test/simulation", "test/fakes", "package.json"];

/** What became of a deliberately wrong variant of the product. */
export type Fate =
  | {
      readonly kind: "caught";
      readonly seed: number;
      readonly focus: string;
      readonly promise: string;
      readonly isKept: boolean;
    }
  | { readonly kind: "survived" }
  /** The product has changed since. */
  | { readonly kind: "does not apply"; readonly why: string };

export interface MutantResult {
  readonly name: string;
  /** What is wrong with it, in a sentence. */
  readonly what: string;
  readonly fate: Fate;
}

const caught = v.object({ seed: v.number(), promise: v.string() });

/** Names that no mutant has. */
export async function unknownMutants(names: readonly string[], wing: Wing): Promise<readonly string[]> {
  const known = await allMutants(wing);
  return names.filter((name) => !known.includes(name));
}

/** Those for which a plan is kept: what seeds meet too seldom. */
export async function keptMutants(wing: Wing): Promise<readonly string[]> {
  return (await allMutants(wing)).filter((name) => existsSync(join(ROOT, wing.folder, `${name}.plan.json`)));
}

async function allMutants({ folder }: Wing): Promise<readonly string[]> {
  const patches = (await readdir(join(ROOT, folder))).filter((file) => file.endsWith(".patch"));
  return patches.toSorted().map((file) => file.slice(0, -".patch".length));
}

/**
 * Tries all mutants, or those that are named; each in a copy of the tree that is thrown away. All are made of the tree as it is at the
 * begin, and a seed at which that breaks a promise, too, catches nobody.
 */
export async function tryMutants(
  { names, jobs, wing }: { readonly names: readonly string[]; readonly jobs: number; readonly wing: Wing },
  tell: (line: string) => void,
): Promise<readonly MutantResult[]> {
  const wanted = (await allMutants(wing)).filter((name) => names.length === 0 || names.includes(name));
  const results: MutantResult[] = [];
  const folder = await mkdtemp(join(tmpdir(), "mooring-mutants-"));
  try {
    const plain = join(folder, "plain");
    await copyTree(ROOT, plain);
    const work = async (): Promise<void> => {
      for (let name = wanted.shift(); name !== undefined; name = wanted.shift()) {
        const result = await tryMutant(name, plain, wing);
        results.push(result);
        tell(mutantText(result));
      }
    };
    await Promise.all(Array.from({ length: jobs }, work));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return results;
}

async function copyTree(from: string, to: string): Promise<void> {
  for (const part of COPIED) await cp(join(from, part), join(to, part), { recursive: true });
  await symlink(join(ROOT, "node_modules"), join(to, "node_modules"));
}

async function tryMutant(name: string, plain: string, wing: Wing): Promise<MutantResult> {
  const patch = join(ROOT, wing.folder, `${name}.patch`);
  const [what = "", second = ""] = (await readFile(patch, "utf8")).split("\n");
  const focus = second.startsWith(FOCUS) ? second.slice(FOCUS.length).replaceAll(" ", "") : "";
  const copy = await mkdtemp(join(plain, "../mutant-"));
  try {
    await copyTree(plain, copy);
    const why = await apply(patch, copy);
    const trees = { copy, plain, wing, plan: join(ROOT, wing.folder, `${name}.plan.json`) };
    const fate: Fate = why === undefined ? await hunt(trees, focus) : { kind: "does not apply", why };
    return { name, what, fate };
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

/** Beside what is wrong, a patch may tell in which worlds that matters: kinds of steps. */
const FOCUS = "Focus: ";

interface Trees {
  readonly wing: Wing;
  /** The mutant's. */
  readonly copy: string;
  /** The product's. */
  readonly plain: string;
  /** Where the plan is that is kept for the mutant, if there is any: for what seeds meet too seldom. */
  readonly plan: string;
}

/** First in the plan that is kept for it, then in worlds in which that goes wrong where the mutant is, then in any. */
async function hunt(trees: Trees, focus: string): Promise<Fate> {
  if (existsSync(trees.plan)) return await huntIn(trees, { first: 1, last: 1, focus: "", plan: trees.plan });
  const found = focus === "" ? undefined : await huntIn(trees, { first: 1, last: FOCUSED_SEEDS, focus });
  return found?.kind === "caught" ? found : await huntIn(trees, { first: 1, last: trees.wing.seeds, focus: "" });
}

interface Seeds {
  readonly first: number;
  readonly last: number;
  readonly focus: string;
  /** Instead of what the seeds stand for. */
  readonly plan?: string;
}

/** Plays seeds with the mutant until one is found that it fails and the product does not. */
async function huntIn({ copy, plain, wing }: Trees, seeds: Seeds): Promise<Fate> {
  for (let { first } = seeds; first <= seeds.last; ) {
    const found = await play(copy, wing, { ...seeds, first });
    if (found.kind !== "caught") return found;
    const { seed } = found;
    const { kind } = await play(plain, wing, { ...seeds, first: seed, last: seed });
    if (kind === "survived") return found;
    first = seed + 1;
  }
  return { kind: "survived" };
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

async function play(cwd: string, wing: Wing, { first, last, focus, plan }: Seeds): Promise<Fate> {
  const program = join(cwd, wing.program);
  const { stdout } = await run(process.execPath, [program, String(first), String(last), focus, plan ?? ""], { cwd });
  return stdout === ""
    ? { kind: "survived" }
    : { kind: "caught", focus, isKept: plan !== undefined, ...v.parse(caught, JSON.parse(stdout)) };
}

export function mutantText({ name, what, fate }: MutantResult): string {
  return `${name.padEnd(34)} ${endText(fate).padEnd(72)} ${what}`;
}

function endText(fate: Fate): string {
  if (fate.kind !== "caught") return fate.kind.toUpperCase();
  if (fate.isKept) return `${fate.promise}, in the plan that is kept for it`;
  const where = fate.focus === "" ? "" : ` of ${fate.focus.replaceAll(",", ", ")}`;
  return `${fate.promise}, seed ${fate.seed}${where}`;
}
