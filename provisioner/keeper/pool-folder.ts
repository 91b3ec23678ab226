import { constants } from "node:fs";
import * as v from "valibot";
import type { MountInfoSource } from "../../common/mounts/mount-info-file.ts";
import { MooringError, messageOf } from "../../common/runtime/errors.ts";
import { mountedAt, wholeTable } from "./core/holders.ts";
import { identify, type PoolIdentity, type PoolObservation } from "./core/identity.ts";
import { deviceNumber } from "./core/loop-structs.ts";
import { fileOf, type ImageName, imagesIn, POOL_FILE } from "./core/names.ts";
import type { ImageSpace } from "./core/space.ts";
import type { NodeFiles, OpenFile } from "./node-files.ts";
import { systemCode, unlessCode } from "./system-error.ts";

/** An image and the room that it takes. */
export interface PoolImage extends ImageName, ImageSpace {}

/**
 * An open folder of a pool: all operations go to the folder that was inspected, even if another filesystem is mounted at its path
 * meanwhile.
 */
export interface PoolFolder extends AsyncDisposable {
  readonly identity: PoolIdentity;
  /** Device of the filesystem, `major:minor`. */
  readonly device: string;
  /** True where the node has the root of the filesystem mounted at the pool's path: then the filesystem contains nothing else. */
  readonly isOwnMount: boolean;
  readonly names: readonly string[];
  /** Path of a file of the folder, for this process's system calls only; without a name, that of the folder. */
  readonly at: (name: string) => string;
  readonly images: () => Promise<readonly PoolImage[]>;
}

/** What inspecting a pool needs. */
export interface PoolSources {
  readonly files: NodeFiles;
  readonly mountInfo: MountInfoSource;
}

export interface PoolPlace {
  readonly name: string;
  readonly path: string;
}

const poolFile = v.object({ id: v.pipe(v.string(), v.uuid()) });
const LARGEST_POOL_FILE = 4_096;

/** Inspects a pool. A folder that cannot be opened is a lost pool, and nothing stays open. */
export async function openPoolFolder(
  { files, mountInfo }: PoolSources,
  { path }: PoolPlace,
): Promise<PoolFolder | { readonly identity: PoolIdentity }> {
  let folder: OpenFile | undefined;
  try {
    folder = await files.open(path, constants.O_RDONLY | constants.O_DIRECTORY);
    return await inspect(files, folder, await mountAt(path, mountInfo));
  } catch (error) {
    await folder?.close();
    return { identity: identify(failedObservation(error)) };
  }
}

function failedObservation(error: unknown): PoolObservation {
  const code = systemCode(error);
  if (code === undefined) throw error;
  return code === "ENOENT" || code === "ENOTDIR" ? { kind: "missing" } : { kind: "unreadable", why: messageOf(error) };
}

async function inspect(files: NodeFiles, folder: OpenFile, mount: Mounted | undefined): Promise<PoolFolder> {
  const base = `/proc/self/fd/${folder.fd}`;
  const at = (name: string): string => `${base}/${name}`;
  const [{ device: number }, { type: filesystem }, names] = await Promise.all([
    folder.stat(),
    files.statfs(base),
    files.names(base),
  ]);
  const device = deviceNumber(number);
  const id = names.includes(POOL_FILE) ? await readPoolFile(files, at(POOL_FILE)) : undefined;
  return {
    identity: identify({ kind: "folder", filesystem, names, id, device, mountedDevice: mount?.device }),
    device,
    isOwnMount: mount?.root === "/",
    names,
    at,
    images: () => readImages(files, at, imagesIn(names)),
    [Symbol.asyncDispose]: () => folder.close(),
  };
}

interface Mounted {
  readonly device: string;
  readonly root: string;
}

/** What the node has mounted at a path. If the table cannot be read, the reserve stays free. */
async function mountAt(path: string, mountInfo: MountInfoSource): Promise<Mounted | undefined> {
  try {
    const { text } = await mountInfo.read();
    return mountedAt(wholeTable(text), path);
  } catch (error) {
    if (error instanceof MooringError && error.code === "mount-table-unreadable") return undefined;
    throw error;
  }
}

async function readPoolFile(
  files: NodeFiles,
  path: string,
): Promise<{ readonly value: string } | { readonly problem: string }> {
  try {
    await using file = await files.open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const { bytes } = await file.stat();
    if (bytes > LARGEST_POOL_FILE) return { problem: `it is longer than ${LARGEST_POOL_FILE} bytes` };
    return decodePoolFile(await file.readText());
  } catch (error) {
    return { problem: messageOf(error) };
  }
}

/** The UUID in the text of a pool's file, or what is wrong with the text. Never throws. */
export function decodePoolFile(text: string): { readonly value: string } | { readonly problem: string } {
  try {
    const result = v.safeParse(poolFile, JSON.parse(text));
    return result.success ? { value: result.output.id } : { problem: result.issues[0].message };
  } catch (error) {
    return { problem: messageOf(error) };
  }
}

/** Only regular files are images: a folder, a link or a pipe with such a name is none. */
async function readImages(
  files: NodeFiles,
  at: (name: string) => string,
  names: readonly ImageName[],
): Promise<readonly PoolImage[]> {
  const images = await Promise.all(
    names.map(async (image) => {
      const file = await unlessCode("ENOENT", files.lstat(at(fileOf(image))));
      if (file?.isFile !== true) return [];
      return [{ ...image, bytes: file.bytes, allocatedBytes: file.allocatedBytes }];
    }),
  );
  return images.flat();
}

/** Device of the filesystem that contains a path, `major:minor`; undefined where the path does not exist. */
export async function deviceAt(files: NodeFiles, path: string): Promise<string | undefined> {
  try {
    return deviceNumber((await files.stat(path)).device);
  } catch (error) {
    if (systemCode(error) === undefined) throw error;
    return undefined;
  }
}
