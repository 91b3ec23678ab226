import { describe, expect, it } from "vitest";
import { HELP, readFlags } from "../../demo/flags.ts";
import { HarnessError } from "../../rig/process/errors.ts";

const NOTHING = { node: false, provisioner: false, keep: false, help: false };

describe("readFlags", () => {
  it.each([
    { name: "the default is stand-in kubelets, and an end", argv: [], flags: NOTHING },
    { name: "--node means real nodes", argv: ["--node"], flags: { ...NOTHING, node: true } },
    { name: "--provisioner adds the provisioner", argv: ["--provisioner"], flags: { ...NOTHING, provisioner: true } },
    { name: "--keep leaves everything running", argv: ["--keep"], flags: { ...NOTHING, keep: true } },
    { name: "both flags combine", argv: ["--keep", "--node"], flags: { ...NOTHING, node: true, keep: true } },
    { name: "--help prints the usage", argv: ["--help"], flags: { ...NOTHING, help: true } },
  ])("$name", ({ argv, flags }) => {
    expect(readFlags(argv)).toEqual(flags);
  });

  it.each([
    { name: "an unknown flag", argv: ["--nodes"] },
    { name: "a value for a flag without one", argv: ["--node=2"] },
    { name: "a word", argv: ["node"] },
  ])("refuses $name in words that name it and the way to help", ({ argv: [given = ""] }) => {
    const read = (): unknown => readFlags([given]);

    expect(read).toThrow(HarnessError);
    expect(read).toThrow(given.replace("=2", ""));
    expect(read).toThrow("(--help lists the options)");
  });
});

describe("HELP", () => {
  it("names every flag", () => {
    for (const flag of Object.keys(NOTHING)) expect(HELP).toMatch(new RegExp(`^ {2}--${flag}(?: |$)`, "m"));
  });
});
