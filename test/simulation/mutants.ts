import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import * as v from "valibot";
import { ROOT, type Trees, tryVariants, type Unfit, type VariantResult, variantNames } from "../variants/variants.ts";

const run = promisify(execFile);

/** A mutant has to be caught within this many seeds of worlds with its focus, and this many other seeds. */
export const FOCUSED_SEEDS = 40;
export const MUTANT_SEEDS = 40;

/** The mutants of a part of the product, the program that plays their worlds, and the number of seeds that have to catch them. */
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

/** The folders that the simulation needs. */
const COPIED = [
  "agent",
  "aggregator",
  "provisioner",
  "common",
  "test/simulation",
  "test/judge",
  "test/fakes",
  "package.json",
];

/** The result of a deliberately wrong variant of the product. */
export type Fate =
  | {
      readonly kind: "caught";
      readonly seed: number;
      readonly focus: string;
      readonly promise: string;
      readonly isKept: boolean;
    }
  | { readonly kind: "survived" };

export type MutantResult = VariantResult<Fate>;

const caught = v.object({ seed: v.number(), promise: v.string() });

/** The names without a mutant. */
export async function unknownMutants(names: readonly string[], { folder }: Wing): Promise<readonly string[]> {
  const known = await variantNames(folder);
  return names.filter((name) => !known.includes(name));
}

/** Mutants with a kept plan: seeds would catch them too seldom. */
export async function keptMutants({ folder }: Wing): Promise<readonly string[]> {
  return (await variantNames(folder)).filter((name) => existsSync(join(ROOT, folder, `${name}.plan.json`)));
}

/** Tries all mutants, or the named ones. A seed that the unchanged product fails, too, catches no mutant. */
export async function tryMutants(
  { names, jobs, wing }: { readonly names: readonly string[]; readonly jobs: number; readonly wing: Wing },
  print: (line: string) => void,
): Promise<readonly MutantResult[]> {
  return await tryVariants(
    { folder: wing.folder, copied: COPIED, names, jobs },
    ({ name, second }, trees) => {
      const focus = second.startsWith(FOCUS) ? second.slice(FOCUS.length).replaceAll(" ", "") : "";
      return hunt({ ...trees, wing, plan: join(ROOT, wing.folder, `${name}.plan.json`) }, focus);
    },
    (result) => print(mutantText(result)),
  );
}

/** The second line of a patch may name step kinds: in worlds with this focus the fault matters. */
const FOCUS = "Focus: ";

interface Hunt extends Trees {
  readonly wing: Wing;
  /** The path of a kept plan for the mutant; the file may not exist. */
  readonly plan: string;
}

/** First the kept plan, else worlds with the mutant's focus, and then any worlds. */
async function hunt(trees: Hunt, focus: string): Promise<Fate> {
  if (existsSync(trees.plan)) return await huntIn(trees, { first: 1, last: 1, focus: "", plan: trees.plan });
  const found = focus === "" ? undefined : await huntIn(trees, { first: 1, last: FOCUSED_SEEDS, focus });
  return found?.kind === "caught" ? found : await huntIn(trees, { first: 1, last: trees.wing.seeds, focus: "" });
}

interface Seeds {
  readonly first: number;
  readonly last: number;
  readonly focus: string;
  /** A plan that replaces those of the seeds. */
  readonly plan?: string;
}

/** Plays seeds with the mutant until one fails that the unchanged product passes. */
async function huntIn({ copy, plain, wing }: Hunt, seeds: Seeds): Promise<Fate> {
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

function endText(fate: Fate | Unfit): string {
  if (fate.kind !== "caught") return fate.kind.toUpperCase();
  if (fate.isKept) return `${fate.promise}, in its kept plan`;
  const where = fate.focus === "" ? "" : ` of ${fate.focus.replaceAll(",", ", ")}`;
  return `${fate.promise}, seed ${fate.seed}${where}`;
}
