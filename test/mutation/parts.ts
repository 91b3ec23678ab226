import { HarnessError } from "../rig/process/errors.ts";

/** Code that is mutated, and the tests that have to see it. Both are below the root of the project. */
export interface Part {
  readonly name: string;
  readonly mutate: readonly string[];
  /**
   * Globs of test files: its own. Tests of whole programs see much of it as well, but take fifty times as long, and wait for ever when a
   * change keeps something from happening.
   */
  readonly tests: readonly string[];
}

/** What decides: no clock, no IO, so that a change of it is a change of what Mooring says. */
export const PARTS: readonly Part[] = [
  {
    name: "agent/core",
    mutate: ["agent/core/**/*.ts"],
    tests: ["test/unit/agent/core/**/*.test.ts"],
  },
  {
    name: "aggregator/core",
    mutate: ["aggregator/core/**/*.ts"],
    tests: ["test/unit/aggregator/core/*.test.ts"],
  },
  {
    name: "common/storage",
    mutate: ["common/storage/**/*.ts"],
    tests: ["test/unit/common/storage/*.test.ts"],
  },
];

/** The parts that are asked for, by folder or by file; all of them when nothing is. Throws a HarnessError for what is in none. */
export function partsFor(asked: readonly string[]): readonly Part[] {
  if (asked.length === 0) return PARTS;
  const unknown = asked.filter((one) => !PARTS.some((part) => isIn(part, one)));
  if (unknown.length > 0) {
    const names = PARTS.map(({ name }) => name).join(", ");
    throw new HarnessError(`${unknown.join(", ")} is not mutated; ${names} are, and each of their files`);
  }
  return PARTS.flatMap((part) => {
    const own = asked.filter((one) => isIn(part, one));
    if (own.length === 0) return [];
    if (own.includes(part.name)) return [part];
    const [only = "", ...others] = own;
    return [{ ...part, name: others.length === 0 ? only : `${part.name}, ${own.length} files`, mutate: own }];
  });
}

function isIn({ name }: Part, asked: string): boolean {
  return asked === name || (asked.startsWith(`${name}/`) && asked.endsWith(".ts"));
}

/** What Stryker is told of a part. */
export function strykerOptions(
  { mutate }: Part,
  { report, sandbox, jobs }: { readonly report: string; readonly sandbox: string; readonly jobs: number },
): object {
  return {
    mutate,
    testRunner: "vitest",
    vitest: { configFile: "test/mutation/vitest.config.ts", related: false },
    plugins: ["@stryker-mutator/vitest-runner", "./test/mutation/type-check.ts"],
    checkers: ["types"],
    coverageAnalysis: "perTest",
    // Code that runs when a file is loaded (tables, expressions): no test alone covers it, so each of its mutants would need all tests in a
    // process of its own.
    ignoreStatic: true,
    // On a busy machine a slow run is not one that never ends.
    timeoutMS: 30_000,
    // Stryker would rewrite it with the compiler as a library, which TypeScript 7 is not. Nothing in it concerns a test.
    ignorePatterns: ["tsconfig.json"],
    tempDirName: sandbox,
    concurrency: jobs,
    reporters: ["progress-append-only", "json"],
    jsonReporter: { fileName: report },
  };
}
