import { globSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../node/commands.ts";
import { detachLoops, identityOf, type LoopDevice, listLoops, withDependents } from "../process/loop-devices.ts";

/** The file that holds a block volume. */
export const IMAGE_NAME = "image";

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

/** Whether a device shows the image of a volume of a run that is over. */
export function isAbandonedLoop({ file }: Pick<LoopDevice, "file">): boolean {
  return ABANDONED.test(file);
}

/** Gives back the loop devices on images below a folder, and those of runs that were killed. It blocks: it is for the end of a run. */
export function releaseLoops(folder: string): void {
  const images = new Set(imagesBelow(folder).map(identityOf));
  const isOurs = (one: LoopDevice): boolean => images.has(one.fileIdentity) || isAbandonedLoop(one);
  detachLoops(withDependents(listLoops(), isOurs));
}

/** By identity, not by path: the kernel tells the path within the mount that the file was opened through. */
function imagesBelow(folder: string): readonly string[] {
  return globSync(`**/${IMAGE_NAME}`, { cwd: folder }).map((path) => join(folder, path));
}

function losetup(...args: readonly string[]): Promise<string> {
  return runCommand({ command: "losetup", args });
}
