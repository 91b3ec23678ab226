import { globSync, readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { fileURLToPath } from "node:url";
import { tokenizer } from "acorn";
import { beforeAll, describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));

interface Pattern {
  readonly source: string;
  readonly flags: string;
}

/** The regular expressions that stand in a program. */
function patternsIn(program: string): readonly Pattern[] {
  const plain = stripTypeScriptTypes(program);
  return [...tokenizer(plain, { ecmaVersion: "latest", sourceType: "module" })].flatMap(({ type, start, end }) => {
    if (type.label !== "regexp") return [];
    const text = plain.slice(start, end);
    return [{ source: text.slice(1, text.lastIndexOf("/")), flags: text.slice(text.lastIndexOf("/") + 1) }];
  });
}

const rows = globSync("{agent,aggregator,common,cli}/**/*.ts", { cwd: root })
  .sort()
  .flatMap((file) => patternsIn(readFileSync(`${root}${file}`, "utf8")).map((pattern) => ({ file, ...pattern })));

/** How much the checker tries: it takes seconds, not minutes. By default clocks limit it, too, which a busy machine runs into. */
const LIMITS = {
  maxNFASize: 2_000,
  maxPatternSize: 1_500,
  maxIteration: 10,
  incubationLimit: 5_000,
  attackLimit: 100_000,
  attackTimeout: null,
  incubationTimeout: null,
  seedingTimeout: null,
};

/** What the checker finds: `safe`, or how the work grows with the length of a text that it made for it. */
async function growthOf({ source, flags }: Pattern): Promise<string> {
  const { check } = await import("recheck");
  // What is too large to be proven is tried with texts that are made for it: the same ones each time.
  const found = await check(source, flags, { timeout: 240_000, randomSeed: 1, ...LIMITS });
  return found.status === "safe" ? "safe" : JSON.stringify(found);
}

// In this process, and not by a program of its own.
beforeAll(() => {
  process.env.RECHECK_BACKEND = "pure";
});

describe("regular expressions", () => {
  it.each([
    { name: "tries each start position again", source: "[\\w-]*token=", flags: "" },
    { name: "can divide a text in many ways", source: "^(a+)+$", flags: "" },
  ])("one that $name is found", async ({ source, flags }) => {
    expect(await growthOf({ source, flags })).toContain("vulnerable");
  });

  it("are found in a program, and divisions and comments are not", () => {
    const program = "const a: number = 4 / 2 / 1; // a /b/ c\nexport const c = /d[/]e/giu;";

    expect(patternsIn(program)).toEqual([{ source: "d[/]e", flags: "giu" }]);
  });

  it.each(rows)("$file: /$source/$flags takes time in proportion to the text", async (row) => {
    expect(await growthOf(row)).toBe("safe");
  });
});
