import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { watchNamespace } from "../oracle/kernel.ts";
import { createCgroup, hierarchiesIn, removeCgroups } from "../process/cgroups.ts";
import { explain, HarnessError } from "../process/errors.ts";
import type { Owner } from "../process/owner.ts";
import { findProgram, systemPath } from "../process/program.ts";
import { runCommand } from "./commands.ts";
import { quote } from "./node-init.ts";
import { findBusybox } from "./workload.ts";

/** Programs that nodes need, with the distribution package that has each. */
const PROGRAMS = {
  unshare: "util-linux",
  nsenter: "util-linux",
  pivot_root: "util-linux",
  mount: "mount",
  losetup: "mount",
  hostname: "hostname",
  ip: "iproute2",
  nft: "nftables",
  runc: "runc",
  "mkfs.ext4": "e2fsprogs",
  "mkfs.xfs": "xfsprogs",
} as const;

/** Something of the kernel that is tried, and the programs that the trial itself takes. */
interface Trial {
  readonly needs: readonly (keyof typeof PROGRAMS)[];
  readonly run: () => Promise<string | undefined>;
}

/**
 * What keeps this machine from running nodes and from looking at their mounts, in words; nothing when all is there. It tries each in
 * namespaces of its own; what cannot be tried for lack of a program is not named: the program is.
 */
export async function missingForNodes(owner: Owner): Promise<readonly string[]> {
  if (process.getuid?.() !== 0) return ["root: nodes are made of mounts, network links and cgroups"];
  const isHere = (name: string): boolean => findProgram(name, systemPath()) !== undefined;
  const trials: readonly Trial[] = [
    { needs: [], run: busybox },
    { needs: ["unshare"], run: namespaces },
    { needs: ["unshare", "mount", "ip"], run: () => overlay(owner.folder) },
    { needs: ["unshare", "ip", "nft"], run: network },
    { needs: [], run: () => cgroups(owner) },
    { needs: [], run: mountEvents },
    { needs: ["losetup"], run: loopDevices },
  ];
  const outcomes = await Promise.all(trials.filter(({ needs }) => needs.every(isHere)).map(({ run }) => run()));
  return [...missingPrograms(isHere), ...outcomes.filter((outcome) => outcome !== undefined)];
}

/** Throws a HarnessError that names what is missing, and what the caller knows to be missing `besides`. */
export async function requireNodes(owner: Owner, besides: readonly string[] = []): Promise<void> {
  const missing = [...(await missingForNodes(owner)), ...besides];
  if (missing.length > 0) throw new HarnessError(adviceOn(missing));
}

/** What a person is told who lacks something. */
export function adviceOn(missing: readonly string[]): string {
  return [
    "this machine cannot run nodes; what is missing:",
    ...missing.map((reason) => `  - ${reason}`),
    "the packages of a Debian or Ubuntu are in .ci/e2e-packages, and .ci/run installs them, as root",
  ].join("\n");
}

/** A sentence for each program that is not here. */
export function missingPrograms(isHere: (name: string) => boolean): readonly string[] {
  return Object.entries(PROGRAMS).flatMap(([name, packageName]) =>
    isHere(name) ? [] : [`the program ${name}, which is in the package ${packageName}`],
  );
}

async function busybox(): Promise<string | undefined> {
  return attempt("a busybox without shared libraries", async () => findBusybox(systemPath()));
}

function namespaces(): Promise<string | undefined> {
  const kinds = ["--pid", "--fork", "--mount", "--uts", "--ipc", "--net", "--time", "--monotonic=0"];
  return attempt("namespaces of every kind", () => runCommand({ command: "unshare", args: [...kinds, "true"] }));
}

/** The snapshots of container images are overlays on the disk of the run folder, and programs run from them. */
function overlay(folder: string): Promise<string | undefined> {
  const place = join(folder, "overlay");
  for (const name of ["lower", "upper", "work", "merged"]) mkdirSync(join(place, name), { recursive: true });
  const line = `cd ${quote(place)} && mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work merged && cp "$(command -v ip)" merged/program && merged/program -V`;
  return attempt(`overlayfs on ${folder}`, () =>
    runCommand({ command: "unshare", args: ["--mount", "sh", "-c", line] }),
  );
}

function network(): Promise<string | undefined> {
  const line = [
    "ip link add bridge type bridge",
    "ip link add cable type veth peer name other",
    "nft add table inet mooring",
  ].join(" && ");
  const what = "bridges, veth and nftables in a network namespace";
  return attempt(what, () => runCommand({ command: "unshare", args: ["--net", "sh", "-c", line] }));
}

function cgroups({ clock, folder }: Owner): Promise<string | undefined> {
  return attempt("writable cgroups", async () => {
    if (hierarchiesIn(readFileSync("/proc/self/mountinfo", "utf8")).length === 0)
      throw new HarnessError("none is mounted");
    await removeCgroups(clock, createCgroup(folder, "trial"));
  });
}

/** What the tests' record of mounts is made of. */
function mountEvents(): Promise<string | undefined> {
  const what = "the kernel's events of mounts (Linux 6.15)";
  return attempt(what, async () => watchNamespace("/proc/self/ns/mnt").close());
}

/** Block volumes are files on such devices. */
function loopDevices(): Promise<string | undefined> {
  return attempt("loop devices", () => runCommand({ command: "losetup", args: ["--find"] }));
}

async function attempt(what: string, work: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return `${what}: ${explain(error).replaceAll(/\s+/g, " ").slice(0, 300)}`;
  }
}
