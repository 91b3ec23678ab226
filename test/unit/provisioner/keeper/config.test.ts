import { describe, expect, it } from "vitest";
import { type KeeperCommand, readKeeperCommand } from "../../../../provisioner/keeper/config.ts";

function read(...argv: readonly string[]): KeeperCommand {
  return readKeeperCommand({ argv, env: {} });
}

describe("readKeeperCommand", () => {
  it("has a default for all but the pools", () => {
    expect(read("--pool", "default=/pools/default")).toEqual({
      kind: "run",
      config: {
        pools: [{ name: "default", path: "/pools/default" }],
        reservePercent: 20,
        links: "/run/mooring/volumes",
        socket: "/run/keeper/keeper.sock",
        socketGroup: undefined,
        mountInfo: "/proc/1/mountinfo",
        podUid: undefined,
        metricsAddress: { host: "127.0.0.1", port: 9811 },
        logLevel: "info",
      },
    });
  });

  it("reads several pools, and paths written loosely", () => {
    const command = read("--pool", "fast=/pools//fast/,slow-2=/a=b", "--socket-group", "60873", "--reserve", "0");

    expect(command).toMatchObject({
      config: {
        pools: [
          { name: "fast", path: "/pools/fast" },
          { name: "slow-2", path: "/a=b" },
        ],
        socketGroup: 60873,
        reservePercent: 0,
      },
    });
  });

  it.each([
    { name: "no pool", argv: [], why: "--pool (or MOORING_POOL) is missing" },
    { name: "a pool without a path", argv: ["--pool", "fast"], why: 'has "fast", must be name=/path' },
    { name: "a pool with a bad name", argv: ["--pool", "Fast=/x"], why: 'has "Fast=/x"' },
    { name: "a name of 33 letters", argv: ["--pool", `${"x".repeat(33)}=/x`], why: "up to 32" },
    { name: "a relative path", argv: ["--pool", "fast=x"], why: "absolute path" },
    { name: "the root", argv: ["--pool", "fast=/"], why: "absolute path" },
    { name: "a path with ..", argv: ["--pool", "fast=/x/../etc"], why: "absolute path" },
    { name: "a comma at the end", argv: ["--pool", "fast=/x,"], why: 'has ""' },
    { name: "one name twice", argv: ["--pool", "a=/x,a=/y"], why: "two pools with the name a" },
    { name: "one path twice", argv: ["--pool", "a=/x,b=/x/"], why: "two pools with the path /x" },
    { name: "all of the disk in reserve", argv: ["--pool", "a=/x", "--reserve", "100"], why: "from 0 to 95" },
    {
      name: "to listen for the pod's network",
      argv: ["--pool", "a=/x", "--metrics-bind-address", ":9811"],
      why: "no loopback address",
    },
    { name: "a group by its name", argv: ["--pool", "a=/x", "--socket-group", "disk"], why: "number of a group" },
  ])("refuses $name", ({ argv, why }) => {
    expect(() => read(...argv)).toThrow(why);
  });

  it("prints every flag on demand", () => {
    const command = read("--help");

    expect(command).toEqual({ kind: "help", text: expect.stringMatching(/--pool .*--socket-group .*MOORING_/s) });
  });
});
