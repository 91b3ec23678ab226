import { describe, expect, it } from "vitest";
import { readClaimsCommand } from "../../../cli/flags.ts";

const defaults = {
  namespace: undefined,
  allNamespaces: false,
  output: "table",
  context: undefined,
  kubeconfig: undefined,
};

describe("readClaimsCommand", () => {
  it.each([
    { name: "nothing means a table of the context's namespace", argv: [], flags: {} },
    { name: "-n names a namespace", argv: ["-n", "shop"], flags: { namespace: "shop" } },
    { name: "--namespace= does so, too", argv: ["--namespace=shop"], flags: { namespace: "shop" } },
    { name: "an empty namespace is none", argv: ["-n", ""], flags: {} },
    { name: "-A is all namespaces", argv: ["-A"], flags: { allNamespaces: true } },
    { name: "-o json", argv: ["-o", "json"], flags: { output: "json" } },
    { name: "-owide in one word", argv: ["-owide"], flags: { output: "wide" } },
    {
      name: "--context and --kubeconfig",
      argv: ["--context", "c", "--kubeconfig", "/k"],
      flags: { context: "c", kubeconfig: "/k" },
    },
  ])("$name", ({ argv, flags }) => {
    expect(readClaimsCommand(argv)).toEqual({ kind: "list", flags: { ...defaults, ...flags } });
  });

  it.each([
    { name: "an unknown flag", argv: ["--watch"], said: "unknown option '--watch'" },
    { name: "a mistyped flag with the right one", argv: ["--namespce", "a"], said: "Did you mean --namespace?" },
    { name: "a flag without its value", argv: ["-n"], said: "argument missing" },
    {
      name: "an unknown format with those there are",
      argv: ["-o", "yaml"],
      said: "Allowed choices are table, wide, json.",
    },
    { name: "a namespace that would change the request's path", argv: ["-n", "../pods"], said: "'../pods' is invalid" },
    { name: "a word that is no flag", argv: ["orders"], said: "too many arguments" },
  ])("names $name and where the flags are", ({ argv, said }) => {
    const command = readClaimsCommand(argv);

    expect(command).toMatchObject({ kind: "problem", text: expect.stringContaining(said) });
    expect(command).toMatchObject({ text: expect.stringContaining("Run with --help to see all flags.") });
  });

  it.each([{ flag: "-h" }, { flag: "--help" }])("helps with $flag in lines of at most 100 characters", ({ flag }) => {
    const command = readClaimsCommand([flag]);

    const text = command.kind === "help" ? command.text : "";
    expect(text).toContain("DISAGREES");
    expect(text.split("\n").filter((line) => line.length > 100)).toEqual([]);
  });
});
