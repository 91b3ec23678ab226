import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createSystemClock } from "../../../../../common/runtime/clock.ts";
import { identify, type ProcessIdentity, systemProcessTable } from "../../../process/identity.ts";
import { createRunFolder, recordChild } from "../../../process/run-folder.ts";
import { isAbandoned, mountPointsIn, sweepRunFolders } from "../../../process/sweep.ts";
import { scratchFolder } from "./scratch.ts";

const table = systemProcessTable();
const clock = createSystemClock();

describe("isAbandoned", () => {
  it.each([
    { name: "a dead owner left its folder behind", owner: "dead", ageMs: 0, abandoned: true },
    { name: "a live owner still uses its folder", owner: "alive", ageMs: 1e9, abandoned: false },
    { name: "an owner of unknown state keeps its folder", owner: "unknown", ageMs: 1e9, abandoned: false },
    { name: "a folder that is being made has no owner yet", owner: undefined, ageMs: 1000, abandoned: false },
    { name: "an old folder without an owner is removed", owner: undefined, ageMs: 61_000, abandoned: true },
  ] as const)("$name", ({ owner, ageMs, abandoned }) => {
    expect(isAbandoned(owner, ageMs)).toBe(abandoned);
  });
});

describe("mountPointsIn", () => {
  const line = (mountPoint: string): string => `36 35 98:0 / ${mountPoint} rw,noatime - ext3 /dev/root rw`;

  it.each([
    { name: "a mount below the folder counts", mounts: ["/run/a/data"], found: ["/run/a/data"] },
    { name: "a folder of a longer name is another one", mounts: ["/run/ab/data"], found: [] },
    { name: "escaped characters are resolved", mounts: ["/run/a/my\\040data"], found: ["/run/a/my data"] },
    { name: "the order is kept", mounts: ["/run/a/x", "/", "/run/a/x/y"], found: ["/run/a/x", "/run/a/x/y"] },
    { name: "an empty table has none", mounts: [], found: [] },
  ])("$name", ({ mounts, found }) => {
    expect(mountPointsIn(mounts.map(line).join("\n"), "/run/a")).toEqual(found);
  });
});

function deadOwner(): ProcessIdentity {
  return { pid: process.pid, startTicks: 1, bootId: table.bootId, pidNamespace: table.pidNamespace };
}

function folderOf(parent: string, name: string, owner: ProcessIdentity | undefined): string {
  const folder = join(parent, name);
  mkdirSync(folder);
  writeFileSync(join(folder, "owner.json"), JSON.stringify(owner) ?? "");
  return folder;
}

function sweep(parent: string): Promise<readonly string[]> {
  return sweepRunFolders({ parent, table, clock, say: () => {} });
}

/** A program that runs until it is ended, and how it ended. */
function startSleeper(env: NodeJS.ProcessEnv = {}): {
  readonly identity: ProcessIdentity;
  readonly ended: Promise<NodeJS.Signals | null>;
} {
  const child = spawn("sleep", ["60"], { stdio: "ignore", env: { ...process.env, ...env } });
  onTestFinished(() => void child.kill("SIGKILL"));
  const identity = identify(table, child.pid ?? -1);
  if (identity === undefined) throw new Error("sleep does not run");
  return { identity, ended: new Promise((resolve) => child.once("exit", (_, signal) => resolve(signal))) };
}

describe("sweepRunFolders", () => {
  it("removes the folder of a dead owner and leaves that of a live one", async () => {
    const parent = scratchFolder();
    const live = createRunFolder(parent, table, process.pid);
    const dead = folderOf(parent, "mooring-dead", deadOwner());

    const removed = await sweep(parent);

    expect(removed).toEqual([dead]);
    expect(existsSync(live)).toBe(true);
    expect(existsSync(dead)).toBe(false);
  });

  it("leaves files and folders of other names alone", async () => {
    const parent = scratchFolder();
    folderOf(parent, "other-dead", deadOwner());
    writeFileSync(join(parent, "mooring-file"), "");

    await sweep(parent);

    expect(readdirSync(parent).sort()).toEqual(["mooring-file", "other-dead"]);
  });

  it("ends a recorded process that is still the same", async () => {
    const parent = scratchFolder();
    const sleeper = startSleeper();
    recordChild(folderOf(parent, "mooring-dead", deadOwner()), sleeper.identity);

    await sweep(parent);

    expect(await sleeper.ended).toBe("SIGKILL");
  });

  it("spares a process that has the id of a recorded one", async () => {
    const parent = scratchFolder();
    const { identity } = startSleeper();
    recordChild(folderOf(parent, "mooring-dead", deadOwner()), { ...identity, startTicks: identity.startTicks - 1 });

    await sweep(parent);

    expect(identify(table, identity.pid)).toEqual(identity);
  });

  it.each([
    { name: "ends a process that was never recorded but carries the run in its environment", run: "" },
    { name: "ends a process of a run inside the run", run: "/mooring-inner" },
  ])("$name", async ({ run }) => {
    const parent = scratchFolder();
    const folder = folderOf(parent, "mooring-dead", deadOwner());
    const sleeper = startSleeper({ MOORING_RUN: `${folder}${run}` });

    await sweep(parent);

    expect(await sleeper.ended).toBe("SIGKILL");
  });

  it("spares a process of a run whose folder has a longer name", async () => {
    const parent = scratchFolder();
    const folder = folderOf(parent, "mooring-dead", deadOwner());
    const { identity } = startSleeper({ MOORING_RUN: `${folder}er` });

    await sweep(parent);

    expect(identify(table, identity.pid)).toEqual(identity);
  });

  it.each([
    {
      name: "a foreign folder with a similar name stays",
      folder: "mooring-clone",
      ageSeconds: 86_400,
      stays: true,
    },
    {
      name: "an old run folder that never got an owner goes",
      folder: ".mooring-aB3xY9",
      ageSeconds: 120,
      stays: false,
    },
    { name: "a young run folder that has no owner yet stays", folder: ".mooring-aB3xY9", ageSeconds: 1, stays: true },
    { name: "a foreign hidden folder stays", folder: ".mooring-settings", ageSeconds: 86_400, stays: true },
  ])("$name", async ({ folder: name, ageSeconds, stays }) => {
    const parent = scratchFolder();
    const folder = folderOf(parent, name, undefined);
    const at = clock.wallMs() / 1000 - ageSeconds;
    utimesSync(folder, at, at);

    await sweep(parent);

    expect(readdirSync(parent)).toEqual(stays ? [name] : []);
  });

  it("keeps a hidden folder that contains anything but its owner's record", async () => {
    const parent = scratchFolder();
    const folder = folderOf(parent, ".mooring-aB3xY9", undefined);
    writeFileSync(join(folder, "notes.txt"), "mine");
    const at = clock.wallMs() / 1000 - 86_400;
    utimesSync(folder, at, at);

    await sweep(parent);

    expect(readdirSync(folder)).toContain("notes.txt");
  });
});
