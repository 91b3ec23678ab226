import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import * as v from "valibot";
import { tryVariants, type Unfit, type VariantResult, variantNames } from "../variants/variants.ts";

const run = promisify(execFile);

/** The cuts of a part of the product, and the test folders that have to catch them: the second where no test of the first fails. */
interface Wing {
  readonly folder: string;
  readonly rows: readonly (readonly string[])[];
}

export const WINGS = {
  aggregator: {
    folder: "test/wires/aggregator",
    rows: [["test/program/aggregator"], ["test/unit/aggregator/certificate-readiness.test.ts"]],
  },
  agent: {
    folder: "test/wires/agent",
    rows: [["test/program/agent"], ["test/unit/agent/enforcement"]],
  },
} as const satisfies Readonly<Record<string, Wing>>;

const COPIED = [
  ...["agent", "aggregator", "provisioner", "common", "cli", "test"],
  ...["package.json", "tsconfig.json", "vitest.config.ts"],
];

/** The result of a cut. */
export type Fate =
  | { readonly kind: "caught"; readonly row: string }
  | { readonly kind: "survived" }
  /** An overloaded machine times out, too: no test has failed. */
  | { readonly kind: "times out" }
  /** The compiler reports it: no test has to. */
  | { readonly kind: "does not compile"; readonly why: string };

export type WireResult = VariantResult<Fate>;

/** The longest time for all tests of a cut. Milliseconds. */
const LONGEST_MS = 600_000;

/** The names without a cut. */
export async function unknownCuts(names: readonly string[]): Promise<readonly string[]> {
  const known = (await Promise.all(Object.values(WINGS).map(({ folder }) => variantNames(folder)))).flat();
  return names.filter((name) => !known.includes(name));
}

/** Tries all cuts, or the named ones, each in a temporary copy of the tree. Rejects when tests fail without a cut. */
export async function tryCuts(
  { names, jobs }: { readonly names: readonly string[]; readonly jobs: number },
  print: (line: string) => void,
): Promise<readonly WireResult[]> {
  const results: WireResult[] = [];
  for (const [name, wing] of Object.entries(WINGS)) {
    const wanted = (await variantNames(wing.folder)).filter((one) => names.length === 0 || names.includes(one));
    if (wanted.length === 0) continue;
    const prepare = async (plain: string): Promise<void> => {
      const unchanged = await fateBy(plain, wing.rows.flat());
      if (unchanged.kind !== "survived")
        throw new Error(`tests of the ${name} fail without a cut: ${endText(unchanged)}`);
      await typeError(plain, name);
    };
    const trial = { folder: wing.folder, copied: COPIED, names: wanted, jobs, prepare };
    results.push(
      ...(await tryVariants(
        trial,
        (_, { copy }) => fateIn(copy, name, wing),
        (result) => print(wireText(result)),
      )),
    );
  }
  return results;
}

async function fateIn(copy: string, part: string, { rows }: Wing): Promise<Fate> {
  const why = await typeError(copy, part);
  if (why !== undefined) return { kind: "does not compile", why };
  for (const paths of rows) {
    const fate = await fateBy(copy, paths);
    if (fate.kind !== "survived") return fate;
  }
  return { kind: "survived" };
}

/** The first compiler error in a part of the tree. The compiler reuses what it knows of the unchanged files. */
async function typeError(copy: string, part: string): Promise<string | undefined> {
  const config = join(copy, "tsconfig.wires.json");
  await writeFile(config, JSON.stringify({ extends: "./tsconfig.json", include: [part] }));
  const tsc = join(copy, "node_modules/typescript/bin/tsc");
  try {
    const known = ["--incremental", "--tsBuildInfoFile", join(copy, part, ".tsbuildinfo")];
    await run(process.execPath, [tsc, "--project", config, ...known], { cwd: copy });
    return undefined;
  } catch (error) {
    return String(Object(error).stdout).split("\n", 1)[0];
  }
}

const report = v.object({
  testResults: v.array(
    v.object({
      name: v.string(),
      status: v.string(),
      assertionResults: v.array(v.object({ fullName: v.string(), status: v.string() })),
    }),
  ),
});

/** The result of the tests in these folders. */
async function fateBy(cwd: string, paths: readonly string[]): Promise<Fate> {
  const vitest = join(cwd, "node_modules/vitest/vitest.mjs");
  const flags = ["--project", "unit", "--bail", "1", "--maxWorkers", "1", "--reporter", "json"];
  try {
    await run(process.execPath, [vitest, "run", ...flags, ...paths], {
      cwd,
      timeout: LONGEST_MS,
      maxBuffer: Number.POSITIVE_INFINITY,
    });
    return { kind: "survived" };
  } catch (error) {
    if (Object(error).killed === true) return { kind: "times out" };
    return { kind: "caught", row: await failureIn(join(cwd, "test-results.json")) };
  }
}

async function failureIn(file: string): Promise<string> {
  const { testResults } = v.parse(report, JSON.parse(await readFile(file, "utf8")));
  const failed = testResults.filter(({ status }) => status === "failed");
  const rows = failed.flatMap(({ assertionResults }) => assertionResults.filter(({ status }) => status === "failed"));
  return rows[0]?.fullName ?? failed[0]?.name ?? "(the tests could not run)";
}

function wireText({ name, what, fate }: WireResult): string {
  return `${name.padEnd(34)} ${what}\n${" ".repeat(35)}${endText(fate)}`;
}

function endText(fate: Fate | Unfit): string {
  if (fate.kind === "caught") return `caught: ${fate.row}`;
  return "why" in fate ? `${fate.kind.toUpperCase()}: ${fate.why}` : fate.kind.toUpperCase();
}
