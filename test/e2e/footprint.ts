import { deepStrictEqual } from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { isAbandonedLoop } from "../rig/csi/loop-devices.ts";
import { namesClusterAddress } from "../rig/node/addresses.ts";
import { runCommand } from "../rig/node/commands.ts";
import { hierarchiesIn } from "../rig/process/cgroups.ts";
import { pidsWithEnvironment } from "../rig/process/identity.ts";
import { listLoops } from "../rig/process/loop-devices.ts";
import { RUN_VARIABLE } from "../rig/process/run-folder.ts";

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
      .filter((loop) => isAbandonedLoop(loop) || loop.file.includes(name))
      .map(({ device, file }) => `${device} ${file}`),
  };
}

/** Throws, with the difference, where something of a run that is over is left, or the firewall's rules for clusters are not what they were before. */
export async function checkNothingLeft(folder: string, before: readonly string[]): Promise<void> {
  const left = { ...(await footprintOf(folder)), firewall: await firewallOfClusters() };
  deepStrictEqual(left, { ...NO_FOOTPRINT, firewall: before });
}

/** The rules of this machine's firewall that name addresses of clusters: those of others, a kubelet's or a container runtime's, come and go. */
export async function firewallOfClusters(): Promise<readonly string[]> {
  // Without their counters, which any packet moves.
  const rules = await runCommand({ command: "nft", args: ["--stateless", "list", "ruleset"] });
  return rules.split("\n").filter(namesClusterAddress);
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
