import { BLOCK } from "./disk.ts";
import { failed } from "./kernel.ts";
import { AUTOCLEAR, FLAGS, ReadableNode } from "./readable-node.ts";

/** The keeper's calls that change its node. */
export class WritableNode extends ReadableNode {
  create(path: string): void {
    const { place, name } = this.nameAt(path);
    if (place.disk.folder(place.folder).names.has(name)) throw failed("EEXIST", path);
    place.disk.create(place.folder, name, this.parts.scheduler.nowMs());
  }

  writeFile(path: string, text: string): void {
    const { place, name } = this.nameAt(path);
    if (place.disk.freeBytes < BLOCK) throw failed("ENOSPC", path);
    const known = place.disk.folder(place.folder).names.get(name);
    const inode = known ?? place.disk.create(place.folder, name, this.parts.scheduler.nowMs());
    inode.now = { bytes: text.length, allocatedBytes: BLOCK, text, writtenFor: undefined };
    inode.synced = inode.now;
  }

  /** Without enough room, the call fails and still takes the room that there is. */
  allocate(path: string, bytes: number): void {
    const { place, pool } = this.nameAt(path);
    const inode = this.inodeAt(this.nameAt(path));
    const wanted = Math.max(0, bytes - inode.now.allocatedBytes);
    const given = Math.min(wanted, place.disk.freeBytes);
    inode.now = { ...inode.now, allocatedBytes: inode.now.allocatedBytes + given };
    if (given < wanted) throw failed("ENOSPC", `fallocate ${path}`);
    inode.now = { ...inode.now, bytes: Math.max(inode.now.bytes, bytes) };
    this.parts.witness.onAllocated(place.disk, pool);
  }

  truncate(path: string, bytes: number): void {
    const { name, pool } = this.nameAt(path);
    const inode = this.inodeAt(this.nameAt(path));
    if (bytes < inode.now.bytes) this.parts.witness.onErase(inode, name, pool);
    const { now } = inode;
    const isEmpty = bytes === 0;
    inode.now = {
      ...now,
      bytes,
      allocatedBytes: Math.min(now.allocatedBytes, bytes),
      writtenFor: isEmpty ? undefined : now.writtenFor,
    };
  }

  sync(path: string): void {
    const found = this.findAt(path);
    if (found.kind === "folder") found.place.disk.syncFolder(found.place.folder);
    if (found.kind !== "name") return;
    const inode = this.inodeAt(found);
    inode.synced = inode.now;
  }

  rename(from: string, to: string): void {
    const { links } = this.parts.kernel;
    const target = links.get(from);
    if (target !== undefined) {
      links.delete(from);
      links.set(to, target);
      return;
    }
    const { place, name, pool } = this.nameAt(from);
    const next = this.nameAt(to).name;
    const inode = this.inodeAt(this.nameAt(from));
    // The keeper renames an image to .partial once no volume needs it any more.
    if (next.endsWith(".partial")) this.parts.witness.onErase(inode, name, pool);
    if (next === "pool.json") this.parts.witness.onBegin(place, pool);
    const replaced = place.disk.folder(place.folder).names.get(next);
    if (replaced !== undefined && replaced !== inode) this.parts.witness.onErase(replaced, next, pool);
    place.disk.change(place.folder, (names) => {
      names.delete(name);
      names.set(next, inode);
    });
  }

  unlink(path: string): boolean {
    const { links } = this.parts.kernel;
    if (path.startsWith("/run/")) return links.delete(path);
    const { place, name, pool } = this.nameAt(path);
    const inode = place.disk.folder(place.folder).names.get(name);
    if (inode === undefined) return false;
    this.parts.witness.onErase(inode, name, pool);
    place.disk.change(place.folder, (names) => void names.delete(name));
    return true;
  }

  symlink(target: string, path: string): void {
    if (this.parts.kernel.links.has(path)) throw failed("EEXIST", path);
    this.parts.kernel.links.set(path, target);
  }

  configure(fd: number, descriptor: number): void {
    const file = this.handleAt(descriptor);
    if (file.kind !== "file") throw failed("EBADF", "LOOP_CONFIGURE");
    const { place, inode, name, pool } = file;
    this.parts.kernel.configure(this.loopOf(fd), {
      kind: "image",
      inode,
      disk: place.disk,
      folder: place.folder,
      pool,
      name,
    });
  }

  setStatus(fd: number, info: Buffer): void {
    this.parts.kernel.loop(this.loopOf(fd)).isAutoclear = (info.readUInt32LE(FLAGS) & AUTOCLEAR) !== 0;
  }

  refreshSize(fd: number): void {
    const loop = this.parts.kernel.loop(this.loopOf(fd));
    if (loop.backing?.kind === "image") loop.bytes = loop.backing.inode.now.bytes;
  }

  clearLoop(fd: number): void {
    this.parts.kernel.clear(this.loopOf(fd));
  }

  writeSetting(path: string, text: string): void {
    const [, number] = /^\/sys\/block\/loop(\d+)\/queue\/discard_max_bytes$/.exec(path) ?? [];
    this.parts.kernel.loop(Number(number)).discards = text;
  }
}
