import { textAt } from "../../engine/api/json.ts";
import type { ApiObject } from "../../engine/api/objects.ts";
import type { Disk, Inode } from "../node/disk.ts";
import type { NodeKernel, Place } from "../node/kernel.ts";
import { NODE_LABEL, POOL, POOL_FILE } from "./controllers.ts";
import { ErasePermissions } from "./erase-permissions.ts";

/** A rule that a provisioner broke. */
export class BrokenRule extends Error {
  readonly rule: string;

  constructor(rule: string, detail: string) {
    super(`${rule}: ${detail}`);
    this.rule = rule;
  }
}

/** Image names. The world parses them by itself, without the product's code. */
const IMAGE = /^(pvc-[0-9a-f-]{36})\.(partial|made|img)$/;

/** The volume and the state in a file's name. */
export function imageName(name: string): { readonly volume: string; readonly ending: string } | undefined {
  const [, volume, ending] = IMAGE.exec(name) ?? [];
  return volume === undefined || ending === undefined ? undefined : { volume, ending };
}

/** Where and when an image is erased. */
interface Eraser {
  readonly kernel: NodeKernel;
  readonly node: string;
  readonly nowMs: number;
}

/** A pool that begins, and the existing PersistentVolumes. */
interface Beginner {
  readonly pool: string;
  readonly node: string;
  readonly nowMs: number;
  readonly volumes: readonly ApiObject[];
}

/** A keeper allocates this soon after it has checked the room. Milliseconds. */
const CHECKED_MS = 5_000;
/** By then every cache has the PersistentVolumes that name a pool. Milliseconds. */
const KNOWN_MS = 30_000;

/**
 * Judges by the truth alone: the content of kernels and disks, what pods wrote, and what the API server stores. It shares no code with the
 * product.
 */
export class Judge {
  broken: BrokenRule | undefined;
  readonly figures: Record<string, number> = {};
  readonly permissions = new ErasePermissions();
  /** Volumes with data of a pod. */
  readonly #written = new Set<string>();
  /** Volumes whose disk was lost or is an older copy: their data may be gone, and they may be blank again. */
  readonly #excused = new Set<string>();
  /** Since when a volume has a PersistentVolume, in true time. */
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
    // The judge checked the image when it got the name .partial.
    if (image.ending === "partial") return;
    const { untilMs, isThere } = this.permissions.of(image.volume, node);
    const isNew = image.ending === "made" && !isThere && inode.now.writtenFor === undefined;
    if (!isNew && untilMs < nowMs)
      this.fail("erased-without-permission", `${name} of ${node} is erased, and its PersistentVolume did not allow it`);
  }

  /** A folder becomes a pool: it must not be one already, nor take the place of a pool with volumes. */
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

  /** Every promised byte is there: the images have their blocks, and the reserve is free. */
  onAllocated(disk: Disk, reserveBytes: number, nowMs: number): void {
    for (const { now } of disk.inodes)
      if (now.allocatedBytes < now.bytes)
        this.fail("overcommitted", `an image of ${now.bytes} bytes has ${now.allocatedBytes}`);
    // Other files can take the room between the keeper's check and its allocation.
    if (disk.freeBytes < reserveBytes && nowMs - disk.filledMs > CHECKED_MS)
      this.fail("overcommitted", `${disk.freeBytes} bytes are left of a reserve of ${reserveBytes}`);
    this.count("images reserved or grown");
  }

  /** A link leads to a device: the device has to be ready. */
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

  /** A kubelet or a pod starts to use the device that a volume's link leads to. */
  onUse(inode: Inode, { volume, capacityBytes }: { readonly volume: string; readonly capacityBytes: number }): void {
    const { writtenFor, bytes } = inode.now;
    this.count("uses");
    if (writtenFor !== undefined && writtenFor !== volume)
      this.fail("data-of-another", `${volume} shows what was written for ${writtenFor}`);
    if (writtenFor === undefined && this.#written.has(volume) && !this.#excused.has(volume))
      this.fail("data-lost", `${volume} is blank, and data was written into it`);
    const publishedMs = this.#publishedMs.get(volume) ?? Number.POSITIVE_INFINITY;
    if (inode.bornMs > publishedMs)
      this.fail("recreated", `the image of ${volume} is younger than its PersistentVolume`);
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
