import { constants } from "node:fs";
import { mkdir, open, rename, symlink, unlink } from "node:fs/promises";
import {
  encodeLoopConfig,
  LOOP_CLR_FD,
  LOOP_CONFIGURE,
  LOOP_SET_CAPACITY,
  LOOP_SET_STATUS64,
  type LoopConfig,
} from "./core/loop-structs.ts";
import type { Kernel } from "./kernel.ts";
import { unlessCode } from "./system-error.ts";

/**
 * All changes of the keeper on the node, each of one or two system calls. The keeper may be killed before and after each of them: the next
 * request must cope with any state that these leave.
 */
export interface NodeActions {
  /** Creates an empty file that must not exist. */
  readonly createFile: (path: string) => Promise<void>;
  readonly writeFile: (path: string, text: string) => Promise<void>;
  readonly allocate: (path: string, bytes: number) => Promise<void>;
  readonly truncate: (path: string, bytes: number) => Promise<void>;
  /** Flushes a file or a folder to the disk. */
  readonly sync: (path: string) => Promise<void>;
  readonly rename: (from: string, to: string) => Promise<void>;
  /** False where there was none. */
  readonly unlink: (path: string) => Promise<boolean>;
  readonly symlink: (target: string, path: string) => Promise<void>;
  /** Also creates the folders above it; an existing one is no error. */
  readonly makeFolder: (path: string) => Promise<void>;
  readonly configureLoop: (descriptor: number, config: LoopConfig) => Promise<void>;
  readonly setLoopStatus: (descriptor: number, info: Buffer) => Promise<void>;
  readonly refreshLoopSize: (descriptor: number) => Promise<void>;
  /** Detaches the file. If another process has the device open, the kernel detaches it when that process closes it. */
  readonly clearLoop: (descriptor: number) => Promise<void>;
  /** Writes a kernel setting. */
  readonly writeSetting: (path: string, text: string) => Promise<void>;
}

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_RDONLY, O_RDWR, O_TRUNC, O_WRONLY } = constants;
/** Only root may access images. */
const MODE = 0o600;

export function createNodeActions(kernel: Kernel): NodeActions {
  return {
    createFile: async (path) => {
      await using _file = await open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, MODE);
    },
    writeFile: async (path, text) => {
      await using file = await open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, MODE);
      await file.writeFile(text);
      await file.sync();
    },
    allocate: async (path, bytes) => {
      await using file = await open(path, O_RDWR | O_NOFOLLOW);
      await kernel.allocate(file.fd, bytes);
    },
    truncate: async (path, bytes) => {
      await using file = await open(path, O_WRONLY | O_NOFOLLOW);
      await file.truncate(bytes);
    },
    sync: async (path) => {
      await using file = await open(path, O_RDONLY);
      await file.sync();
    },
    rename,
    unlink: async (path) =>
      (await unlessCode(
        "ENOENT",
        unlink(path).then(() => true),
      )) ?? false,
    symlink,
    makeFolder: async (path) => {
      await mkdir(path, { recursive: true });
    },
    configureLoop: async (descriptor, config) => {
      await kernel.ioctl(descriptor, LOOP_CONFIGURE, encodeLoopConfig(config));
    },
    setLoopStatus: async (descriptor, info) => {
      await kernel.ioctl(descriptor, LOOP_SET_STATUS64, info);
    },
    refreshLoopSize: async (descriptor) => {
      await kernel.ioctl(descriptor, LOOP_SET_CAPACITY, 0);
    },
    clearLoop: async (descriptor) => {
      await kernel.ioctl(descriptor, LOOP_CLR_FD, 0);
    },
    writeSetting: async (path, text) => {
      await using file = await open(path, O_WRONLY);
      await file.write(text);
    },
  };
}
