import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Clock } from "../../../common/runtime/clock.ts";
import { codeOf } from "./errors.ts";
import { ownerOf } from "./run-folder.ts";
import { startLimit } from "./starvation.ts";

const REMOVE_LIMIT_MS = 5_000;
const BLOCK_LIMIT_MS = 1_000;
/** What kubelet asks of the second version of cgroups. */
const CONTROLLERS = ["cpu", "cpuset", "io", "memory", "pids"];

/** A mounted tree of cgroups: of the second version, or of the first with its controllers. */
export interface Hierarchy {
  readonly mountPoint: string;
  readonly version: 1 | 2;
  readonly isCpuset: boolean;
}

/** The trees of cgroups in the text of a mountinfo file. */
export function hierarchiesIn(mountInfo: string): readonly Hierarchy[] {
  return mountInfo.split("\n").flatMap((line) => {
    const [before = "", after = ""] = line.split(" - ");
    const [type = "", , options = ""] = after.split(" ");
    const mountPoint = before.split(" ")[4];
    if (mountPoint === undefined || !["cgroup", "cgroup2"].includes(type)) return [];
    return [
      { mountPoint, version: type === "cgroup" ? 1 : 2, isCpuset: options.split(",").includes("cpuset") } as const,
    ];
  });
}

/**
 * The cgroup of a run, relative to the root of each tree. It is named after the run folder, and a run inside a run has its
 * own in the outer one's, so that a sweep finds all of them by the folder alone.
 */
export function cgroupOf(folder: string): string {
  const parent = dirname(folder);
  return ownerOf(parent) === undefined ? basename(folder) : join(cgroupOf(parent), basename(folder));
}

/** Makes a cgroup of the run in `folder` in every tree, usable by a container runtime; returns its path: `/mooring-x/name`. */
export function createCgroup(folder: string, name: string): string {
  const path = join(cgroupOf(folder), name);
  const levels = path.split("/").map((_, index, parts) => parts.slice(0, index + 1).join("/"));
  for (const hierarchy of hierarchies()) {
    for (const level of levels) createLevel(hierarchy, join(hierarchy.mountPoint, level));
  }
  return `/${path}`;
}

/**
 * Ends what runs in a cgroup relative to the roots and removes it, with all below; false when some is still there after 5 s.
 * The cgroup of a run is `cgroupOf` its folder.
 */
export async function removeCgroups(clock: Clock, path: string): Promise<boolean> {
  const isOver = startLimit(REMOVE_LIMIT_MS, { clock });
  while (!tryRemoveAll(path)) {
    if (isOver()) return false;
    await clock.sleep(20);
  }
  return true;
}

/** The same for a process that is about to exit: it blocks (at most 1 s) instead of waiting. */
export function removeCgroupsNow(clock: Clock, path: string): boolean {
  const until = clock.monotonicMs() + BLOCK_LIMIT_MS;
  const cell = new Int32Array(new SharedArrayBuffer(4));
  while (!tryRemoveAll(path)) {
    if (clock.monotonicMs() > until) return false;
    Atomics.wait(cell, 0, 0, 5);
  }
  return true;
}

function createLevel({ version, isCpuset }: Hierarchy, path: string): void {
  mkdirSync(path, { recursive: true });
  const parent = dirname(path);
  if (version === 2) enableControllers(parent);
  // A new cgroup has neither processors nor memory, and then takes no process (cpuset(7)).
  for (const file of isCpuset ? ["cpuset.cpus", "cpuset.mems"] : []) {
    if (read(join(path, file)).trim() === "") writeFileSync(join(path, file), read(join(parent, file)));
  }
}

/** Lets the children of a cgroup have the controllers that it has itself. */
function enableControllers(path: string): void {
  const available = read(join(path, "cgroup.controllers")).trim().split(" ");
  for (const controller of CONTROLLERS.filter((name) => available.includes(name))) {
    writeFileSync(join(path, "cgroup.subtree_control"), `+${controller}`);
  }
}

function tryRemoveAll(path: string): boolean {
  return hierarchies()
    .map(({ mountPoint }) => tryRemove(join(mountPoint, path)))
    .every(Boolean);
}

/** Removes a cgroup depth first; what still runs in it is killed and looked at again with the next try. */
function tryRemove(path: string): boolean {
  if (!existsSync(path)) return true;
  try {
    const below = readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    const isEmpty = below.map(({ name }) => tryRemove(join(path, name))).every(Boolean);
    for (const pid of pidsIn(read(join(path, "cgroup.procs")))) kill(pid);
    if (isEmpty) rmdirSync(path);
    return isEmpty;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return true;
    if (codeOf(error) === "EBUSY") return false;
    throw error;
  }
}

/** The process ids in the text of a `cgroup.procs`; a process of another pid namespace shows as 0, which would mean us. */
export function pidsIn(text: string): readonly number[] {
  return text
    .split("\n")
    .map(Number)
    .filter((pid) => pid > 0);
}

function hierarchies(): readonly Hierarchy[] {
  return hierarchiesIn(readFileSync("/proc/self/mountinfo", "utf8"));
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // Removed since it was listed, or a file that this version of cgroups does not have.
    return "";
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It ended by itself since it was looked at.
  }
}
