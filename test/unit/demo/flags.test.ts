import { describe, expect, it } from "vitest";
import { HELP, readFlags } from "../../demo/flags.ts";
import { HarnessError } from "../../rig/process/errors.ts";

const NOTHING = { node: false, provisioner: false, keep: false, help: false };

describe("readFlags", () => {
  it.each([
    { name: "nothing means kubelets that are stood in for, and an end", argv: [], flags: NOTHING },
    { name: "--node means real nodes", argv: ["--node"], flags: { ...NOTHING, node: true } },
    { name: "--provisioner brings it, too", argv: ["--provisioner"], flags: { ...NOTHING, provisioner: true } },
    { name: "--keep leaves all running", argv: ["--keep"], flags: { ...NOTHING, keep: true } },
    { name: "both go together", argv: ["--keep", "--node"], flags: { ...NOTHING, node: true, keep: true } },
    { name: "--help asks for the text", argv: ["--help"], flags: { ...NOTHING, help: true } },
  ])("$name", ({ argv, flags }) => {
    expect(readFlags(argv)).toEqual(flags);
  });

  it.each([
    { name: "a flag that is none", argv: ["--nodes"] },
    { name: "a value where none belongs", argv: ["--node=2"] },
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
