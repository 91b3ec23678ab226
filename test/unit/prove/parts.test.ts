import { describe, expect, it } from "vitest";
import { isProven, PARTS, partsFor, summaryRows } from "../../prove/parts.ts";

const SCRIPTS = {
  crashes: "",
  simulate: "",
  "simulate:restart": "",
  "test:e2e": "",
  "test:e2e:long": "",
  wires: "",
  mutation: "",
  fuzz: "",
};
const ALL = PARTS.map(({ name }) => name);
const holds = (name: string) => ({ name, exitCode: 0, seconds: 1.4 });

describe("what is to be proven", () => {
  it.each([
    { name: "everything when nothing is named", asked: [], found: ALL },
    { name: "what is named", asked: ["mutants"], found: ["mutants"] },
    { name: "several, in an order of their own", asked: ["simulation", "crashes"], found: ["crashes", "simulation"] },
  ])("is $name", ({ asked, found }) => {
    expect(partsFor(asked, SCRIPTS).map(({ name }) => name)).toEqual(found);
  });

  it.each([
    {
      name: "a name that there is not",
      asked: ["crash"],
      scripts: SCRIPTS,
      says:
        "crashes, simulation, mutants, provisioner-mutants, worlds, provisioner-worlds, restart, nodes, affinity, failover, " +
        "certificates, wires, mutation, fuzz",
    },
    {
      name: "a part whose script is not there",
      asked: ["mutation"],
      scripts: { crashes: "" },
      says: "npm run mutation",
    },
    {
      name: "all when the script of one is not there",
      asked: [],
      scripts: { simulate: "", mutation: "" },
      says: "npm run crashes",
    },
  ])("is refused for $name", ({ asked, scripts, says }) => {
    expect(() => partsFor(asked, scripts)).toThrow(says);
  });
});

describe("the summary of a proof", () => {
  const parts = partsFor(["crashes", "mutants"], SCRIPTS);

  it.each([
    { name: "holds when every part does", outcomes: [holds("crashes"), holds("mutants")], proven: true },
    {
      name: "does not hold when one fails",
      outcomes: [holds("crashes"), { ...holds("mutants"), exitCode: 1 }],
      proven: false,
    },
    { name: "does not hold when one was not run", outcomes: [holds("crashes")], proven: false },
    {
      name: "does not hold when one was killed",
      outcomes: [{ ...holds("crashes"), exitCode: undefined }, holds("mutants")],
      proven: false,
    },
  ])("$name", ({ outcomes, proven }) => {
    expect(isProven(parts, outcomes)).toBe(proven);
  });

  it("has a row for each part, and says of one that was not run that it was not", () => {
    const rows = summaryRows(parts, [{ name: "crashes", exitCode: 1, seconds: 61.2 }]);

    expect(rows.slice(1).map((row) => row.slice(0, 3))).toEqual([
      ["crashes", "FAILED (exit code 1)", "61 s"],
      ["mutants", "NOT RUN", "-"],
    ]);
  });
});
