import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createNodeFacts, type KernelPaths } from "../../../../agent/sources/node-facts.ts";
import { createFakeClock, eventually } from "../../../fakes/clock.ts";
import { formatMountLine } from "../../../fakes/mount-table.ts";

const never = new AbortController().signal;
const NODE = formatMountLine({ mountPoint: "/", mountId: 22 });
const CONTAINER = formatMountLine({ mountPoint: "/", mountId: 522, fsType: "overlay" });

const FILES = {
  mountInfo: NODE + formatMountLine({ mountPoint: "/sys/fs/cgroup", fsType: "cgroup2", mountId: 30 }),
  ownMountInfo: NODE,
  bootId: "2580be93-546d-4fa5-bbe7-10ad19d8fba4\n",
  stat: "cpu  1 2 3\nbtime 1789000000\nprocesses 7\n",
  filesystems: "nodev\tsysfs\nnodev\tselinuxfs\n\text4\n",
  apparmor: "Y\n",
};

/** Files like the kernel's; those that are undefined do not exist. */
function kernel(change: Partial<Record<keyof typeof FILES, string | undefined>> = {}): KernelPaths {
  const folder = mkdtempSync(join(tmpdir(), "kernel-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries({ ...FILES, ...change })) {
    if (text !== undefined) writeFileSync(join(folder, name), text);
  }
  const at = (name: keyof typeof FILES): string => join(folder, name);
  return {
    mountInfo: at("mountInfo"),
    ownMountInfo: at("ownMountInfo"),
    bootId: at("bootId"),
    stat: at("stat"),
    filesystems: at("filesystems"),
    apparmor: at("apparmor"),
  };
}

const debian = async (): Promise<string> => "Debian GNU/Linux 12";

describe("the facts about a node", () => {
  it("are kernel, distribution, cgroup version, security modules, mount namespace and boot", async () => {
    const source = createNodeFacts(kernel(), { clock: createFakeClock(), osInfo: debian });

    const { facts, bootId, bootedAt } = await source.read(never);

    expect(facts).toEqual({
      kernel: expect.stringMatching(/^\d+\.\d+/),
      architecture: process.arch,
      distribution: "Debian GNU/Linux 12",
      containerRuntime: undefined,
      cgroup: "v2",
      selinux: true,
      apparmor: true,
      mountNamespace: "own",
    });
    expect([bootId, bootedAt]).toEqual(["2580be93-546d-4fa5-bbe7-10ad19d8fba4", "2026-09-10T00:26:40Z"]);
  });

  it("are missing without a failure where nothing can be read", async () => {
    const nothing = Object.fromEntries(Object.keys(FILES).map((name) => [name, undefined]));
    const source = createNodeFacts(kernel(nothing), { clock: createFakeClock(), osInfo: debian });

    const { facts, bootId, bootedAt } = await source.read(never);

    expect(Object.entries({ ...facts, bootId, bootedAt }).filter(([, value]) => value !== undefined)).toEqual([
      ["kernel", expect.any(String)],
      ["architecture", expect.any(String)],
    ]);
  });

  it.each([
    {
      name: "SELinux that is not in the kernel or off",
      change: { filesystems: "nodev\tsysfs\n" },
      fact: { selinux: false },
    },
    { name: "AppArmor that is off", change: { apparmor: "N\n" }, fact: { apparmor: false } },
    { name: "AppArmor that is not in the kernel", change: { apparmor: undefined }, fact: { apparmor: false } },
    {
      name: "a mount table of another namespace",
      change: { ownMountInfo: CONTAINER },
      fact: { mountNamespace: "other" },
    },
  ])("include $name", async ({ change, fact }) => {
    const source = createNodeFacts(kernel(change), { clock: createFakeClock(), osInfo: debian });

    expect((await source.read(never)).facts).toMatchObject(fact);
  });

  it("do not take a container's distribution for the node's", async () => {
    let requests = 0;
    const osInfo = async (): Promise<string> => {
      requests += 1;
      return "Alpine Linux 3.22";
    };
    const source = createNodeFacts(kernel({ ownMountInfo: CONTAINER }), { clock: createFakeClock(), osInfo });

    const { facts } = await source.read(never);

    expect([facts.distribution, requests]).toEqual([undefined, 0]);
  });

  it.each([
    { name: "too long", text: "x".repeat(129) },
    { name: "not printable", text: "Evil \u001b[2J Linux" },
    { name: "empty", text: " " },
    { name: "unknown", text: undefined },
  ])("leave out a distribution whose name is $name", async ({ text }) => {
    const source = createNodeFacts(kernel(), { clock: createFakeClock(), osInfo: async () => text });

    expect((await source.read(never)).facts.distribution).toBeUndefined();
  });

  it("wait five seconds at most for tools that hang", async () => {
    const clock = createFakeClock();
    let isEnded = false;
    const osInfo = (signal: AbortSignal): Promise<undefined> =>
      new Promise((resolve) => {
        signal.addEventListener("abort", () => {
          isEnded = true;
          resolve(undefined);
        });
      });

    const reading = createNodeFacts(kernel(), { clock, osInfo }).read(never);
    await eventually(() => clock.sleeps().length > 0);
    await clock.advance(4_999);
    const before = isEnded;
    await clock.advance(1);
    const { facts } = await reading;

    expect([before, isEnded]).toEqual([false, true]);
    expect(facts).toMatchObject({ distribution: undefined, cgroup: "v2" });
  });
});
