import { execFile } from "node:child_process";
import { cp, mkdtemp, readdir, readFile, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";

const run = promisify(execFile);

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** A deliberately wrong variant of the product: a patch whose first line says what is wrong with it. */
export interface Variant {
  readonly name: string;
  /** What is wrong with it, in a sentence. */
  readonly what: string;
  /** The line after that, which may say more. */
  readonly second: string;
}

/** The product has changed since. */
export interface Unfit {
  readonly kind: "does not apply";
  readonly why: string;
}

export interface VariantResult<Fate> {
  readonly name: string;
  readonly what: string;
  readonly fate: Fate | Unfit;
}

/** Two copies of the tree, which are thrown away. */
export interface Trees {
  /** The variant. */
  readonly copy: string;
  /** The product, as it was at the begin. */
  readonly plain: string;
}

interface Trial {
  /** Where the patches are, from the root of the tree. */
  readonly folder: string;
  /** What a copy needs beside the packages. */
  readonly copied: readonly string[];
  /** Those alone; all where there is none. */
  readonly names: readonly string[];
  readonly jobs: number;
  /** Done once in the tree that all variants are copied from. */
  readonly prepare?: (plain: string) => Promise<void>;
}

export async function variantNames(folder: string): Promise<readonly string[]> {
  const patches = (await readdir(join(ROOT, folder))).filter((file) => file.endsWith(".patch"));
  return patches.toSorted().map((file) => file.slice(0, -".patch".length));
}

/** Tries variants, each in a copy of its own; all are made of the tree as it is at the begin. `tell` is called with each as it ends. */
export async function tryVariants<Fate>(
  { folder, copied, names, jobs, prepare }: Trial,
  tryOne: (variant: Variant, trees: Trees) => Promise<Fate>,
  tell: (result: VariantResult<Fate>) => void,
): Promise<readonly VariantResult<Fate>[]> {
  const wanted = (await variantNames(folder)).filter((name) => names.length === 0 || names.includes(name));
  const results: VariantResult<Fate>[] = [];
  await inPlainTree(copied, async (plain) => {
    await prepare?.(plain);
    const work = async (): Promise<void> => {
      for (let name = wanted.shift(); name !== undefined; name = wanted.shift()) {
        const result = await tryVariant({ patch: join(ROOT, folder, `${name}.patch`), name, plain, copied }, tryOne);
        results.push(result);
        tell(result);
      }
    };
    await Promise.all(Array.from({ length: jobs }, work));
  });
  return results;
}

/** A copy of the tree that is thrown away. */
async function inPlainTree<T>(copied: readonly string[], use: (plain: string) => Promise<T>): Promise<T> {
  const owner = await openOwner();
  const signals = closeOnSignals(owner);
  try {
    const plain = join(owner.folder, "plain");
    await copyTree(ROOT, plain, copied);
    return await use(plain);
  } finally {
    await owner.close();
    signals[Symbol.dispose]();
  }
}

async function copyTree(from: string, to: string, copied: readonly string[]): Promise<void> {
  for (const part of copied) await cp(join(from, part), join(to, part), { recursive: true });
  await symlink(join(ROOT, "node_modules"), join(to, "node_modules"));
}

interface Patched {
  readonly patch: string;
  readonly name: string;
  readonly plain: string;
  readonly copied: readonly string[];
}

async function tryVariant<Fate>(
  { patch, name, plain, copied }: Patched,
  tryOne: (variant: Variant, trees: Trees) => Promise<Fate>,
): Promise<VariantResult<Fate>> {
  const [what = "", second = ""] = (await readFile(patch, "utf8")).split("\n");
  const copy = await mkdtemp(join(plain, "../variant-"));
  try {
    await copyTree(plain, copy, copied);
    const why = await apply(patch, copy);
    const fate: Fate | Unfit =
      why === undefined ? await tryOne({ name, what, second }, { copy, plain }) : { kind: "does not apply", why };
    return { name, what, fate };
  } finally {
    await rm(copy, { recursive: true, force: true });
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
