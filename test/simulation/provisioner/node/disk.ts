import type { Dice } from "../../world/dice.ts";

/** The part of a file that a power cut can take back to its last fsync(2). */
interface Content {
  readonly bytes: number;
  readonly allocatedBytes: number;
  readonly text: string;
  /** The volume whose pod last wrote into it; undefined while it is zeros. */
  readonly writtenFor: string | undefined;
}

/** A file of a simulated disk. */
export interface Inode {
  readonly number: number;
  /** Its creation, in true time. Copies of a disk keep it. */
  readonly bornMs: number;
  now: Content;
  synced: Content;
}

type Names = Map<string, Inode>;

/** A folder: its names in memory, its names on the disk, and the changes in between in their order. */
interface Folder {
  names: Names;
  durable: Names;
  pending: ((names: Names) => void)[];
}

const NOTHING: Content = { bytes: 0, allocatedBytes: 0, text: "", writtenFor: undefined };
export const BLOCK = 4_096;

/** A filesystem: flat folders, on blocks that can run out. */
export class Disk {
  readonly id: number;
  readonly bytes: number;
  /** Bytes that other files take. */
  otherBytes = 0;
  /** The last change of that, in true time. */
  filledMs = Number.NEGATIVE_INFINITY;
  /** Files behind a loop device: they keep their blocks even without a name. */
  readonly held = new Set<Inode>();
  readonly #folders = new Map<string, Folder>();
  #inodes = 10;

  constructor(id: number, bytes: number) {
    this.id = id;
    this.bytes = bytes;
  }

  /** The number in `/proc/self/mountinfo`. */
  get number(): string {
    return `259:${this.id}`;
  }

  folder(name: string): Folder {
    const known = this.#folders.get(name);
    if (known !== undefined) return known;
    const fresh: Folder = { names: new Map(), durable: new Map(), pending: [] };
    this.#folders.set(name, fresh);
    return fresh;
  }

  get inodes(): ReadonlySet<Inode> {
    const linked = [...this.#folders.values()].flatMap(({ names }) => [...names.values()]);
    return new Set([...linked, ...this.held]);
  }

  get freeBytes(): number {
    let taken = this.otherBytes;
    for (const { now } of this.inodes) taken += now.allocatedBytes;
    return Math.max(0, this.bytes - taken);
  }

  create(folder: string, name: string, bornMs: number): Inode {
    this.#inodes += 1;
    const inode: Inode = { number: this.#inodes, bornMs, now: NOTHING, synced: NOTHING };
    this.change(folder, (names) => void names.set(name, inode));
    return inode;
  }

  /** Changes names in memory. The disk has the change after a sync of the folder, or by chance. */
  change(folder: string, change: (names: Names) => void): void {
    const { names, pending } = this.folder(folder);
    change(names);
    pending.push(change);
  }

  syncFolder(folder: string): void {
    const kept = this.folder(folder);
    kept.durable = new Map(kept.names);
    kept.pending = [];
  }

  /** A power cut. What was not synced may be there or not: the first name changes, and either state of each file's content. */
  cut(dice: Dice): void {
    this.held.clear();
    for (const folder of this.#folders.values()) {
      const names = new Map(folder.durable);
      for (const change of folder.pending.slice(0, dice.between(0, folder.pending.length))) change(names);
      folder.names = names;
      folder.durable = new Map(names);
      folder.pending = [];
      for (const inode of names.values()) {
        if (dice.chance(0.6)) inode.now = inode.synced;
        inode.synced = inode.now;
      }
    }
  }

  /** An unmount: everything is on the disk. */
  flush(): void {
    this.held.clear();
    for (const [name, { names }] of this.#folders) {
      for (const inode of names.values()) inode.synced = inode.now;
      this.syncFolder(name);
    }
  }

  wipe(): void {
    this.#folders.clear();
    this.held.clear();
  }

  /** Returns a function that restores the present content. */
  copy(): () => void {
    const saved = [...this.#folders].map(([name, { names }]) => ({
      name,
      files: [...names].map(([file, inode]) => ({ file, inode: { ...inode, synced: inode.now } })),
    }));
    return () => {
      this.wipe();
      for (const { name, files } of saved) {
        for (const { file, inode } of files) this.folder(name).names.set(file, { ...inode });
        this.syncFolder(name);
      }
    };
  }
}
