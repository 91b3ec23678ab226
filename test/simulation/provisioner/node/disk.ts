import type { Dice } from "../../world/dice.ts";

/** What of a file a power cut can take back to its last fsync(2). */
interface Content {
  readonly bytes: number;
  readonly allocatedBytes: number;
  readonly text: string;
  /** The volume whose pod wrote into it last; nothing while it is zeros. */
  readonly writtenFor: string | undefined;
}

/** A file of a simulated disk. */
export interface Inode {
  readonly number: number;
  /** When it was made, true time. Copies of a disk keep it. */
  readonly bornMs: number;
  now: Content;
  synced: Content;
}

type Names = Map<string, Inode>;

/** A folder: its names as they are, as they are on the disk, and the changes in between in their order. */
interface Folder {
  names: Names;
  durable: Names;
  pending: ((names: Names) => void)[];
}

const NOTHING: Content = { bytes: 0, allocatedBytes: 0, text: "", writtenFor: undefined };
export const BLOCK = 4_096;

/** A filesystem: folders without folders in them, on blocks that can run out. */
export class Disk {
  readonly id: number;
  readonly bytes: number;
  /** What files of others take. */
  otherBytes = 0;
  /** When that changed last, true time. */
  filledMs = Number.NEGATIVE_INFINITY;
  /** Files that a loop device shows: they keep their blocks without a name, too. */
  readonly held = new Set<Inode>();
  readonly #folders = new Map<string, Folder>();
  #inodes = 10;

  constructor(id: number, bytes: number) {
    this.id = id;
    this.bytes = bytes;
  }

  /** As `/proc/self/mountinfo` has it. */
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

  /** Changes names now, and on the disk when the folder is synced, or by chance. */
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

  /** What was not synced may be there or not: of names the first changes, of each file's content either state. */
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

  /** What was done is on the disk: an unmount. */
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

  /** Puts back what `copy` gave. */
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
