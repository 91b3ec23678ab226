import type { ImageState, KeeperRefusal, RequestOf } from "../protocol.ts";
import { fileOf } from "./core/names.ts";
import { refuse } from "./core/refusal.ts";
import { imageBytes } from "./core/space.ts";
import type { Locks } from "./locks.ts";
import type { LoopDevices } from "./loop-devices.ts";
import type { NodeActions } from "./node-actions.ts";
import type { NodeFiles } from "./node-files.ts";
import type { PoolImage } from "./pool-folder.ts";
import type { OpenPool, Pools } from "./pools.ts";
import type { VolumeLinks } from "./volume-link.ts";

export interface VolumeParts {
  readonly files: NodeFiles;
  readonly pools: Pools;
  readonly loops: LoopDevices;
  readonly links: VolumeLinks;
  readonly actions: NodeActions;
  readonly locks: Locks;
}

type ImageReply = { readonly ok: true; readonly image: ImageState };
type Answer = Promise<ImageReply | KeeperRefusal>;

/**
 * Reserves a new image and attaches it, but without its link: no pod may write to it before a PersistentVolume is known to name it.
 * Completes what an earlier attempt left: only a whole image loses the suffix `.partial`.
 */
export async function make(parts: VolumeParts, request: RequestOf<"make">, pool: OpenPool): Answer {
  const { volume } = request;
  const bytes = imageBytes(request.bytes);
  const image = await find(pool, volume);
  if (image === undefined || image.state === "partial") {
    const elsewhere = await poolOf(parts.pools, { volume, except: pool.name });
    if (elsewhere !== undefined) return refuse("failed", `the volume is in pool ${elsewhere} already`);
    const refusal = await reserve(parts, { volume, bytes }, pool);
    if (refusal !== undefined) return refusal;
    return await show(parts, pool, { volume, state: "made", bytes });
  }
  if (image.state === "published" && image.bytes < bytes)
    return refuse("failed", `the image is published with ${image.bytes} bytes, ${bytes} are asked for: use grow`);
  const refusal = await extend(parts, { image, bytes }, pool);
  if (refusal !== undefined) return refusal;
  // A crash may have come between the rename and this call.
  await parts.actions.sync(pool.at("."));
  return await show(parts, pool, { ...image, bytes: Math.max(image.bytes, bytes) });
}

/** A PersistentVolume names the image: from now on it may be used, and is never deleted for lack of a PersistentVolume. */
export async function publish(parts: VolumeParts, { volume }: RequestOf<"publish">, pool: OpenPool): Answer {
  const image = await find(pool, volume);
  if (image === undefined || image.state === "partial") return notFound(pool, volume);
  const published = { volume, state: "published" } as const;
  if (image.state === "made") await parts.actions.rename(pool.at(fileOf(image)), pool.at(fileOf(published)));
  await parts.actions.sync(pool.at("."));
  return await attachTo(parts, pool, { ...published, bytes: image.bytes });
}

/** Never creates an image. A link without its image must be removed: its device may soon belong to another volume. */
export async function attach(parts: VolumeParts, { volume }: RequestOf<"attach">, pool: OpenPool): Answer {
  const image = await find(pool, volume);
  if (image !== undefined && image.state !== "partial") return await attachTo(parts, pool, image);
  await parts.links.remove(volume);
  return notFound(pool, volume);
}

export async function grow(parts: VolumeParts, request: RequestOf<"grow">, pool: OpenPool): Answer {
  const { volume } = request;
  const bytes = imageBytes(request.bytes);
  const image = await find(pool, volume);
  if (image === undefined || image.state === "partial") return notFound(pool, volume);
  const refusal = await extend(parts, { image, bytes }, pool);
  return refusal ?? (await attachTo(parts, pool, { ...image, bytes: Math.max(image.bytes, bytes) }));
}

/** The image of a volume in a pool. */
export async function find(pool: OpenPool, volume: string): Promise<PoolImage | undefined> {
  return (await pool.images()).find((image) => image.volume === volume);
}

/** Another pool of this node that has the volume. */
async function poolOf(
  pools: Pools,
  { volume, except }: { readonly volume: string; readonly except: string },
): Promise<string | undefined> {
  for (const name of pools.names) {
    if (name === except) continue;
    const opened = await pools.open({ pool: name });
    if (!opened.ok) continue;
    await using pool = opened.pool;
    if ((await find(pool, volume)) !== undefined) return name;
  }
  return undefined;
}

/** Checks for room and allocates it, one request per filesystem at a time: two requests must not count on the same room. */
async function reserve(
  { pools, actions, locks }: VolumeParts,
  { volume, bytes }: { readonly volume: string; readonly bytes: number },
  pool: OpenPool,
): Promise<KeeperRefusal | undefined> {
  const partial = pool.at(fileOf({ volume, state: "partial" }));
  return await locks.run(`room ${pool.device}`, async () => {
    // The rest of an earlier attempt may be incomplete.
    await actions.unlink(partial);
    const { freeBytes } = await pools.space(pool);
    if (freeBytes < bytes) return noSpace(pool, { freeBytes, bytes });
    try {
      await actions.createFile(partial);
      await actions.allocate(partial, bytes);
      await actions.sync(partial);
    } catch (error) {
      await actions.unlink(partial);
      throw error;
    }
    await actions.rename(partial, pool.at(fileOf({ volume, state: "made" })));
    await actions.sync(pool.at("."));
    return undefined;
  });
}

/** Extends an image; one that is long enough stays as it is. In both cases its length is then on the disk. */
async function extend(
  { pools, actions, locks }: VolumeParts,
  { image, bytes }: { readonly image: PoolImage; readonly bytes: number },
  pool: OpenPool,
): Promise<KeeperRefusal | undefined> {
  const path = pool.at(fileOf(image));
  if (image.bytes >= bytes) {
    // A crash may have come between the allocation and this call.
    await actions.sync(path);
    return undefined;
  }
  return await locks.run(`room ${pool.device}`, async () => {
    const { freeBytes } = await pools.space(pool);
    if (freeBytes < bytes - image.bytes) return noSpace(pool, { freeBytes, bytes: bytes - image.bytes });
    try {
      await actions.allocate(path, bytes);
      await actions.sync(path);
    } catch (error) {
      // The filesystem keeps the blocks that it could allocate. No device shows them yet.
      await actions.truncate(path, image.bytes);
      throw error;
    }
    return undefined;
  });
}

async function show(
  { loops, links }: VolumeParts,
  pool: OpenPool,
  image: Pick<PoolImage, "volume" | "state" | "bytes">,
): Promise<ImageReply> {
  const device = await loops.attach({ volume: image.volume, path: pool.at(fileOf(image)) });
  return reply(pool, image, (await links.leadsTo(image.volume, device)) ? device : undefined);
}

async function attachTo(
  { loops, links }: VolumeParts,
  pool: OpenPool,
  image: Pick<PoolImage, "volume" | "state" | "bytes">,
): Promise<ImageReply> {
  const device = await loops.attach({ volume: image.volume, path: pool.at(fileOf(image)) });
  await links.point(image.volume, device);
  return reply(pool, image, device);
}

function reply(
  pool: OpenPool,
  { volume, state, bytes }: Pick<PoolImage, "volume" | "state" | "bytes">,
  device: string | undefined,
): ImageReply {
  return { ok: true, image: { volume, pool: pool.name, bytes, state, ...(device !== undefined && { device }) } };
}

function notFound(pool: OpenPool, volume: string): KeeperRefusal {
  return refuse("not-found", `pool ${pool.name} has no image of ${volume}`);
}

function noSpace(pool: OpenPool, { freeBytes, bytes }: { freeBytes: number; bytes: number }): KeeperRefusal {
  return refuse("no-space", `pool ${pool.name} has ${freeBytes} bytes left, ${bytes} are needed`);
}
