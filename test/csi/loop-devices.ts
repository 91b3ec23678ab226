import { execFileSync } from "node:child_process";
import { globSync, statSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { runCommand, systemPath } from "../node/commands.ts";
import { codeOf } from "../process/errors.ts";

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
}

/** The file that holds a block volume. */
export const IMAGE_NAME = "image";
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

/** The contents of volumes lie in a folder of this name in the folder of their run. */
export const VOLUMES_FOLDER = "mooring-csi-volumes";
/** The image of a volume of a run whose folder is gone. What stands before it depends on the mount that it was opened through. */
const ABANDONED = new RegExp(`/${VOLUMES_FOLDER}/[^/]+/[^/]+/${IMAGE_NAME} \\(deleted\\)$`);

/** Attaches a file to a free loop device, and answers the device; the one that shows it already, if there is one. */
export async function attachLoop(file: string): Promise<string> {
  const known = await loopOf(file);
  return known ?? (await losetup("--find", "--show", file)).trim();
}

/** The loop device that shows a file. */
export async function loopOf(file: string): Promise<string | undefined> {
  const output = await losetup("--associated", file, "--noheadings", "--output", "NAME");
  return output.split("\n").find((line) => line !== "");
}

/** Gives a loop device back; where somebody still has it open, the kernel does it when that ends. */
export async function detachLoop(device: string): Promise<void> {
  await losetup("--detach", device);
}

/** The devices that are ours, and those that show such a device in turn (a kubelet makes them); the upper ones first. */
export function withDependents(
  all: readonly LoopDevice[],
  isOurs: (device: LoopDevice) => boolean,
): readonly LoopDevice[] {
  const found = all.filter(isOurs);
  for (const lower of found) {
    found.push(...all.filter((one) => one.fileIdentity === lower.ownIdentity && !found.includes(one)));
  }
  return found.toReversed();
}

/** Whether a device shows the image of a volume of a run that is over. */
export function isAbandonedLoop({ file }: LoopDevice): boolean {
  return ABANDONED.test(file);
}

/** Gives back the loop devices on images below a folder, and those of runs that were killed. It blocks: it is for the end of a run. */
export function releaseLoops(folder: string): void {
  const images = new Set(imagesBelow(folder).map(identityOf));
  const isOurs = (one: LoopDevice): boolean => images.has(one.fileIdentity) || isAbandonedLoop(one);
  for (const { device } of withDependents(listLoops(), isOurs)) {
    try {
      losetupNow("--detach", device);
    } catch {
      // Its last user closed it in this moment, or another sweep was faster.
    }
  }
}

/** By identity, not by path: the kernel tells the path within the mount that the file was opened through. */
function imagesBelow(folder: string): readonly string[] {
  return globSync(`**/${IMAGE_NAME}`, { cwd: folder }).map((path) => join(folder, path));
}

/** The loop devices of this machine. */
export function listLoops(): readonly LoopDevice[] {
  const output = losetupNow(...LIST);
  // Without a loop device there is no text at all.
  if (output.trim() === "") return [];
  return v.parse(listed, JSON.parse(output)).loopdevices.map((one) => ({
    device: one.name,
    file: one["back-file"] ?? "",
    fileIdentity: `${one["back-maj:min"]} ${one["back-ino"]}`,
    ownIdentity: identityOf(one.name),
  }));
}

function losetup(...args: readonly string[]): Promise<string> {
  return runCommand({ command: "losetup", args });
}

/** The same for the end of a run: it blocks. An ordinary user of Debian has it not on the path, and may list. */
function losetupNow(...args: readonly string[]): string {
  const env = { ...process.env, PATH: systemPath() };
  return execFileSync("losetup", [...args], { encoding: "utf8", env, stdio: "pipe" });
}

function identityOf(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path);
    // The numbers of a device as glibc packs them (gnu_dev_major).
    return `${(dev >> 8) & 0xfff}:${(dev & 0xff) | ((dev >> 12) & 0xfff00)} ${ino}`;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}
