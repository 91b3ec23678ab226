import type { Disk, Inode } from "./disk.ts";

/** The place of a folder: on a mounted disk, or on the node's own. */
export interface Place {
  readonly disk: Disk;
  readonly folder: string;
  readonly isMount: boolean;
}

/** The backing of a loop device: a file of a pool, or a foreign file. */
type Backing =
  | {
      readonly kind: "image";
      readonly inode: Inode;
      readonly disk: Disk;
      readonly folder: string;
      readonly pool: string;
      name: string;
    }
  | { readonly kind: "other"; readonly path: string };

export interface Loop {
  readonly number: number;
  backing: Backing | undefined;
  bytes: number;
  isAutoclear: boolean;
  discards: string;
}

export interface Mount {
  /** `host`, or a private copy of it. */
  readonly namespace: string;
  readonly point: string;
  readonly loop: number;
  /** A bind of the device node, not of its filesystem. */
  readonly isNode: boolean;
}

/** What a file descriptor refers to. */
export type Handle = { readonly owner: string } & (
  | { readonly kind: "folder"; readonly place: Place; readonly pool: string }
  | {
      readonly kind: "file";
      readonly place: Place;
      readonly pool: string;
      readonly name: string;
      readonly inode: Inode;
    }
  | { readonly kind: "loop"; readonly loop: number; readonly isExclusive: boolean }
  | { readonly kind: "control" }
);

/** A failed system call. */
export function failed(code: string, call: string): Error {
  return Object.assign(new Error(`${code}: ${call}`), { code });
}

/** The kernel's memory: a reboot makes a new one. */
export class NodeKernel {
  readonly pools: Map<string, Place>;
  readonly loops = new Map<number, Loop>();
  readonly links = new Map<string, string>();
  readonly mounts = new Set<Mount>();
  readonly handles = new Map<number, Handle>();
  #descriptors = 20;

  constructor(pools: Map<string, Place>) {
    this.pools = pools;
  }

  open(handle: Handle): number {
    this.#descriptors += 1;
    this.handles.set(this.#descriptors, handle);
    return this.#descriptors;
  }

  openLoop(number: number, isExclusive: boolean, owner: string): number {
    if (isExclusive && this.#isClaimed(number)) throw failed("EBUSY", `open /dev/loop${number}`);
    return this.open({ kind: "loop", loop: number, isExclusive, owner });
  }

  /** The last close of a device with a pending detach detaches it. */
  close(descriptor: number): void {
    const handle = this.handles.get(descriptor);
    this.handles.delete(descriptor);
    if (handle?.kind === "loop") this.#settle(handle.loop);
  }

  closeAll(owner: string): void {
    for (const [descriptor, handle] of this.handles) if (handle.owner === owner) this.close(descriptor);
  }

  loop(number: number): Loop {
    const known = this.loops.get(number);
    if (known !== undefined) return known;
    const fresh: Loop = { number, backing: undefined, bytes: 0, isAutoclear: false, discards: "4294966784" };
    this.loops.set(number, fresh);
    return fresh;
  }

  freeLoop(): number {
    let number = 0;
    while (this.loops.get(number)?.backing !== undefined) number += 1;
    return this.loop(number).number;
  }

  configure(number: number, backing: Backing): void {
    const loop = this.loop(number);
    if (loop.backing !== undefined) throw failed("EBUSY", "LOOP_CONFIGURE");
    loop.backing = backing;
    loop.isAutoclear = false;
    loop.discards = "4294966784";
    if (backing.kind !== "image") return;
    loop.bytes = backing.inode.now.bytes;
    backing.disk.held.add(backing.inode);
  }

  clear(number: number): void {
    const loop = this.loop(number);
    if (loop.backing === undefined) throw failed("ENXIO", "LOOP_CLR_FD");
    loop.isAutoclear = true;
  }

  /** A filesystem cannot be mounted while another process has the device open exclusively. */
  mount(mount: Mount): void {
    const isProtected = [...this.handles.values()].some(
      (one) => one.kind === "loop" && one.loop === mount.loop && one.isExclusive,
    );
    if (!mount.isNode && isProtected) throw failed("EBUSY", `mount /dev/loop${mount.loop}`);
    if (this.loops.get(mount.loop)?.backing === undefined) throw failed("ENXIO", `mount /dev/loop${mount.loop}`);
    this.mounts.add(mount);
  }

  unmount(mount: Mount): void {
    this.mounts.delete(mount);
    this.#settle(mount.loop);
  }

  /** The loop device that a path leads to now. */
  deviceAt(path: string): number | undefined {
    const number = Number(/^\/dev\/loop(\d+)$/.exec(this.links.get(path) ?? path)?.[1] ?? Number.NaN);
    return Number.isNaN(number) || this.loops.get(number)?.backing === undefined ? undefined : number;
  }

  /** The users of the devices that show a file: mounts in any namespace, devices on top, programs of pods. */
  usersOf(inode: Inode): readonly string[] {
    const shown = [...this.loops.values()].filter(
      ({ backing }) => backing?.kind === "image" && backing.inode === inode,
    );
    return shown.flatMap(({ number }) => [
      ...[...this.mounts]
        .filter(({ loop }) => loop === number)
        .map(({ namespace, point }) => `${namespace} mount ${point}`),
      ...[...this.handles.values()]
        .filter((one) => one.kind === "loop" && one.loop === number && one.owner.startsWith("pod"))
        .map(({ owner }) => `${owner} with /dev/loop${number} open`),
      ...this.#stackedOn(number).map((stacked) => `loop${stacked.number} on loop${number}`),
    ]);
  }

  backingFile({ backing }: Loop): string | undefined {
    if (backing === undefined) return undefined;
    if (backing.kind === "other") return backing.path;
    const { disk, folder, inode, pool } = backing;
    for (const [name, file] of disk.folder(folder).names) if (file === inode) backing.name = name;
    const isThere = disk.folder(folder).names.get(backing.name) === inode;
    return `/pools/${pool}/${backing.name}${isThere ? "" : " (deleted)"}`;
  }

  #stackedOn(number: number): readonly Loop[] {
    return [...this.loops.values()].filter(
      ({ backing }) => backing?.kind === "other" && backing.path === `/dev/loop${number}`,
    );
  }

  #isClaimed(number: number): boolean {
    const isMounted = [...this.mounts].some(({ loop, isNode }) => loop === number && !isNode);
    return (
      isMounted ||
      [...this.handles.values()].some((one) => one.kind === "loop" && one.loop === number && one.isExclusive)
    );
  }

  #settle(number: number): void {
    const loop = this.loop(number);
    const isOpen = [...this.handles.values()].some((one) => one.kind === "loop" && one.loop === number);
    const isMounted = [...this.mounts].some((one) => one.loop === number && !one.isNode);
    if (!loop.isAutoclear || isOpen || isMounted || this.#stackedOn(number).length > 0) return;
    if (loop.backing?.kind === "image") loop.backing.disk.held.delete(loop.backing.inode);
    loop.backing = undefined;
    loop.isAutoclear = false;
  }
}
