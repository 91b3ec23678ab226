import { describe, expect, it } from "vitest";
import { type Figure, figureMarkdown, figureRows } from "../../e2e/scenarios/figures.ts";
import type { FinalCondition } from "../../e2e/scenarios/verdict.ts";

const TRUTH = { afterMs: 10_000, byMs: 10_010, users: [] };
const unused: FinalCondition = { status: "True", reason: "Unmounted", sinceMs: 11_000, seenMs: 10_200, errorMs: 990 };
const early: FinalCondition = {
  status: "True",
  reason: "NoPodsUsingPVC",
  sinceMs: 9_000,
  seenMs: 9_800,
  errorMs: -1_000,
};

function figure({ final, wronglyUnusedAt }: Partial<Figure["verdict"]>, truth: Figure["truth"] = TRUTH): Figure {
  const nobody = { mooring: undefined, kubernetes: undefined };
  const verdict = {
    faults: [],
    final: final ?? nobody,
    wronglyUnusedAt: wronglyUnusedAt ?? nobody,
    lastUse: undefined,
    chances: {
      exact: { judged: 3, excused: {} },
      "never-unused-while-mounted": { judged: 2, excused: { "began just before the write": 1 } },
    },
  };
  return { scenario: "a volume", truth, verdict };
}

describe("figureRows", () => {
  it.each<{ name: string; found: Figure; cells: readonly string[] }>([
    {
      name: "a right and a wrong time",
      found: figure({
        final: { mooring: unused, kubernetes: early },
        wronglyUnusedAt: { mooring: undefined, kubernetes: 9_800 },
      }),
      cells: ["00:00:10.010", "00:00:11", "+0.99 s", "00:00:09", "-1.00 s; wrongly unused at 00:00:09.800"],
    },
    {
      name: "a missing condition",
      found: figure({ final: { mooring: unused, kubernetes: undefined } }),
      cells: ["00:00:10.010", "00:00:11", "+0.99 s", "-", "-"],
    },
    {
      name: "a condition that is gone, and was wrong",
      found: figure({ wronglyUnusedAt: { mooring: undefined, kubernetes: 9_800 } }),
      cells: ["00:00:10.010", "-", "-", "-", "wrongly unused at 00:00:09.800"],
    },
    {
      name: "a claim that counts as used",
      found: figure({
        final: { mooring: { ...unused, status: "False", errorMs: undefined }, kubernetes: undefined },
      }),
      cells: ["00:00:10.010", "in use", "-", "-", "-"],
    },
    {
      name: "a claim that was never used",
      found: {
        ...figure({ final: { mooring: { ...unused, errorMs: undefined }, kubernetes: undefined } }),
        truth: undefined,
      },
      cells: ["-", "00:00:11", "-", "-", "-"],
    },
  ])("shows $name", ({ found, cells }) => {
    const [, row] = figureRows([found]);

    expect(row).toEqual(["a volume", ...cells, "5, 1 excused"]);
  });
});

describe("figureMarkdown", () => {
  it("is a table with a head", () => {
    const lines = figureMarkdown([figure({ final: { mooring: unused, kubernetes: undefined } })]).split("\n");

    expect(lines).toHaveLength(4);
    expect(lines[1]).toBe("| --- | --- | --- | --- | --- | --- | --- |");
    expect(lines[2]).toBe("| a volume | 00:00:10.010 | 00:00:11 | +0.99 s | - | - | 5, 1 excused |");
  });
});
