/** A mount as the kernel of a simulated node keeps it. Follows proc_pid_mountinfo(5), not Mooring's parser. */
export interface Mount {
  readonly id: number;
  readonly parentId: number;
  /** major:minor */
  readonly device: string;
  readonly root: string;
  readonly point: string;
  readonly fsType: string;
  readonly source: string;
  readonly options: string;
  /** True time. */
  readonly sinceMs: number;
}

export type NewMount = Pick<Mount, "point"> & Partial<Pick<Mount, "device" | "root" | "fsType" | "source" | "options">>;

/** A mount that is gone, and the mount that followed it in the table. */
interface Unmounted {
  readonly mount: Mount;
  readonly atMs: number;
  readonly next: Mount | undefined;
}

/** The mount table of one boot of a node. Times are true time. */
export class MountTable {
  readonly #now: () => number;
  readonly #listeners = new Set<() => void>();
  #mounts: Mount[] = [];
  #unmounted: Unmounted[] = [];

  constructor(now: () => number) {
    this.#now = now;
  }

  get all(): readonly Mount[] {
    return this.#mounts;
  }

  /** The listener runs after each change, as the kernel wakes a poll of the table. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Mounts on top of anything that is mounted there. */
  mount({ point, device = "8:1", root = "/", fsType = "ext4", source = "/dev/sda1", options = "rw" }: NewMount): void {
    const parent = this.#topAt(point) ?? this.#mounts.findLast((one) => isAbove(one.point, point));
    const ids = { id: this.#freeId(), parentId: parent?.id ?? 1 };
    this.#mounts.push({ ...ids, point, device, root, fsType, source, options, sinceMs: this.#now() });
    this.#notify();
  }

  /** Unmounts the topmost mount of a mount point. False where nothing is mounted. */
  unmount(point: string): boolean {
    const top = this.#topAt(point);
    if (top === undefined) return false;
    const next = this.#mounts[this.#mounts.indexOf(top) + 1];
    this.#unmounted = [...this.#unmounted, { mount: top, atMs: this.#now(), next }].slice(-16);
    this.#mounts = this.#mounts.filter((one) => one !== top);
    this.#notify();
    return true;
  }

  /** Since when, by true time, the mount point has had a mount; undefined without one. */
  mountedSince(point: string): number | undefined {
    return this.#mounts.find((one) => one.point === point)?.sinceMs;
  }

  /** The same mount ID with other options. */
  remount(point: string, options: string): void {
    const top = this.#topAt(point);
    if (top === undefined) return;
    this.#mounts = this.#mounts.map((one) => (one === top ? { ...one, options } : one));
    this.#notify();
  }

  isMounted(point: string): boolean {
    return this.#topAt(point) !== undefined;
  }

  /** The mounts that were unmounted within the last `ms`. */
  unmountedSince(ms: number): readonly Unmounted[] {
    return this.#unmounted.filter(({ atMs }) => atMs >= this.#now() - ms);
  }

  #topAt(point: string): Mount | undefined {
    return this.#mounts.findLast((one) => one.point === point);
  }

  /** The kernel reuses IDs as soon as they are free (`ida_alloc`). */
  #freeId(): number {
    const used = new Set(this.#mounts.map(({ id }) => id));
    let id = 20;
    while (used.has(id)) id += 1;
    return id;
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

function isAbove(folder: string, point: string): boolean {
  return folder === "/" || point.startsWith(`${folder}/`);
}

/** A line as the kernel writes it: (1) ID (2) parent (3) major:minor (4) root (5) mount point (6) options, fields, type, source, options. */
export function formatMount(mount: Mount): string {
  const known = lines.get(mount);
  if (known !== undefined) return known;
  const line = lineOf(mount);
  lines.set(mount, line);
  return line;
}

/** A mount is immutable and formatted often. */
const lines = new WeakMap<Mount, string>();

function lineOf({ id, parentId, device, root, point, fsType, source, options }: Mount): string {
  const head = `${id} ${parentId} ${device} ${escaped(root)} ${escaped(point)} ${options},relatime shared:${id}`;
  return `${head} - ${fsType} ${escaped(source)} ${options}\n`;
}

/** `seq_path` and `seq_escape`: three octal digits for characters that would end a field. */
function escaped(text: string): string {
  return text.replaceAll(/[ \t\n\\]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, "0")}`);
}
