import { createHash } from "node:crypto";
import { closeSync, existsSync, ftruncateSync, lstatSync, mkdirSync, openSync, rmdirSync, unlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { CallError } from "./call-error.ts";
import { attachLoop, detachLoop, IMAGE_NAME, loopOf } from "./loop-devices.ts";
import type { MountCause, Mounter } from "./mounter.ts";
import type { AccessType, PublishRequest, StageRequest, UnpublishRequest, UnstageRequest } from "./requests.ts";

/** Enough for a filesystem; the file has holes, it takes no room. */
const IMAGE_BYTES = 16 * 1024 * 1024;
/** The attribute of a volume that the controller service made: once it is deleted, no node makes it again. */
export const PROVISIONED = "provisioned";
const TMPFS = ["-t", "tmpfs", "-o", "size=16m", "tmpfs"];

/** What a driver of this kind does for a node's kubelet. */
export interface Volumes {
  readonly stage: (request: StageRequest, cause: MountCause) => Promise<void>;
  readonly unstage: (request: UnstageRequest, cause: MountCause) => Promise<void>;
  readonly publish: (request: PublishRequest, cause: MountCause) => Promise<void>;
  readonly unpublish: (request: UnpublishRequest, cause: MountCause) => Promise<void>;
}

interface Place {
  readonly access: AccessType;
  readonly handle: string;
  /** A volume that the controller service made is there or was deleted; the driver does not make it again. */
  readonly isProvisioned: boolean;
  /** A volume with the attribute `backing: tmpfs` has a filesystem of its own, on each node another; the rest are folders. */
  readonly isTmpfs: boolean;
}

/** The folder in a folder of volumes that is what a filesystem volume contains. */
export function contentFolder(folder: string, handle: string): string {
  return join(folder, fileNameOf(handle), "content");
}

/** The name of a file for a volume; handles may hold any character. */
export function fileNameOf(handle: string): string {
  if (/^[A-Za-z0-9_.-]{1,100}$/.test(handle)) return `volume-${handle}`;
  return `hash-${createHash("sha256").update(handle).digest("hex")}`;
}

/**
 * Volumes in a folder: a filesystem volume is a folder that is bind-mounted, or a tmpfs; a block volume is a file on a loop device,
 * whose node is bind-mounted. Without `hasStaging` a filesystem volume is mounted when it is published.
 */
export function createVolumes(mounter: Mounter, { folder, hasStaging }: VolumesOptions): Volumes {
  const contentOf = (handle: string): string => contentFolder(folder, handle);
  const imageOf = (handle: string): string => join(folder, fileNameOf(handle), IMAGE_NAME);

  const put = async (place: Place, cause: MountCause, target: string): Promise<void> => {
    const { access, handle, isTmpfs } = place;
    if (mounter.isMounted(target)) return;
    if (place.isProvisioned && !existsSync(contentOf(handle)))
      throw new CallError("NOT_FOUND", `volume ${handle} does not exist`);
    if (access === "block") {
      // Nobody would know when its loop device may go: a node that is bind-mounted does not keep it.
      if (!hasStaging) throw new CallError("INVALID_ARGUMENT", "a block volume needs staging");
      makeFile(imageOf(handle), IMAGE_BYTES);
      const device = await attachLoop(imageOf(handle));
      return bind(mounter, { cause, target, access }, [device]);
    }
    if (!isTmpfs) {
      mkdirSync(contentOf(handle), { recursive: true });
      return bind(mounter, { cause, target, access }, [contentOf(handle)]);
    }
    mkdirSync(target, { recursive: true });
    await mounter.mount(cause, target, TMPFS);
  };

  return {
    stage: async ({ volume_id, staging_target_path, volume_capability, volume_context }, cause) => {
      const place = placeOf(volume_id, volume_capability, volume_context);
      await put(place, cause, stagedAt(staging_target_path, place));
    },
    unstage: async ({ volume_id, staging_target_path }, cause) => {
      const node = stagedAt(staging_target_path, { access: "block", handle: volume_id });
      await mounter.unmount(cause, node);
      removeTarget(node);
      await mounter.unmount(cause, staging_target_path);
      const device = await loopOf(imageOf(volume_id));
      if (device !== undefined) await detachLoop(device);
    },
    publish: async (request, cause) => {
      const { volume_id, target_path, volume_capability, staging_target_path, volume_context } = request;
      const place = placeOf(volume_id, volume_capability, volume_context);
      if (!hasStaging) return put(place, cause, target_path);
      const staged = stagedAt(staging_target_path, place);
      if (!mounter.isMounted(staged)) throw new CallError("FAILED_PRECONDITION", `nothing is staged at ${staged}`);
      if (mounter.isMounted(target_path)) return;
      const options = request.readonly ? ["-o", "ro"] : [];
      await bind(mounter, { cause, target: target_path, access: place.access }, [...options, staged]);
    },
    unpublish: async ({ target_path }, cause) => {
      await mounter.unmount(cause, target_path);
      removeTarget(target_path);
    },
  };
}

interface VolumesOptions {
  /** Holds what the volumes contain. */
  readonly folder: string;
  readonly hasStaging: boolean;
}

interface Target {
  readonly cause: MountCause;
  readonly target: string;
  readonly access: AccessType;
}

/** Bind-mounts what the last argument names. */
async function bind(mounter: Mounter, { cause, target, access }: Target, args: readonly string[]): Promise<void> {
  if (access === "block") makeFile(target);
  else mkdirSync(target, { recursive: true });
  await mounter.mount(cause, target, ["--bind", ...args]);
}

/** A block volume is staged as a node in the folder, as drivers do that keep more than one thing there. */
function stagedAt(stagingPath: string, { access, handle }: Pick<Place, "access" | "handle">): string {
  return access === "block" ? join(stagingPath, fileNameOf(handle)) : stagingPath;
}

function placeOf(handle: string, access: AccessType, attributes: Readonly<Record<string, string>>): Place {
  return {
    access,
    handle,
    isTmpfs: attributes.backing === "tmpfs",
    isProvisioned: attributes[PROVISIONED] === "true",
  };
}

function makeFile(path: string, bytes?: number): void {
  mkdirSync(dirname(path), { recursive: true });
  const file = openSync(path, "a");
  if (bytes !== undefined) ftruncateSync(file, bytes);
  closeSync(file);
}

/** Removes the empty folder or file that a mount was on; never what it holds, should the mount still be there. */
function removeTarget(path: string): void {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return;
  if (stat.isDirectory()) rmdirSync(path);
  else unlinkSync(path);
}
