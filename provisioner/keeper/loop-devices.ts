import { constants } from "node:fs";
import { basename } from "node:path";
import { messageOf } from "../../common/runtime/errors.ts";
import type { Logger } from "../../common/runtime/logger.ts";
import {
  decodeLoopInfo,
  deviceNumber,
  emptyLoopInfo,
  LOOP_CTL_GET_FREE,
  LOOP_GET_STATUS64,
  withoutAutoclear,
} from "./core/loop-structs.ts";
import { candidates, type Loop } from "./core/loops.ts";
import { filesOf } from "./core/names.ts";
import type { Kernel } from "./kernel.ts";
import { Locks } from "./locks.ts";
import { createLoopSettings, type LoopSettings } from "./loop-settings.ts";
import type { NodeActions } from "./node-actions.ts";
import type { NodeFiles, OpenFile } from "./node-files.ts";
import { SystemError, systemCode, unlessCode } from "./system-error.ts";

/** The file of a volume's image, under any of its names. */
export interface ImageFile {
  readonly volume: string;
  readonly path: string;
}

/** The loop devices of this node. */
export interface LoopDevices {
  /** All that have a file. */
  readonly list: () => Promise<readonly Loop[]>;
  /** The devices that have this image as their file, by the file's identity. */
  readonly showing: (image: ImageFile) => Promise<readonly Loop[]>;
  /** The devices of the attached images, by volume. */
  readonly devices: (images: readonly ImageFile[]) => Promise<ReadonlyMap<string, string>>;
  /** Attaches an image unless it is attached; in both cases the device then has the image's full size. Returns the device, `/dev/loop0`. */
  readonly attach: (image: ImageFile) => Promise<string>;
  /** Detaches an image from the device that was opened here, and closes the device. False where another process has it open. */
  readonly detach: (
    image: Pick<ImageFile, "volume">,
    held: { readonly device: string; readonly handle: OpenFile },
  ) => Promise<boolean>;
}

interface LoopParts {
  readonly kernel: Kernel;
  readonly files: NodeFiles;
  readonly actions: NodeActions;
  readonly logger: Logger;
  /** Where the kernel's files and devices are: a unit test uses its own folders. */
  readonly sys?: string;
  readonly dev?: string;
}

type Reading = Pick<LoopParts, "kernel" | "files">;
type Tools = LoopParts & { readonly settings: LoopSettings; readonly warnOnce: WarnOnce };

/** `<errno.h>` */
const EBUSY = 16;
const { O_NOFOLLOW, O_RDONLY, O_RDWR } = constants;

/** Another program may take or remove a free device between asking for it and using it. */
const MOST_TRIES = 64;
const TAKEN = ["EBUSY", "ENOENT", "ENODEV", "ENXIO"];
/** The unit of `size`. */
const SIZE_UNIT = 512;

export function createLoopDevices(parts: LoopParts): LoopDevices {
  // While one task inspects a device it has it open, and another task's detaching would find the device in use.
  const locks = new Locks();
  const alone = <T>(task: () => Promise<T>): Promise<T> => locks.run("loops", task);
  const settings = createLoopSettings(parts.files, parts.sys ?? "/sys");
  const { list } = settings;
  const tools: Tools = { ...parts, settings, warnOnce: createWarnOnce(parts.logger) };
  return {
    list,
    showing: (image) => alone(async () => await showing(parts, image, await list())),
    devices: (images) => alone(async () => await devicesOf(parts, images, await list())),
    attach: (image) =>
      alone(async () => {
        const [known] = await showing(parts, image, await list());
        const device = known === undefined ? await configure(tools, image) : known.device;
        if (known !== undefined) await complete(tools, { device, image });
        await forbidDiscards(tools, device);
        return device;
      }),
    detach: (image, { device, handle }) =>
      alone(async () => {
        try {
          await parts.actions.clearLoop(handle.fd);
        } finally {
          await handle.close();
        }
        const left = candidates(await list(), filesOf(image.volume));
        return left.every((loop) => loop.device !== device);
      }),
  };
}

async function devicesOf(
  parts: Reading,
  images: readonly ImageFile[],
  loops: readonly Loop[],
): Promise<ReadonlyMap<string, string>> {
  const devices = new Map<string, string>();
  for (const image of images) {
    const [loop] = await showing(parts, image, loops);
    if (loop !== undefined) devices.set(image.volume, loop.device);
  }
  return devices;
}

async function showing(parts: Reading, { volume, path }: ImageFile, loops: readonly Loop[]): Promise<readonly Loop[]> {
  const likely = candidates(loops, filesOf(volume));
  // Its file may have been renamed or removed meanwhile: then no device has this one.
  const file = likely.length === 0 ? undefined : await unlessCode("ENOENT", parts.files.lstat(path));
  if (file === undefined) return [];
  const found: Loop[] = [];
  for (const loop of likely) {
    const info = await statusOf(parts, loop.device);
    if (info === undefined) continue;
    const { device, inode } = decodeLoopInfo(info);
    if (device === file.device && inode === file.inode) found.push(loop);
  }
  return found;
}

/** Undefined where the device has no file any more. */
async function statusOf({ kernel, files }: Reading, device: string): Promise<Buffer | undefined> {
  const ask = async (): Promise<Buffer> => {
    await using handle = await files.open(device, O_RDONLY);
    const info = emptyLoopInfo();
    await kernel.ioctl(handle.fd, LOOP_GET_STATUS64, info);
    return info;
  };
  return await unlessCode("ENXIO", ask());
}

type WarnOnce = (what: "directIo" | "discard", error: unknown) => void;

/** Each is logged once: it is the same for every volume of the node. */
function createWarnOnce(logger: Logger): WarnOnce {
  const warned = new Set<string>();
  return (what, error) => {
    if (warned.has(what)) return;
    warned.add(what);
    const fields = { err: messageOf(error) };
    if (what === "directIo") logger.warn(fields, "kernel refuses direct I/O, images go through the page cache");
    else logger.warn(fields, "cannot forbid discards, a volume can give its blocks back");
  };
}

/**
 * Direct I/O needs sectors at least as large as those of the disk, and a filesystem keeps the sector size that it was created with: so
 * every attachment of the image must use the same one.
 */
async function configure(tools: Tools, image: ImageFile): Promise<string> {
  const { settings, files, warnOnce, dev: devices = "/dev" } = tools;
  await using file = await files.open(image.path, O_RDWR | O_NOFOLLOW);
  const { device: disk } = await file.stat();
  const blockBytes = await settings.sectorOf(deviceNumber(disk));
  const config = { descriptor: file.fd, fileName: basename(image.path), blockBytes };
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const device = `${devices}/loop${await freeNumber(tools, devices)}`;
    try {
      await using handle = await files.open(device, O_RDWR);
      await configureBest(tools, { handle, config });
      if ((await settings.read(device, "loop/dio")) === "0")
        warnOnce("directIo", new Error("LOOP_CONFIGURE did without it"));
      return device;
    } catch (error) {
      if (!TAKEN.includes(systemCode(error) ?? "")) throw error;
    }
  }
  throw new SystemError(`taking a free loop device ${MOST_TRIES} times`, EBUSY);
}

interface Configuring {
  readonly handle: OpenFile;
  readonly config: { readonly descriptor: number; readonly fileName: string; readonly blockBytes: number };
}

async function configureBest({ actions, warnOnce }: Tools, { handle, config }: Configuring): Promise<void> {
  try {
    await actions.configureLoop(handle.fd, { ...config, directIo: true });
  } catch (error) {
    if (systemCode(error) !== "EINVAL") throw error;
    await actions.configureLoop(handle.fd, { ...config, directIo: false });
    warnOnce("directIo", error);
  }
}

async function freeNumber({ kernel, files }: Reading, devices: string): Promise<number> {
  await using control = await files.open(`${devices}/loop-control`, O_RDWR);
  return await kernel.ioctl(control.fd, LOOP_CTL_GET_FREE, 0);
}

/** Completes an interrupted attachment or growth: a device that would detach by itself, or is smaller than the image. */
async function complete(
  { kernel, files, actions, settings }: Tools,
  { device, image }: { readonly device: string; readonly image: ImageFile },
): Promise<void> {
  await using handle = await files.open(device, O_RDWR);
  const info = emptyLoopInfo();
  await kernel.ioctl(handle.fd, LOOP_GET_STATUS64, info);
  if (decodeLoopInfo(info).autoclear) await actions.setLoopStatus(handle.fd, withoutAutoclear(info));
  const shown = Number(await settings.read(device, "size")) * SIZE_UNIT;
  if (shown < (await files.stat(image.path)).bytes) await actions.refreshLoopSize(handle.fd);
}

/** A discard would punch a hole into the image: other files could take its blocks, although they are reserved for the image. */
async function forbidDiscards({ actions, settings, warnOnce }: Tools, device: string): Promise<void> {
  const setting = "queue/discard_max_bytes";
  if ((await settings.read(device, setting)) === "0") return;
  try {
    await actions.writeSetting(settings.fileOf(device, setting), "0");
  } catch (error) {
    warnOnce("discard", error);
  }
}
