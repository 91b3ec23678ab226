import { mkdir, readdir, readlink, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { LINK_FOLDER } from "../../../provisioner/protocol.ts";
import { detachLoop } from "../csi/loop-devices.ts";
import { codeOf } from "../process/errors.ts";
import { listLoops } from "../process/loop-devices.ts";
import type { Owner } from "../process/owner.ts";
import type { RealNode } from "./real-node.ts";

/** Where the manifests have the pools of a node. */
const POOLS = "/var/lib/mooring-pools";
/** Disks of nodes lie in a folder of this name in the folder of their run. */
const DISKS = "mooring-pool-disks";
/** A file of a volume, as it was named when its loop device was made. */
const VOLUME_FILE = /\/(pvc-[0-9a-f-]{36})\.(?:made|img)(?: \(deleted\))?$/;

/** The disk of a pool. The file has holes: it takes what is written to it. */
export interface Disk {
  readonly pool: string;
  readonly filesystem: "ext4" | "xfs";
  readonly size: string;
}

/** A pool of a node that is up. */
export interface PoolPlace {
  readonly node: RealNode;
  readonly pool: string;
}

/** The folder of a pool, as its node names it. */
export function poolPath(pool: string): string {
  return `${POOLS}/${pool}`;
}

/** Makes the file of a disk with an empty filesystem; answers its path, which is the same on every node. */
export async function makeDisk(
  owner: Owner,
  { node, name }: { readonly node: RealNode; readonly name: string },
  { filesystem, size }: Omit<Disk, "pool">,
): Promise<string> {
  const folder = join(owner.folder, DISKS);
  await mkdir(folder, { recursive: true });
  const file = join(folder, `${node.name}-${name}`);
  await node.run("truncate", "--size", size, file);
  await node.run(`mkfs.${filesystem}`, "-q", file);
  return file;
}

/** Mounts a disk where a pool is. The loop device under it goes with the last use of its filesystem. */
export async function mountDisk({ node, pool }: PoolPlace, file: string): Promise<void> {
  await node.run("mkdir", "-p", poolPath(pool));
  await node.run("mount", "-o", "loop", file, poolPath(pool));
}

/** Takes the disk of a pool away, while volumes of it may be attached. */
export async function unmountDisk({ node, pool }: PoolPlace): Promise<void> {
  await node.run("umount", "--lazy", poolPath(pool));
}

/** Names in the folder of a pool, but those that every pool has. */
export async function filesIn({ node, pool }: PoolPlace): Promise<readonly string[]> {
  const names = await readdir(node.path(poolPath(pool)));
  return names.filter((name) => name !== "lost+found" && name !== "pool.json").toSorted();
}

/** Bytes that are free on the disk of a pool. */
export async function freeBytes({ node, pool }: PoolPlace): Promise<number> {
  const { bsize, bavail } = await statfs(node.path(poolPath(pool)));
  return bsize * bavail;
}

/** Bytes of all files of a pool, as long as they say they are, and as many blocks as they have. */
export async function sizesIn(place: PoolPlace): Promise<{ readonly length: number; readonly allocated: number }> {
  const folder = place.node.path(poolPath(place.pool));
  const stats = await Promise.all((await filesIn(place)).map((name) => stat(join(folder, name))));
  return {
    length: stats.reduce((sum, { size }) => sum + size, 0),
    allocated: stats.reduce((sum, { blocks }) => sum + blocks * 512, 0),
  };
}

/** A loop device and the volume that it shows. */
export interface VolumeLoop {
  readonly volume: string;
  readonly device: string;
}

/** The loop devices that show volumes, of all nodes and whatever else runs on this machine. */
export function volumeLoops(): readonly VolumeLoop[] {
  return listLoops().flatMap(({ device, file }) => {
    const volume = VOLUME_FILE.exec(file)?.[1];
    return volume === undefined ? [] : [{ volume, device }];
  });
}

/** The links by which the kubelet of a node finds volumes, and where they lead. */
export async function linksOn(node: RealNode): Promise<ReadonlyMap<string, string>> {
  const folder = node.path(LINK_FOLDER);
  const names = await readdir(folder).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  });
  return new Map(await Promise.all(names.map(async (name) => [name, await readlink(join(folder, name))] as const)));
}

/** Gives back the loop devices of these volumes, as a boot does. */
export async function detachVolumes(isOurs: (volume: string) => boolean): Promise<void> {
  const devices = volumeLoops().filter(({ volume }) => isOurs(volume));
  // One whose last user ends in this moment is gone.
  await Promise.allSettled(devices.map(({ device }) => detachLoop(device)));
}
