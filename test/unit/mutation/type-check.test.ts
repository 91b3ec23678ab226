import { describe, expect, it } from "vitest";
import { checkTypes, type Mutant, mutated } from "../../mutation/type-check.ts";

const root = new URL("../../../", import.meta.url).pathname;
const LINES = ["if (a) {", "  return 1;", "}", ""].join("\n");

function mutant(id: string, replacement: string, place: readonly [number, number, number, number]): Mutant {
  const [line, column, endLine, endColumn] = place;
  const location = { start: { line, column }, end: { line: endLine, column: endColumn } };
  return { id, fileName: `${root}agent/core/scan-pace.ts`, replacement, location };
}

describe("mutated", () => {
  it.each([
    { name: "in the first line", change: mutant("1", "true", [0, 4, 0, 5]), text: "if (true) {\n  return 1;\n}\n" },
    { name: "in another line", change: mutant("1", "2", [1, 9, 1, 10]), text: "if (a) {\n  return 2;\n}\n" },
    { name: "over lines", change: mutant("1", "{}", [0, 7, 2, 1]), text: "if (a) {}\n" },
  ])("changes a text $name", ({ change, text }) => {
    expect(mutated(LINES, change)).toBe(text);
  });
});

describe("checkTypes", () => {
  it("tells the changes that the compiler refuses from those that it takes", () => {
    // Two statements before the first line of the file.
    const verdicts = checkTypes(root, [
      mutant("taken", "export const nothing: number = 1;\n", [0, 0, 0, 0]),
      mutant("refused", 'export const nothing: number = "1";\n', [0, 0, 0, 0]),
      mutant("unused", "function nothing(one: number): void {}\n", [0, 0, 0, 0]),
    ]);

    expect(verdicts).toMatchObject({
      taken: { status: "passed" },
      refused: { status: "compileError", reason: expect.stringContaining("TS2322") },
      unused: { status: "passed" },
    });
  });
});
