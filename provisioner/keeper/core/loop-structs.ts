/** `<linux/loop.h>`: arguments and answers of a loop device's ioctl(2). */
export const LOOP_CLR_FD = 0x4c01;
export const LOOP_SET_STATUS64 = 0x4c04;
export const LOOP_GET_STATUS64 = 0x4c05;
export const LOOP_SET_CAPACITY = 0x4c07;
export const LOOP_CONFIGURE = 0x4c0a;
export const LOOP_CTL_GET_FREE = 0x4c82;

const LO_FLAGS_AUTOCLEAR = 4;
const LO_FLAGS_DIRECT_IO = 16;

/** Offsets in `struct loop_info64`, and its size. */
const INFO = { device: 0, inode: 8, flags: 52, fileName: 56, bytes: 232 } as const;
const LONGEST_FILE_NAME = 63;
/** `struct loop_config`: a descriptor, the size of a sector, a `loop_info64` and eight reserved numbers. */
const CONFIG = { descriptor: 0, blockBytes: 4, info: 8, bytes: 8 + INFO.bytes + 64 } as const;

export interface LoopConfig {
  /** Descriptor of the open file. */
  readonly descriptor: number;
  /** Its name, for tools that list loop devices. */
  readonly fileName: string;
  readonly blockBytes: number;
  readonly directIo: boolean;
}

/** The file of a loop device, and whether the kernel detaches it as soon as its last user closes it. */
export interface LoopInfo {
  readonly device: bigint;
  readonly inode: bigint;
  readonly autoclear: boolean;
}

/** The argument of `LOOP_CONFIGURE`. The kernel uses the machine's byte order: little-endian on every platform that Mooring supports. */
export function encodeLoopConfig({ descriptor, fileName, blockBytes, directIo }: LoopConfig): Buffer {
  const config = Buffer.alloc(CONFIG.bytes);
  config.writeUInt32LE(descriptor, CONFIG.descriptor);
  config.writeUInt32LE(blockBytes, CONFIG.blockBytes);
  config.writeUInt32LE(directIo ? LO_FLAGS_DIRECT_IO : 0, CONFIG.info + INFO.flags);
  config.write(fileName.slice(0, LONGEST_FILE_NAME), CONFIG.info + INFO.fileName, "latin1");
  return config;
}

/** Buffer for the answer of `LOOP_GET_STATUS64`. */
export function emptyLoopInfo(): Buffer {
  return Buffer.alloc(INFO.bytes);
}

export function decodeLoopInfo(info: Buffer): LoopInfo {
  return {
    device: info.readBigUInt64LE(INFO.device),
    inode: info.readBigUInt64LE(INFO.inode),
    autoclear: (info.readUInt32LE(INFO.flags) & LO_FLAGS_AUTOCLEAR) !== 0,
  };
}

/** An argument of `LOOP_SET_STATUS64` whose only effect is that the device stays attached when it is closed. */
export function withoutAutoclear(info: Buffer): Buffer {
  const changed = Buffer.from(info);
  changed.writeUInt32LE(info.readUInt32LE(INFO.flags) & ~LO_FLAGS_AUTOCLEAR, INFO.flags);
  return changed;
}

/** `major:minor` of a device number in stat(2)'s format (gnu_dev_major, gnu_dev_minor of glibc). */
export function deviceNumber(dev: bigint): string {
  const major = ((dev >> 8n) & 0xfffn) | ((dev >> 32n) & 0xfffff000n);
  const minor = (dev & 0xffn) | ((dev >> 12n) & 0xffffff00n);
  return `${major}:${minor}`;
}
