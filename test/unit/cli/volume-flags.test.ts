import { describe, expect, it } from "vitest";
import { readVolumesCommand } from "../../../cli/volume-flags.ts";

const defaults = {
  ...{ output: "table", context: undefined, kubeconfig: undefined },
  filter: { phases: [], classes: [], policies: [] },
  aggregator: { url: "http://127.0.0.1:9809", isExplicit: false },
};

describe("readVolumesCommand", () => {
  it.each([
    { name: "nothing means all volumes in a table", argv: [], flags: {} },
    { name: "-o json", argv: ["-o", "json"], flags: { output: "json" } },
    {
      name: "filters may be repeated, or have several values",
      argv: ["--phase", "Released", "Failed", "--class", "a", "--class", "b", "--reclaim-policy", "Retain"],
      flags: { filter: { phases: ["Released", "Failed"], classes: ["a", "b"], policies: ["Retain"] } },
    },
    { name: "no aggregator", argv: ["--aggregator", "none"], flags: { aggregator: undefined } },
  ])("$name", ({ argv, flags }) => {
    expect(readVolumesCommand({ argv, env: {} })).toEqual({ kind: "list", flags: { ...defaults, ...flags } });
  });

  it.each([
    { name: "a phase that there is not", argv: ["--phase", "Gone"] },
    { name: "a reclaim policy that there is not", argv: ["--reclaim-policy", "Keep"] },
    { name: "a namespace: volumes have none", argv: ["-n", "shop"] },
    { name: "anything else", argv: ["pv-1"] },
  ])("refuses $name", ({ argv }) => {
    expect(readVolumesCommand({ argv, env: {} })).toMatchObject({
      kind: "problem",
      text: expect.stringMatching(/^error: /),
    });
  });

  it("explains its columns", () => {
    const command = readVolumesCommand({ argv: ["--help"], env: {} });

    expect(command).toMatchObject({ kind: "help", text: expect.stringContaining("LAST USED") });
  });
});
