import { textAt } from "../../engine/api/json.ts";
import type { ApiObject } from "../../engine/api/objects.ts";
import type { Disk, Inode } from "../node/disk.ts";
import type { NodeKernel, Place } from "../node/kernel.ts";
import { NODE_LABEL, POOL, POOL_FILE } from "./controllers.ts";
import { Licences } from "./licences.ts";

/** A rule that a provisioner broke. */
export class BrokenRule extends Error {
  readonly rule: string;

  constructor(rule: string, detail: string) {
    super(`${rule}: ${detail}`);
    this.rule = rule;
  }
}

/** Names of images that a judge can read: this is the world's own reading of a pool. */
const IMAGE = /^(pvc-[0-9a-f-]{36})\.(partial|made|img)$/;

/** The volume and the state that a file's name tells. */
export function imageName(name: string): { readonly volume: string; readonly ending: string } | undefined {
  const [, volume, ending] = IMAGE.exec(name) ?? [];
  return volume === undefined || ending === undefined ? undefined : { volume, ending };
}

/** On which node something is erased, and when. */
interface Eraser {
  readonly kernel: NodeKernel;
  readonly node: string;
  readonly nowMs: number;
}

/** Who begins which pool, and what PersistentVolumes there are. */
interface Beginner {
  readonly pool: string;
  readonly node: string;
  readonly nowMs: number;
  readonly volumes: readonly ApiObject[];
}

/** A keeper allocates so soon after its look at the room. Milliseconds. */
const LOOKED_MS = 5_000;
/** PersistentVolumes that name a pool are in every copy by then. Milliseconds. */
const KNOWN_MS = 30_000;

/**
 * Judges by the truth alone: what kernels and disks have, what pods wrote, and what the API server stores. It shares no code with the product.
 */
export class Judge {
  broken: BrokenRule | undefined;
  readonly figures: Record<string, number> = {};
  readonly licences = new Licences();
  /** Volumes in which a pod's data is. */
  readonly #written = new Set<string>();
  /** Volumes whose disk was lost or is an older copy: their data may be gone, and blank what was blank then. */
  readonly #excused = new Set<string>();
  /** Since when there is a PersistentVolume of a volume, true time. */
  readonly #publishedMs = new Map<string, number>();
  readonly #wasPublished = new Set<string>();

  count(what: string, by = 1): void {
    this.figures[what] = (this.figures[what] ?? 0) + by;
  }

  fail(rule: string, detail: string): void {
    this.broken ??= new BrokenRule(rule, detail);
  }

  excuse(volume: string): void {
    this.#excused.add(volume);
  }

  isExcused(volume: string): boolean {
    return this.#excused.has(volume);
  }

  wasWritten(volume: string): boolean {
    return this.#written.has(volume);
  }

  wasPublished(volume: string): boolean {
    return this.#wasPublished.has(volume);
  }

  onPublished(volume: string, nowMs: number): void {
    this.#wasPublished.add(volume);
    if (!this.#publishedMs.has(volume)) this.#publishedMs.set(volume, nowMs);
  }

  onUnpublished(volume: string): void {
    this.#publishedMs.delete(volume);
  }

  onErase(inode: Inode, name: string, { kernel, node, nowMs }: Eraser): void {
    const image = imageName(name);
    if (image === undefined) return;
    const [user] = kernel.usersOf(inode);
    if (user !== undefined) this.fail("erased-in-use", `${name} is erased although it is used: ${user}`);
    this.count("images erased");
    // What is called so was judged when it got the name.
    if (image.ending === "partial") return;
    const { untilMs, isThere } = this.licences.of(image.volume, node);
    const isNew = image.ending === "made" && !isThere && inode.now.writtenFor === undefined;
    if (!isNew && untilMs < nowMs)
      this.fail("erased-without-licence", `${name} of ${node} is erased, and its PersistentVolume did not allow it`);
  }

  /** A folder becomes a pool: never one that is one, and never in the place of one that volumes are in. */
  onBegin({ disk, folder }: Place, { pool, node, nowMs, volumes }: Beginner): void {
    if (disk.folder(folder).names.has(POOL_FILE)) this.fail("begun-over", `pool ${pool} of ${node} is begun again`);
    const named = volumes.find(
      ({ metadata }) =>
        textAt(metadata.labels, NODE_LABEL) === node &&
        textAt(metadata.annotations, POOL) === pool &&
        nowMs - (this.#publishedMs.get(metadata.name) ?? nowMs) > KNOWN_MS,
    );
    if (named !== undefined)
      this.fail("begun-over", `pool ${pool} of ${node} is begun although ${named.metadata.name} is in it`);
  }

  /** Every byte that is promised is there: the images have their blocks, and the reserve is left. */
  onAllocated(disk: Disk, reserveBytes: number, nowMs: number): void {
    for (const { now } of disk.inodes)
      if (now.allocatedBytes < now.bytes)
        this.fail("overcommitted", `an image of ${now.bytes} bytes has ${now.allocatedBytes}`);
    // Others can take the room between the keeper's look and its allocation.
    if (disk.freeBytes < reserveBytes && nowMs - disk.filledMs > LOOKED_MS)
      this.fail("overcommitted", `${disk.freeBytes} bytes are left of a reserve of ${reserveBytes}`);
    this.count("images reserved or grown");
  }

  /** A link leads to a device: whoever follows it must find it ready. */
  onDevice(
    kernel: NodeKernel,
    { number, inode, volume }: { readonly number: number; readonly inode: Inode; readonly volume: string },
  ): void {
    if (kernel.loop(number).discards !== "0")
      this.fail("discards", `the device of ${volume} takes discards, which give its blocks away`);
    const shown = [...kernel.loops.values()].filter(
      ({ backing }) => backing?.kind === "image" && backing.inode === inode,
    );
    if (shown.length > 1) this.fail("two-devices", `${shown.length} loop devices show the image of ${volume}`);
  }

  /** A kubelet or a pod begins to use what the link of a volume leads to. */
  onUse(inode: Inode, { volume, capacityBytes }: { readonly volume: string; readonly capacityBytes: number }): void {
    const { writtenFor, bytes } = inode.now;
    this.count("uses");
    if (writtenFor !== undefined && writtenFor !== volume)
      this.fail("data-of-another", `${volume} shows what was written for ${writtenFor}`);
    if (writtenFor === undefined && this.#written.has(volume) && !this.#excused.has(volume))
      this.fail("data-lost", `${volume} is blank, and data was written into it`);
    const publishedMs = this.#publishedMs.get(volume) ?? Number.POSITIVE_INFINITY;
    if (inode.bornMs > publishedMs)
      this.fail("made-anew", `the image of ${volume} is younger than its PersistentVolume`);
    if (bytes < capacityBytes && !this.#excused.has(volume))
      this.fail("too-small", `${volume} has ${bytes} bytes of ${capacityBytes}`);
  }

  onWritten(inode: Inode, volume: string): void {
    inode.now = { ...inode.now, writtenFor: volume };
    // Its size and its blocks are as durable as the keeper has made them.
    inode.synced = { ...inode.synced, writtenFor: volume };
    this.#written.add(volume);
  }
}
