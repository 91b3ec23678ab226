import { describe, expect, it } from "vitest";
import { readClaimsCommand } from "../../../cli/flags.ts";

const defaults = {
  namespace: undefined,
  allNamespaces: false,
  output: "table",
  context: undefined,
  kubeconfig: undefined,
  aggregator: { url: "http://127.0.0.1:9809", isExplicit: false },
};

describe("readClaimsCommand", () => {
  it.each([
    { name: "nothing means a table of the context's namespace", argv: [], flags: {} },
    { name: "-n names a namespace", argv: ["-n", "shop"], flags: { namespace: "shop" } },
    { name: "--namespace= does so, too", argv: ["--namespace=shop"], flags: { namespace: "shop" } },
    { name: "an empty namespace is none", argv: ["-n", ""], flags: {} },
    { name: "-A is all namespaces", argv: ["-A"], flags: { allNamespaces: true } },
    { name: "-o json", argv: ["-o", "json"], flags: { output: "json" } },
    { name: "-owide without a space", argv: ["-owide"], flags: { output: "wide" } },
    {
      name: "--context and --kubeconfig",
      argv: ["--context", "c", "--kubeconfig", "/k"],
      flags: { context: "c", kubeconfig: "/k" },
    },
  ])("$name", ({ argv, flags }) => {
    expect(readClaimsCommand({ argv, env: {} })).toEqual({ kind: "list", flags: { ...defaults, ...flags } });
  });

  it.each([
    { name: "one of a flag", argv: ["--aggregator", "http://a:1"], env: {}, url: "http://a:1" },
    { name: "one of the environment", argv: [], env: { MOORING_AGGREGATOR: "https://a/base/" }, url: "https://a/base" },
    {
      name: "that of the flag before that of the environment",
      argv: ["--aggregator=http://a:1"],
      env: { MOORING_AGGREGATOR: "http://b:1" },
      url: "http://a:1",
    },
  ])("takes for the aggregator $name", ({ argv, env, url }) => {
    expect(readClaimsCommand({ argv, env })).toMatchObject({ flags: { aggregator: { url, isExplicit: true } } });
  });

  it.each([
    { name: "the flag", argv: ["--aggregator", "none"], env: { MOORING_AGGREGATOR: "http://a:1" } },
    { name: "the environment", argv: [], env: { MOORING_AGGREGATOR: "none" } },
  ])("uses no aggregator when $name says none", ({ argv, env }) => {
    expect(readClaimsCommand({ argv, env })).toMatchObject({ kind: "list", flags: { aggregator: undefined } });
  });

  it.each([
    { name: "an empty flag", argv: ["--aggregator", ""], env: {} },
    { name: "an empty variable", argv: [], env: { MOORING_AGGREGATOR: "" } },
  ])("uses the default address with $name, as scripts pass unset variables", ({ argv, env }) => {
    expect(readClaimsCommand({ argv, env })).toEqual({ kind: "list", flags: defaults });
  });

  it.each([
    { name: "no URL", text: "127.0.0.1:9809" },
    { name: "another scheme", text: "ftp://a" },
    { name: "a password, which would be sent", text: "http://user:password@a" },
    { name: "a query", text: "http://a/?x=1" },
  ])("refuses for an aggregator $name, from wherever", ({ text }) => {
    const commands = [
      readClaimsCommand({ argv: ["--aggregator", text], env: {} }),
      readClaimsCommand({ argv: [], env: { MOORING_AGGREGATOR: text } }),
    ];

    const said = expect.stringContaining("An aggregator is a URL like http://127.0.0.1:9809");
    expect(commands).toMatchObject([
      { kind: "problem", text: said },
      { kind: "problem", text: said },
    ]);
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
    { name: "an argument that is no flag", argv: ["orders"], said: "too many arguments" },
  ])("names $name and where the flags are", ({ argv, said }) => {
    const command = readClaimsCommand({ argv, env: {} });

    expect(command).toMatchObject({ kind: "problem", text: expect.stringContaining(said) });
    expect(command).toMatchObject({ text: expect.stringContaining("Run with --help to see all flags.") });
  });

  it.each([{ flag: "-h" }, { flag: "--help" }])("helps with $flag in lines of at most 100 characters", ({ flag }) => {
    const command = readClaimsCommand({ argv: [flag], env: {} });

    const text = command.kind === "help" ? command.text : "";
    expect(text).toContain("STILL MOUNTED");
    expect(text.split("\n").filter((line) => line.length > 100)).toEqual([]);
  });
});
