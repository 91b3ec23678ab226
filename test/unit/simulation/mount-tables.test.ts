import { describe, expect, it } from "vitest";
import { createDice } from "../../simulation/world/dice.ts";
import { MountTable } from "../../simulation/world/mount-table.ts";
import { type KernelKind, type ReadDamage, readTable } from "../../simulation/world/table-read.ts";

const ROOT = "/var/lib/kubelet";
const POINT = `${ROOT}/pods/u1/volumes/kubernetes.io~csi/pv-1/mount`;

interface World {
  readonly table: MountTable;
  readonly pass: (ms: number) => void;
  readonly read: (options?: {
    readonly kernel?: KernelKind;
    readonly windowMs?: number;
    readonly damage?: ReadDamage;
  }) => string | undefined;
}

function newTable(): World {
  let now = 0;
  const table = new MountTable(() => now);
  const dice = createDice(1);
  table.mount({ point: "/" });
  return {
    table,
    pass: (ms) => {
      now += ms;
    },
    read: ({ kernel = "stable-cursor", windowMs = 1, damage } = {}) =>
      readTable(table, { kernel, dice, windowMs, damage, root: ROOT }),
  };
}

describe("a simulated kernel's mount table", () => {
  it("has a line for each stacked mount, and unmounts the upper one first", () => {
    const { table, read } = newTable();
    table.mount({ point: POINT, device: "8:16" });
    table.mount({ point: POINT, device: "8:32" });
    const both = read() ?? "";

    table.unmount(POINT);

    expect(both.split("\n").filter((line) => line.includes(POINT))).toHaveLength(2);
    expect(table.all.filter(({ point }) => point === POINT).map(({ device }) => device)).toEqual(["8:16"]);
  });

  it("escapes characters that would end a field", () => {
    const { table, read } = newTable();

    table.mount({ point: "/data/kube let\\x" });

    expect(read()).toContain(" /data/kube\\040let\\134x ");
  });

  it("reuses an ID", () => {
    const { table } = newTable();
    table.mount({ point: "/a" });
    const [, first] = table.all;
    table.unmount("/a");

    table.mount({ point: "/b" });

    expect(table.all[1]?.id).toBe(first?.id);
  });

  it.each<{
    readonly name: string;
    readonly kernel: KernelKind;
    readonly waitMs: number;
    readonly shown: readonly boolean[];
  }>([
    {
      name: "may still show what was unmounted during the scan",
      kernel: "stable-cursor",
      waitMs: 0,
      shown: [true, false],
    },
    {
      name: "does not show what was unmounted before the scan",
      kernel: "stable-cursor",
      waitMs: 10,
      shown: [false],
    },
  ])("$name", ({ kernel, waitMs, shown }) => {
    const seen = new Set<boolean>();
    for (let times = 0; times < 40; times += 1) {
      const { table, pass, read } = newTable();
      table.mount({ point: POINT });
      table.unmount(POINT);
      pass(waitMs);
      for (let reads = 0; reads <= times; reads += 1) seen.add(read({ kernel, windowMs: 5 })?.includes(POINT) ?? false);
    }

    expect([...seen].toSorted().toReversed()).toEqual(shown);
  });

  it("may drop the line after an unmount on a kernel that counts lines", () => {
    const { table, read } = newTable();
    table.mount({ point: "/other" });
    table.mount({ point: POINT });

    table.unmount("/other");

    const reads = Array.from({ length: 40 }, () => read({ kernel: "line-count", windowMs: 5 })?.includes(POINT));
    expect(new Set(reads)).toEqual(new Set([true, false]));
  });

  it("does not show the kubelet's mounts in another namespace", () => {
    const { table, read } = newTable();

    table.mount({ point: POINT });

    expect(read({ damage: "foreign" })).not.toContain(ROOT);
  });
});
