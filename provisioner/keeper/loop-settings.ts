import { basename } from "node:path";
import { attachedLoops, type Loop } from "./core/loops.ts";
import type { NodeFiles } from "./node-files.ts";
import { unlessCode } from "./system-error.ts";

/** The kernel's information on its loop devices and disks below `/sys`. */
export interface LoopSettings {
  /** The loop devices that have a file. */
  readonly list: () => Promise<readonly Loop[]>;
  /** A setting of a loop device, such as `loop/dio`; undefined where it has none. */
  readonly read: (device: string, name: string) => Promise<string | undefined>;
  /** The file that contains the setting. */
  readonly fileOf: (device: string, name: string) => string;
  /** The sector size of a disk (`major:minor`), within the limits of a loop device. */
  readonly sectorOf: (disk: string) => Promise<number>;
}

const SMALLEST_SECTOR = 512;
const LARGEST_SECTOR = 4_096;

export function createLoopSettings(files: NodeFiles, sys: string): LoopSettings {
  const fileOf = (device: string, name: string): string => `${sys}/block/${basename(device)}/${name}`;
  const read = (device: string, name: string): Promise<string | undefined> => readSetting(files, fileOf(device, name));
  return {
    fileOf,
    read,
    list: async () => {
      const names = (await files.names(`${sys}/block`)).filter((name) => /^loop\d{1,7}$/.test(name));
      const texts = names.map(async (name) => ({
        name,
        backingFile: await readRaw(files, fileOf(name, "loop/backing_file")),
        number: await read(name, "dev"),
      }));
      return attachedLoops(await Promise.all(texts));
    },
    sectorOf: async (disk) => {
      const own = await readSetting(files, `${sys}/dev/block/${disk}/queue/logical_block_size`);
      // A partition uses the queue of its disk.
      const text = own ?? (await readSetting(files, `${sys}/dev/block/${disk}/../queue/logical_block_size`));
      return Math.min(LARGEST_SECTOR, Math.max(SMALLEST_SECTOR, Number(text) || SMALLEST_SECTOR));
    },
  };
}

async function readSetting(files: NodeFiles, path: string): Promise<string | undefined> {
  return (await readRaw(files, path))?.trim();
}

async function readRaw(files: NodeFiles, path: string): Promise<string | undefined> {
  // A device that is being detached fails with the second of the two.
  return await unlessCode("ENODEV", unlessCode("ENOENT", files.readText(path)));
}
