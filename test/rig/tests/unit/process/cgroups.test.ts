import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { cgroupOf, hierarchiesIn, pidsIn } from "../../../process/cgroups.ts";
import { identify, systemProcessTable } from "../../../process/identity.ts";
import { createRunFolder } from "../../../process/run-folder.ts";
import { scratchFolder } from "./scratch.ts";

const table = systemProcessTable();

describe("hierarchiesIn", () => {
  it.each([
    {
      name: "a tree of the first version",
      line: "36 35 0:30 / /sys/fs/cgroup/memory rw,nosuid shared:9 - cgroup cgroup rw,memory",
      found: [{ mountPoint: "/sys/fs/cgroup/memory", version: 1, isCpuset: false }],
    },
    {
      name: "the tree that has processors and memory nodes",
      line: "37 35 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset",
      found: [{ mountPoint: "/sys/fs/cgroup/cpuset", version: 1, isCpuset: true }],
    },
    {
      name: "the tree of the second version",
      line: "38 35 0:32 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate",
      found: [{ mountPoint: "/sys/fs/cgroup", version: 2, isCpuset: false }],
    },
    { name: "the folder of the trees is none", line: "39 35 0:33 / /sys/fs/cgroup rw - tmpfs tmpfs rw", found: [] },
    { name: "an empty table has none", line: "", found: [] },
  ])("$name", ({ line, found }) => {
    expect(hierarchiesIn(line)).toEqual(found);
  });
});

describe("pidsIn", () => {
  it.each([
    { name: "each line is a process", text: "12\n34\n", pids: [12, 34] },
    { name: "a process of another pid namespace is left out, for 0 would mean ourselves", text: "0\n12\n", pids: [12] },
    { name: "an empty cgroup has none", text: "", pids: [] },
  ])("$name", ({ text, pids }) => {
    expect(pidsIn(text)).toEqual(pids);
  });
});

describe("cgroupOf", () => {
  it("is named after the run folder", () => {
    const folder = createRunFolder(scratchFolder(), table, process.pid);

    expect(cgroupOf(folder)).toMatch(/^mooring-\w{6}$/);
  });

  it("is in the outer run's for a run inside a run", () => {
    const outer = createRunFolder(scratchFolder(), table, process.pid);
    const inner = createRunFolder(outer, table, process.pid);

    expect(cgroupOf(inner)).toBe(join(cgroupOf(outer), cgroupOf(inner).split("/").at(-1) ?? ""));
    expect(cgroupOf(inner).split("/")).toHaveLength(2);
  });

  it("takes a folder that is only called like a run for none", () => {
    const alike = join(scratchFolder(), "mooring-dev");
    mkdirSync(alike);
    const folder = createRunFolder(alike, table, process.pid);

    expect(cgroupOf(folder)).not.toContain("/");
  });

  it("does not take a damaged record for a run", () => {
    const damaged = join(scratchFolder(), "mooring-abcdef");
    mkdirSync(damaged);
    writeFileSync(join(damaged, "owner.json"), JSON.stringify(identify(table, process.pid)).slice(1));

    expect(cgroupOf(join(damaged, "mooring-ghijkl"))).toBe("mooring-ghijkl");
  });
});
