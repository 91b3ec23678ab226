import { constants } from "node:fs";
import { LOOP_CTL_GET_FREE, LOOP_GET_STATUS64 } from "../../../../provisioner/keeper/core/loop-structs.ts";
import type { FileFacts } from "../../../../provisioner/keeper/node-files.ts";
import type { Scheduler } from "../../engine/scheduler.ts";
import { BLOCK, type Disk, type Inode } from "./disk.ts";
import { failed, type Handle, type NodeKernel, type Place } from "./kernel.ts";

/** Gets events: before a file is truncated or loses its name, before a folder becomes a pool, and after an image has its blocks. */
export interface NodeWitness {
  readonly onErase: (inode: Inode, name: string, pool: string) => void;
  readonly onBegin: (place: Place, pool: string) => void;
  readonly onAllocated: (disk: Disk, pool: string) => void;
}

/** The parts of a node's view. */
export interface ViewParts {
  readonly scheduler: Scheduler;
  readonly kernel: NodeKernel;
  /** The process that reads. */
  readonly owner: string;
  readonly witness: NodeWitness;
}

const EXT4 = 0xef53;
/** A flag in the status of a loop device, and the offset of the flags. */
export const AUTOCLEAR = 4;
export const FLAGS = 52;

/** What a path leads to. */
type Found =
  | { readonly kind: "folder"; readonly place: Place; readonly pool: string }
  | { readonly kind: "name"; readonly place: Place; readonly pool: string; readonly name: string }
  | { readonly kind: "loop"; readonly number: number };

/** The calls by which a process reads its node. */
export class ReadableNode {
  protected readonly parts: ViewParts;

  constructor(parts: ViewParts) {
    this.parts = parts;
  }

  open(path: string, flags: number): number {
    const { kernel, owner } = this.parts;
    if (path === "/dev/loop-control") return kernel.open({ kind: "control", owner });
    const found = this.findAt(path);
    if (found.kind === "loop") return kernel.openLoop(found.number, (flags & constants.O_EXCL) !== 0, owner);
    if (found.kind === "folder") return kernel.open({ ...found, owner });
    return kernel.open({ ...found, kind: "file", inode: this.inodeAt(found), owner });
  }

  stat(path: string): FileFacts {
    const found = this.findAt(path);
    if (found.kind === "loop") throw failed("ENOENT", path);
    const device = BigInt((259 << 8) | found.place.disk.id);
    if (found.kind === "folder") return { device, inode: 2n, bytes: 0, allocatedBytes: 0, isFile: false };
    const { number, now } = this.inodeAt(found);
    return { device, inode: BigInt(number), bytes: now.bytes, allocatedBytes: now.allocatedBytes, isFile: true };
  }

  statfs(path: string) {
    const { disk } = this.folderAt(path);
    return {
      type: EXT4,
      blockBytes: BLOCK,
      blocks: disk.bytes / BLOCK,
      availableBlocks: Math.floor(disk.freeBytes / BLOCK),
    };
  }

  names(path: string): readonly string[] {
    if (path === "/sys/block") return [...this.parts.kernel.loops.keys()].map((number) => `loop${number}`);
    const { disk, folder } = this.folderAt(path);
    return [...disk.folder(folder).names.keys()];
  }

  readText(path: string): string {
    const { kernel } = this.parts;
    const [, number, what] = /^\/sys\/block\/loop(\d+)\/(.+)$/.exec(path) ?? [];
    const loop = kernel.loops.get(Number(number));
    if (loop === undefined) throw failed("ENOENT", path);
    if (what === "dev") return `7:${number}\n`;
    if (what === "loop/backing_file" && loop.backing !== undefined) return `${kernel.backingFile(loop)}\n`;
    if (what === "loop/dio") return "1\n";
    if (what === "size") return `${loop.bytes / 512}\n`;
    if (what === "queue/discard_max_bytes") return `${loop.discards}\n`;
    throw failed("ENOENT", path);
  }

  linkTarget(path: string): string {
    const target = this.parts.kernel.links.get(path);
    if (target === undefined) throw failed("ENOENT", path);
    return target;
  }

  ioctl(fd: number, request: number, argument: number | Buffer): number {
    const { kernel } = this.parts;
    if (request === LOOP_CTL_GET_FREE) return kernel.freeLoop();
    if (request !== LOOP_GET_STATUS64 || typeof argument === "number") throw failed("ENOTTY", "ioctl");
    const loop = kernel.loop(this.loopOf(fd));
    if (loop.backing === undefined) throw failed("ENXIO", "LOOP_GET_STATUS64");
    if (loop.backing.kind !== "image") return 0;
    argument.writeBigUInt64LE(BigInt((259 << 8) | loop.backing.disk.id), 0);
    argument.writeBigUInt64LE(BigInt(loop.backing.inode.number), 8);
    argument.writeUInt32LE(loop.isAutoclear ? AUTOCLEAR : 0, FLAGS);
    return 0;
  }

  loopOf(fd: number): number {
    const handle = this.handleAt(fd);
    if (handle.kind !== "loop") throw failed("ENOTTY", "ioctl");
    return handle.loop;
  }

  fileOf(fd: number): Inode {
    const handle = this.handleAt(fd);
    if (handle.kind !== "file") throw failed("EISDIR", "read");
    return handle.inode;
  }

  protected handleAt(fd: number): Handle {
    const handle = this.parts.kernel.handles.get(fd);
    if (handle === undefined) throw failed("EBADF", `descriptor ${fd}`);
    return handle;
  }

  protected findAt(path: string): Found {
    const { kernel } = this.parts;
    const [, pool] = /^\/pools\/([^/]+)$/.exec(path) ?? [];
    if (pool !== undefined) {
      const place = kernel.pools.get(pool);
      if (place === undefined) throw failed("ENOENT", path);
      return { kind: "folder", place, pool };
    }
    const [, device] = /^\/dev\/loop(\d+)$/.exec(path) ?? [];
    if (device !== undefined) return { kind: "loop", number: Number(device) };
    const [, fd, name] = /^\/proc\/self\/fd\/(\d+)(?:\/(.+))?$/.exec(path) ?? [];
    const handle = this.handleAt(Number(fd));
    if (handle.kind === "file") return { ...handle, kind: "name" };
    if (handle.kind !== "folder") throw failed("ENOTDIR", path);
    const { place } = handle;
    return name === undefined || name === "."
      ? { kind: "folder", place, pool: handle.pool }
      : { kind: "name", place, pool: handle.pool, name };
  }

  protected folderAt(path: string): Place {
    const found = this.findAt(path);
    if (found.kind !== "folder") throw failed("ENOTDIR", path);
    return found.place;
  }

  protected nameAt(path: string): Extract<Found, { readonly kind: "name" }> {
    const found = this.findAt(path);
    if (found.kind !== "name") throw failed("EISDIR", path);
    return found;
  }

  protected inodeAt({ place, name }: Extract<Found, { readonly kind: "name" }>): Inode {
    const inode = place.disk.folder(place.folder).names.get(name);
    if (inode === undefined) throw failed("ENOENT", name);
    return inode;
  }
}
