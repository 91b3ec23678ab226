import { deepStrictEqual } from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { isAbandonedLoop, listLoops, VOLUMES_FOLDER } from "../csi/loop-devices.ts";
import { runCommand } from "../node/commands.ts";
import { KUBELET_SYSCTLS } from "../node/node-init.ts";
import { hierarchiesIn } from "../process/cgroups.ts";
import { pidsWithEnvironment } from "../process/identity.ts";
import { RUN_VARIABLE } from "../process/run-folder.ts";

/** What of a run is to be seen on this machine, by kind: each empty when nothing is. */
export interface Footprint {
  readonly processes: readonly number[];
  readonly mounts: readonly string[];
  readonly links: readonly string[];
  readonly routes: readonly string[];
  readonly cgroups: readonly string[];
  /** Loop devices that show volumes of the run, or of any run that is over. */
  readonly loops: readonly string[];
}

/** What a cluster must not change, whichever else run on the machine: the firewall and the kernel's settings. */
export type MachineState = Readonly<Record<string, string>>;

export const NO_FOOTPRINT: Footprint = { processes: [], mounts: [], links: [], routes: [], cgroups: [], loops: [] };

/** Looks for all that belongs to the run in `folder`, by other means than those that remove it. */
export async function footprintOf(folder: string): Promise<Footprint> {
  const name = basename(folder);
  const mountInfo = readFileSync("/proc/self/mountinfo", "utf8");
  const linesWith = (text: string, part: string): readonly string[] =>
    text.split("\n").filter((line) => line.includes(part));
  return {
    processes: pidsWithEnvironment(RUN_VARIABLE, folder),
    mounts: linesWith(mountInfo, folder),
    links: linesWith(await ip("-oneline", "link"), name),
    routes: linesWith(await ip("route", "show", "table", "all"), name),
    cgroups: hierarchiesIn(mountInfo).flatMap(({ mountPoint }) => foldersNamed(mountPoint, name)),
    loops: listLoops()
      .filter((loop) => isAbandonedLoop(loop) || (loop.file.includes(VOLUMES_FOLDER) && loop.file.includes(name)))
      .map(({ device, file }) => `${device} ${file}`),
  };
}

/** Throws, with the difference, where something of a run that is over is left, or the machine's state is not what it was before. */
export async function checkNothingLeft(folder: string, before: MachineState): Promise<void> {
  const left = { ...(await footprintOf(folder)), ...(await machineState()) };
  deepStrictEqual(left, { ...NO_FOOTPRINT, ...before });
}

export async function machineState(): Promise<MachineState> {
  const settings = Object.keys(KUBELET_SYSCTLS).map((name) => [name, readFileSync(join("/proc/sys", name), "utf8")]);
  const forwarding = readFileSync("/proc/sys/net/ipv4/ip_forward", "utf8");
  // Without their counters, which any packet moves.
  const rules = await runCommand({ command: "nft", args: ["--stateless", "list", "ruleset"] });
  return { ...Object.fromEntries(settings), forwarding, rules };
}

function ip(...args: readonly string[]): Promise<string> {
  return runCommand({ command: "ip", args });
}

/** Cgroups of this name up to two levels down: a run inside a run has its own in the other's. */
function foldersNamed(root: string, name: string, depth = 2): readonly string[] {
  return readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap((entry) => {
      const path = join(root, entry.name);
      if (entry.name === name) return [path];
      return depth > 1 && entry.name.startsWith("mooring-") ? foldersNamed(path, name, depth - 1) : [];
    });
}
