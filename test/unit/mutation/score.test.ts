import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { EQUIVALENTS } from "../../mutation/equivalents.ts";
import { percentOf, scoreOf, scoreRows } from "../../mutation/score.ts";

const SOURCE = "function first(list) {\n  if (list.length > 0) {\n    return list[0];\n  }\n}\n";
const LENGTH = { start: { line: 2, column: 7 }, end: { line: 2, column: 22 } };
const BODY = { start: { line: 2, column: 24 }, end: { line: 4, column: 4 } };

function reportOf(
  ...mutants: readonly { readonly status: string; readonly replacement?: string; readonly location?: object }[]
): object {
  const all = mutants.map((mutant) => ({ mutatorName: "X", replacement: "true", location: LENGTH, ...mutant }));
  return { files: { "a/core/first.ts": { source: SOURCE, mutants: all } } };
}

describe("scoreOf", () => {
  it.each([
    { status: "Killed", counted: { killed: 1, refused: 0, ignored: 0, alive: 0 } },
    { status: "Timeout", counted: { killed: 1, refused: 0, ignored: 0, alive: 0 } },
    { status: "RuntimeError", counted: { killed: 1, refused: 0, ignored: 0, alive: 0 } },
    { status: "CompileError", counted: { killed: 0, refused: 1, ignored: 0, alive: 0 } },
    { status: "Ignored", counted: { killed: 0, refused: 0, ignored: 1, alive: 0 } },
    { status: "Survived", counted: { killed: 0, refused: 0, ignored: 0, alive: 1 } },
    { status: "NoCoverage", counted: { killed: 0, refused: 0, ignored: 0, alive: 1 } },
  ])("counts what is $status", ({ status, counted }) => {
    const { killed, refused, ignored, survivors } = scoreOf("a", reportOf({ status }));

    expect({ killed, refused, ignored, alive: survivors.length }).toEqual(counted);
  });

  it.each([
    {
      name: "within a line",
      mutant: { replacement: "false", location: LENGTH },
      survivor: { line: 2, before: "if (list.length > 0) {", after: "if (false) {" },
    },
    {
      name: "over several lines",
      mutant: { replacement: "{}", location: BODY },
      survivor: { line: 2, before: "if (list.length > 0) { return list[0]; }", after: "if (list.length > 0) {}" },
    },
  ])("shows a change $name before and after", ({ mutant, survivor }) => {
    const { survivors } = scoreOf("a", reportOf({ status: "Survived", ...mutant }));

    expect(survivors).toEqual([{ file: "a/core/first.ts", ...survivor }]);
  });

  it("tells those that are known to be equivalent from the others", () => {
    const known = { file: "a/core/first.ts", before: "if (list.length > 0) {", after: "if (true) {", why: "" };

    const score = scoreOf("a", reportOf({ status: "Survived" }, { status: "Survived", replacement: "false" }), [known]);

    expect([score.equivalent.length, score.survivors.length]).toEqual([1, 1]);
  });

  it("refuses a report that it does not understand", () => {
    expect(() => scoreOf("a", { mutants: [] })).toThrow();
  });
});

describe("percentOf", () => {
  const score = (...statuses: readonly string[]): ReturnType<typeof scoreOf> =>
    scoreOf("a", reportOf(...statuses.map((status) => ({ status }))));

  it.each([
    { name: "what was killed of what ran", statuses: ["Killed", "Killed", "Killed", "Survived"], percent: 75 },
    { name: "nothing of what did not run", statuses: ["Killed", "CompileError", "Ignored"], percent: 100 },
    { name: "0 when nothing ran: that shows nothing", statuses: ["Ignored"], percent: 0 },
  ])("is $name", ({ statuses, percent }) => {
    expect(percentOf([score(...statuses)])).toBe(percent);
  });

  it("counts an equivalent change as if it had survived", () => {
    const known = { file: "a/core/first.ts", before: "if (list.length > 0) {", after: "if (true) {", why: "" };

    expect(percentOf([scoreOf("a", reportOf({ status: "Survived" }, { status: "Killed" }), [known])])).toBe(50);
  });

  it("is of all mutants, not the mean of the parts", () => {
    const rows = scoreRows([score("Killed", "Killed", "Killed"), score("Survived")]);

    expect(rows.at(-1)?.slice(0, 4)).toEqual(["in all", "75.0 %", "3", "1"]);
  });
});

describe("the changes that are known to be equivalent", () => {
  it("are of lines that are there", () => {
    const gone = EQUIVALENTS.filter(({ file, before }) => {
      const source = readFileSync(new URL(`../../../${file}`, import.meta.url), "utf8");
      return !source.replace(/\s+/g, " ").includes(before);
    });

    expect(gone).toEqual([]);
  });
});
