import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, type Stats, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import * as v from "valibot";
import { codeOf } from "./errors.ts";
import { systemPath } from "./program.ts";
import { RUN_PREFIX } from "./run-folder.ts";

/** A loop device that is in use. */
export interface LoopDevice {
  /** `/dev/loop0` */
  readonly device: string;
  /** The file that it shows, as losetup(8) names it; ` (deleted)` stands behind a file that is gone. */
  readonly file: string;
  /** Device and inode of that file: `0:6 113`. */
  readonly fileIdentity: string;
  /** Device and inode of the device's own node; nothing when it has none. */
  readonly ownIdentity: string | undefined;
  /** What files on it have as their device: `7:0`; nothing when it has no node. */
  readonly number: string | undefined;
}

const LIST = ["--list", "--json", "--output", "NAME,BACK-FILE,BACK-INO,BACK-MAJ:MIN"];
/** Older versions write numbers as texts, with spaces in front. */
const text = v.pipe(
  v.union([v.string(), v.number()]),
  v.transform((value) => String(value).trim()),
);
const listed = v.object({
  loopdevices: v.array(
    v.object({ name: v.string(), "back-file": v.nullable(v.string()), "back-ino": text, "back-maj:min": text }),
  ),
});

/** The loop devices of this machine. */
export function listLoops(): readonly LoopDevice[] {
  const output = losetup(...LIST);
  // Without a loop device there is no text at all.
  if (output.trim() === "") return [];
  return v.parse(listed, JSON.parse(output)).loopdevices.map((one) => ({
    device: one.name,
    file: one["back-file"] ?? "",
    fileIdentity: `${one["back-maj:min"]} ${one["back-ino"]}`,
    ownIdentity: identityOf(one.name),
    number: numberOf(one.name),
  }));
}

/** The devices that are ours, and those that show such a device or a file on one in turn; the upper ones first. */
export function withDependents(
  all: readonly LoopDevice[],
  isOurs: (device: LoopDevice) => boolean,
): readonly LoopDevice[] {
  const found = all.filter(isOurs);
  for (const lower of found) found.push(...all.filter((one) => isUpon(one, lower) && !found.includes(one)));
  return found.toReversed();
}

function isUpon({ fileIdentity }: LoopDevice, { ownIdentity, number }: LoopDevice): boolean {
  return fileIdentity === ownIdentity || (number !== undefined && fileIdentity.startsWith(`${number} `));
}

/** Gives devices back, as far as that goes now: of one that is in use the kernel does it when that ends. It blocks. */
export function detachLoops(devices: readonly LoopDevice[]): void {
  for (const { device } of devices) {
    try {
      losetup("--detach", device);
    } catch {
      // Its last user closed it in this moment, or another sweep was faster.
    }
  }
}

/** The files that loop devices show, by their names. Unlike a list of the devices this needs no program. */
export function shownFiles(): readonly Pick<LoopDevice, "file">[] {
  const devices = namesIn("/sys/block").filter((name) => name.startsWith("loop"));
  return devices.flatMap((name) => textOf(`/sys/block/${name}/loop/backing_file`)).map((file) => ({ file }));
}

/**
 * Whether a device shows a file of the run in `folder`. The kernel names the file within the mount that it was opened through, which need not
 * have all of the path.
 */
export function isOfRun({ file }: Pick<LoopDevice, "file">, folder: string): boolean {
  return file.includes(`/${basename(folder)}/`);
}

/** The innermost run: one may be in the folder of another. */
const RUN_NAME = new RegExp(`^.*/(${RUN_PREFIX}[A-Za-z0-9]{6})/.* \\(deleted\\)$`);

/** Whether a device shows a file of a run whose folder is gone. `parent` is where run folders are, maybe in another run's. */
export function isOfGoneRun({ file }: Pick<LoopDevice, "file">, parent: string): boolean {
  const name = RUN_NAME.exec(file)?.[1];
  if (name === undefined) return false;
  const written = file.slice(0, file.lastIndexOf(name) + name.length);
  return !existsSync(written) && !withAncestors(parent).some((folder) => existsSync(join(folder, name)));
}

function withAncestors(folder: string): readonly string[] {
  const above = dirname(folder);
  return above === folder ? [folder] : [folder, ...withAncestors(above)];
}

/** It blocks. An ordinary user of Debian has it not on the path, and may list. */
function losetup(...args: readonly string[]): string {
  const env = { ...process.env, PATH: systemPath() };
  return execFileSync("losetup", [...args], { encoding: "utf8", env, stdio: "pipe" });
}

/** Device and inode of a file; nothing where there is none. */
export function identityOf(path: string): string | undefined {
  const stat = statOf(path);
  return stat && `${majorMinor(stat.dev)} ${stat.ino}`;
}

function numberOf(device: string): string | undefined {
  const stat = statOf(device);
  return stat && majorMinor(stat.rdev);
}

/** The numbers of a device as glibc packs them (gnu_dev_major). */
function majorMinor(dev: number): string {
  return `${(dev >> 8) & 0xfff}:${(dev & 0xff) | ((dev >> 12) & 0xfff00)}`;
}

/** None in a container that has no `/sys`. */
function namesIn(folder: string): readonly string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}

/** Nothing where the device shows no file, or none any more. */
function textOf(path: string): readonly string[] {
  try {
    return [readFileSync(path, "utf8").trimEnd()];
  } catch {
    return [];
  }
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}
