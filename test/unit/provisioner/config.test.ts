import { describe, expect, it } from "vitest";
import { readProvisionerCommand } from "../../../provisioner/config.ts";

function read(...argv: readonly string[]) {
  return readProvisionerCommand({ argv, env: {} });
}

describe("readProvisionerCommand", () => {
  it("needs no more than the node's name", () => {
    expect(read("--node", "n1")).toEqual({
      kind: "run",
      config: {
        ...{ node: "n1", socket: "/run/keeper/keeper.sock", kubeconfig: undefined, capacity: true },
        ...{ namespace: "mooring-provisioner", metricsAddress: { host: "127.0.0.1", port: 9812 } },
        ...{ debugAddress: { host: "127.0.0.1", port: 9813 }, logLevel: "info" },
      },
    });
  });

  it.each([
    { argv: [], problem: "--node is missing" },
    { argv: ["--node", "N 1"], problem: '--node "N 1" is no name of a node' },
    { argv: ["--node", "n".repeat(64)], problem: "has more than the 63 characters that a label can hold" },
    { argv: ["--node", "n1", "--namespace", "../x"], problem: '--namespace "../x" is no name of a namespace' },
    { argv: ["--node", "n1", "--capacity", "maybe"], problem: "must be one of on, off" },
    {
      argv: ["--node", "n1", "--debug-bind-address", ":9813"],
      problem: "--debug-bind-address of every address is no loopback",
    },
    { argv: ["--node", "n1", "--pools", "a"], problem: "unknown flag --pools" },
  ])("reports what is wrong with $argv", ({ argv, problem }) => {
    expect(() => read(...argv)).toThrow(problem);
  });

  it("explains its flags", () => {
    expect(read("--help")).toMatchObject({ kind: "help", text: expect.stringContaining("--socket") });
  });
});
