import { spawnSync } from "node:child_process";
import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Clock } from "../../../common/runtime/clock.ts";
import { cgroupOf, removeCgroups, removeCgroupsNow } from "./cgroups.ts";
import { codeOf } from "./errors.ts";
import { type Judgement, judge, type ProcessIdentity, type ProcessTable, pidsWithEnvironment } from "./identity.ts";
import {
  detachLoops,
  isOfGoneRun,
  isOfRun,
  type LoopDevice,
  listLoops,
  shownFiles,
  withDependents,
} from "./loop-devices.ts";
import { childrenOf, ownerOf, RUN_PREFIX, RUN_VARIABLE, removeRunFolder, UNFINISHED_PREFIX } from "./run-folder.ts";
import { startLimit } from "./starvation.ts";

/** An unfinished run folder belongs to a process that was killed within its first moments, once it is this old. */
const UNFINISHED_LIMIT_MS = 60_000;
const KILL_LIMIT_MS = 5_000;
const BLOCK_LIMIT_MS = 1_000;

/** What a sweep looks at and speaks to. */
export interface Sweep {
  /** The folder that holds the run folders. */
  readonly parent: string;
  readonly table: ProcessTable;
  readonly clock: Clock;
  readonly say: (line: string) => void;
}

/** Whether a run folder was left behind by a run that is over. `owner` is nothing when none is recorded. */
export function isAbandoned(owner: Judgement | undefined, ageMs: number): boolean {
  return owner === undefined ? ageMs > UNFINISHED_LIMIT_MS : owner === "dead";
}

/** Ends the processes and removes the mounts, loop devices and folders of runs whose owner is dead; returns the removed folders. */
export async function sweepRunFolders(sweep: Sweep): Promise<readonly string[]> {
  const removed: string[] = [];
  for (const folder of ownFolders(sweep.parent)) {
    if (!isLeftBehind(sweep, folder)) continue;
    if (await endRun(sweep, folder)) removed.push(folder);
  }
  // What was still in use when the folder went.
  giveBackLoops((loop) => isOfGoneRun(loop, sweep.parent));
  return removed;
}

/** Ends what is left of the run in `folder`: processes, cgroups, loop devices, mounts, the folder. False when something stays, and the folder with it. */
export async function endRun(sweep: Sweep, folder: string): Promise<boolean> {
  await endProcesses(sweep, folder);
  const isFree = await removeCgroups(sweep.clock, cgroupOf(folder));
  if (!isFree) sweep.say(`${folder} stays: its cgroups are still in use`);
  giveBackLoops((loop) => isOfRun(loop, folder));
  if (!unmountBelow(sweep, folder) || !isFree) return false;
  removeRunFolder(folder);
  return true;
}

/** The same for a process that is about to exit: it blocks, at most a second for the processes and one for the cgroups. */
export function endRunNow(sweep: Sweep, folder: string): void {
  endProcessesNow(sweep, folder);
  const isFree = removeCgroupsNow(sweep.clock, cgroupOf(folder));
  giveBackLoops((loop) => isOfRun(loop, folder));
  if (unmountBelow(sweep, folder) && isFree) removeRunFolder(folder);
}

/** Kills what still runs of the run in `folder`, and waits until it is gone (at most 5 s). */
async function endProcesses({ table, clock, say }: Sweep, folder: string): Promise<void> {
  const isOver = startLimit(KILL_LIMIT_MS, { clock });
  for (;;) {
    const pids = runningOf(table, folder);
    if (pids.length === 0) return;
    if (isOver()) return say(`processes ${pids.join(", ")} of ${folder} do not end`);
    for (const pid of pids) kill(pid);
    await clock.sleep(20);
  }
}

/** The same without waiting for anything else: it blocks (at most 1 s). */
function endProcessesNow({ table, clock }: Sweep, folder: string): void {
  const until = clock.monotonicMs() + BLOCK_LIMIT_MS;
  const cell = new Int32Array(new SharedArrayBuffer(4));
  for (let pids = runningOf(table, folder); pids.length > 0; pids = runningOf(table, folder)) {
    for (const pid of pids) kill(pid);
    if (clock.monotonicMs() > until) return;
    Atomics.wait(cell, 0, 0, 5);
  }
}

/** Gives back loop devices, and those upon them. Nobody but root has made any. */
function giveBackLoops(isOurs: (device: Pick<LoopDevice, "file">) => boolean): void {
  if (process.getuid?.() === 0 && shownFiles().some(isOurs)) detachLoops(withDependents(listLoops(), isOurs));
}

/** Unmounts whatever is mounted below `folder`, so that removing it never reaches into a mount; false when one remains. */
function unmountBelow({ say }: Pick<Sweep, "say">, folder: string): boolean {
  // Deepest first: a later line of the mount table lies on an earlier one.
  for (const mountPoint of mountPointsBelow(folder).toReversed()) spawnSync("umount", ["--lazy", mountPoint]);
  const remaining = mountPointsBelow(folder);
  if (remaining.length > 0) say(`${folder} stays: ${remaining.join(", ")} cannot be unmounted`);
  return remaining.length === 0;
}

/** The mount points below `folder` in the text of a mountinfo file, in its order. */
export function mountPointsIn(mountInfo: string, folder: string): readonly string[] {
  return mountInfo
    .split("\n")
    .map((line) => unescapeOctal(line.split(" ")[4] ?? ""))
    .filter((mountPoint) => mountPoint.startsWith(`${folder}/`));
}

function mountPointsBelow(folder: string): readonly string[] {
  return mountPointsIn(readFileSync("/proc/self/mountinfo", "utf8"), folder);
}

function unescapeOctal(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

/** Folders of other users are none of ours: what they record must not make this user's processes end. */
function ownFolders(parent: string): readonly string[] {
  return readdirSync(parent)
    .filter((name) => name.startsWith(RUN_PREFIX) || name.startsWith(UNFINISHED_PREFIX))
    .map((name) => join(parent, name))
    .filter((folder) => {
      const stat = lstatSync(folder, { throwIfNoEntry: false });
      return stat?.isDirectory() === true && stat.uid === process.getuid?.();
    });
}

function isLeftBehind({ table, clock }: Sweep, folder: string): boolean {
  const stat = lstatSync(folder, { throwIfNoEntry: false });
  const owner = ownerOf(folder);
  return (
    stat !== undefined &&
    // A finished run folder always has its owner: without one it is somebody's folder that is only called like ours.
    (owner !== undefined || isUnfinished(folder)) &&
    isAbandoned(owner === undefined ? undefined : judge(table, owner), clock.wallMs() - stat.mtimeMs)
  );
}

/** A folder as `createRunFolder` leaves it when it is killed: named by `mkdtemp`, with nothing but the owner's record. */
function isUnfinished(folder: string): boolean {
  const isNamedSo = /^[A-Za-z0-9]{6}$/.test(basename(folder).slice(UNFINISHED_PREFIX.length));
  return (
    basename(folder).startsWith(UNFINISHED_PREFIX) &&
    isNamedSo &&
    namesIn(folder).every((name) => name === "owner.json")
  );
}

/** None where its run finished it, which renames it, or removed it in this moment. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  }
}

function runningOf(table: ProcessTable, folder: string): readonly number[] {
  const recorded = childrenOf(folder).filter((child: ProcessIdentity) => judge(table, child) === "alive");
  return [...new Set([...recorded.map(({ pid }) => pid), ...pidsWithEnvironment(RUN_VARIABLE, folder)])];
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It ended by itself since it was looked at.
  }
}
