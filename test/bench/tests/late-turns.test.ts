import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { expect, it } from "vitest";
import { ownLagP99, readLateTurns } from "../late-turns.ts";

/** Ten seconds are 500 turns: the five latest are above the limit of 99 %. */
const span = { fromMs: 1_000, toMs: 11_000 };

it.each([
  { name: "is the least that is noted where no turn was late", lines: [], lag: 10 },
  { name: "leaves out the time in which garbage was collected", lines: Array(6).fill("2000 90.0 75.0"), lag: 15 },
  { name: "is that of the sixth latest turn", lines: [30, 16, 17, 18, 19, 15].map((ms) => `2000 ${ms} 0.0`), lag: 15 },
  { name: "counts a blocked loop once for each turn that was due", lines: ["2000 115.0 0.0"], lag: 15 },
  { name: "leaves out turns of other times", lines: Array(6).fill("999 50.0 0.0"), lag: 10 },
])("the lag without garbage collection $name", ({ lines, lag }) => {
  const folder = mkdtempSync(`${tmpdir()}/late-turns-`);
  try {
    if (lines.length > 0) writeFileSync(`${folder}/turns`, lines.map((line) => `${line}\n`).join(""));

    expect(ownLagP99(readLateTurns(`${folder}/turns`), span)).toBeCloseTo(lag);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
