import { constants } from "node:fs";
import { basename } from "node:path";
import type { MountInfoSource } from "../../common/mounts/mount-info-file.ts";
import type { KeeperRefusal, ReplyOf, RequestOf } from "../protocol.ts";
import { findHolder, type MountFinding } from "./core/holders.ts";
import { type Loop, orphansOf, stackedOn } from "./core/loops.ts";
import { fileOf, filesOf } from "./core/names.ts";
import { refuse } from "./core/refusal.ts";
import type { LoopDevices } from "./loop-devices.ts";
import type { NodeFiles } from "./node-files.ts";
import type { OpenPool } from "./pools.ts";
import { unlessCode } from "./system-error.ts";
import type { VolumeParts } from "./volume-images.ts";

export interface RemovalParts extends VolumeParts {
  readonly mountInfo: MountInfoSource;
  /** UID of the keeper's own pod, which the node's mount table shows. */
  readonly podUid: string | undefined;
}

/** A mount that begins between two reads of the table appears in the second. */
const SCANS = 2;

/**
 * Detaches and deletes an image that nothing uses. After a crash at any step the next request can go on: the link goes first, so that it
 * never points to a device that another volume may get; the file goes last, because its name is the record. A name that is no regular file
 * is no image, and stays.
 */
export async function remove(
  parts: RemovalParts,
  { volume }: RequestOf<"remove">,
  pool: OpenPool,
): Promise<ReplyOf<"remove"> | KeeperRefusal> {
  const files = await filesIn(parts.files, pool, volume);
  const shown = await devicesOf(parts.loops, { volume, paths: files.map(pool.at) });
  if (shown.length > 1) {
    const devices = shown.map(({ device }) => device).join(" and ");
    return refuse("in-use", `several loop devices show the image: ${devices}`);
  }
  const refusal = await release(parts, { volume, loop: shown[0] });
  if (refusal !== undefined) return refusal;
  if (files.length > 0) await erase(parts, { volume, files }, pool);
  // Also where nothing is left: a crash may have come between the unlinking and this call, and a power failure would bring the image back.
  await parts.actions.sync(pool.at("."));
  return { ok: true, removed: files.length > 0 };
}

async function filesIn(node: NodeFiles, pool: OpenPool, volume: string): Promise<readonly string[]> {
  const files: string[] = [];
  for (const name of filesOf(volume)) {
    if (!pool.names.includes(name)) continue;
    const file = await unlessCode("ENOENT", node.lstat(pool.at(name)));
    if (file?.isFile === true) files.push(name);
  }
  return files;
}

/**
 * XFS frees the blocks of an unlinked file some time later, but those of a truncated file at once: so the room is free when the reply is
 * sent. A truncated image must never be attached again, so it is renamed first.
 */
async function erase(
  { actions }: VolumeParts,
  { volume, files }: { readonly volume: string; readonly files: readonly string[] },
  pool: OpenPool,
): Promise<void> {
  const partial = fileOf({ volume, state: "partial" });
  for (const name of files) if (name !== partial) await actions.rename(pool.at(name), pool.at(partial));
  await actions.truncate(pool.at(partial), 0);
  await actions.unlink(pool.at(partial));
}

/** The devices that have any file of the volume, also one that was deleted by hand and keeps its room until its device is detached. */
async function devicesOf(
  loops: LoopDevices,
  { volume, paths }: { readonly volume: string; readonly paths: readonly string[] },
): Promise<readonly Loop[]> {
  const found = new Map<string, Loop>();
  for (const path of paths) for (const loop of await loops.showing({ volume, path })) found.set(loop.device, loop);
  for (const loop of orphansOf(await loops.list(), filesOf(volume))) found.set(loop.device, loop);
  return [...found.values()];
}

interface Release {
  readonly volume: string;
  /** The device that has the image, while there is one. */
  readonly loop: Loop | undefined;
}

async function release(parts: RemovalParts, { volume, loop }: Release): Promise<KeeperRefusal | undefined> {
  if (loop !== undefined) return await detach(parts, { volume, loop });
  const finding = await findStacked(parts.loops, { volume, loop });
  if (finding.kind === "held") return inUse(finding.by);
  await parts.links.remove(volume);
  return undefined;
}

/**
 * As long as the device is open exclusively, nothing can mount it, in any mount namespace. Any other user that has it open, such as the
 * user of a Block volume, keeps the kernel from detaching it.
 */
async function detach(
  parts: RemovalParts,
  { volume, loop }: { readonly volume: string; readonly loop: Loop },
): Promise<KeeperRefusal | undefined> {
  const opening = parts.files.open(loop.device, constants.O_RDWR | constants.O_EXCL);
  await using handle = await unlessCode("EBUSY", opening);
  if (handle === undefined) return await nameHolder(parts, { volume, loop });
  for (let scan = 0; scan < SCANS; scan += 1) {
    const finding = await look(parts, { volume, loop });
    if (finding.kind === "held") return inUse(finding.by);
    if (finding.kind === "unknown") return refuse("failed", `what uses the volume is unknown: ${finding.why}`);
  }
  await parts.links.remove(volume);
  if (await parts.loops.detach({ volume }, { device: loop.device, handle })) return undefined;
  return inUse(`a program that has ${loop.device} open`);
}

/** The exclusive open failed: the mount table shows the user, unless that is in another mount namespace. */
async function nameHolder(
  parts: RemovalParts,
  { volume, loop }: { readonly volume: string; readonly loop: Loop },
): Promise<KeeperRefusal> {
  const finding = await look(parts, { volume, loop });
  if (finding.kind === "held") return inUse(finding.by);
  return inUse(`a mount in another mount namespace, or a program that holds ${loop.device} exclusively`);
}

async function look(
  { loops, mountInfo, podUid }: RemovalParts,
  { volume, loop }: Required<Release> & { loop: Loop },
): Promise<MountFinding> {
  const stacked = await findStacked(loops, { volume, loop });
  if (stacked.kind === "held") return stacked;
  const { text } = await mountInfo.read();
  return findHolder(text, { number: loop.number, name: basename(loop.device) }, podUid);
}

async function findStacked(loops: LoopDevices, { volume, loop }: Release): Promise<MountFinding> {
  const [stacked] = stackedOn(await loops.list(), { device: loop?.device, volume });
  if (stacked === undefined) return { kind: "free" };
  return { kind: "held", by: `the loop device ${stacked.device} on ${stacked.backingFile}` };
}

function inUse(by: string): KeeperRefusal {
  return refuse("in-use", `held by ${by}`);
}
