import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import * as v from "valibot";
import { tryVariants, type Unfit, type VariantResult, variantNames } from "../variants/variants.ts";

const run = promisify(execFile);

/** Where the cuts of a part of the product are, and the rows that have to notice them: those of the second folder where none of the first does. */
interface Wing {
  readonly folder: string;
  readonly rows: readonly (readonly string[])[];
}

export const WINGS = {
  aggregator: {
    folder: "test/wires/aggregator",
    rows: [["test/program/aggregator"], ["test/unit/aggregator/certificates/certificate-issuer.test.ts"]],
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

/** What became of a cut. */
export type Fate =
  | { readonly kind: "caught"; readonly row: string }
  | { readonly kind: "survived" }
  /** So does a machine that has too much to do: nobody has noticed anything. */
  | { readonly kind: "comes to no end" }
  /** A compiler notices it: no row has to. */
  | { readonly kind: "does not compile"; readonly why: string };

export type WireResult = VariantResult<Fate>;

/** Milliseconds. */
const LONGEST_MS = 600_000;

/** Names that no cut has. */
export async function unknownWires(names: readonly string[]): Promise<readonly string[]> {
  const known = (await Promise.all(Object.values(WINGS).map(({ folder }) => variantNames(folder)))).flat();
  return names.filter((name) => !known.includes(name));
}

/** Makes all cuts, or those that are named, each in a copy of the tree that is thrown away. Rejects where rows fail without any. */
export async function tryWires(
  { names, jobs }: { readonly names: readonly string[]; readonly jobs: number },
  tell: (line: string) => void,
): Promise<readonly WireResult[]> {
  const results: WireResult[] = [];
  for (const [name, wing] of Object.entries(WINGS)) {
    const wanted = (await variantNames(wing.folder)).filter((one) => names.length === 0 || names.includes(one));
    if (wanted.length === 0) continue;
    const prepare = async (plain: string): Promise<void> => {
      const whole = await fateBy(plain, wing.rows.flat());
      if (whole.kind !== "survived") throw new Error(`rows of the ${name} fail without any cut: ${endText(whole)}`);
      await typeError(plain, name);
    };
    const trial = { folder: wing.folder, copied: COPIED, names: wanted, jobs, prepare };
    results.push(
      ...(await tryVariants(
        trial,
        (_, { copy }) => fateIn(copy, name, wing),
        (result) => tell(wireText(result)),
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

/** The first thing that the compiler has to say of a part of the tree; of what is as it was when the tree was copied it does not think again. */
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

/** What the rows in these folders say of a tree. */
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
    if (Object(error).killed === true) return { kind: "comes to no end" };
    return { kind: "caught", row: await failureIn(join(cwd, "test-results.json")) };
  }
}

async function failureIn(file: string): Promise<string> {
  const { testResults } = v.parse(report, JSON.parse(await readFile(file, "utf8")));
  const failed = testResults.filter(({ status }) => status === "failed");
  const rows = failed.flatMap(({ assertionResults }) => assertionResults.filter(({ status }) => status === "failed"));
  return rows[0]?.fullName ?? failed[0]?.name ?? "(the rows could not be run)";
}

function wireText({ name, what, fate }: WireResult): string {
  return `${name.padEnd(34)} ${what}\n${" ".repeat(35)}${endText(fate)}`;
}

function endText(fate: Fate | Unfit): string {
  if (fate.kind === "caught") return `caught: ${fate.row}`;
  return "why" in fate ? `${fate.kind.toUpperCase()}: ${fate.why}` : fate.kind.toUpperCase();
}
