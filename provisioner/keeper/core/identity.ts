import { isEmpty } from "./names.ts";

/** What was seen of a pool's folder. */
export type PoolSight =
  | { readonly kind: "missing" }
  | { readonly kind: "unreadable"; readonly why: string }
  | {
      readonly kind: "folder";
      /** `f_type` of statfs(2). */
      readonly filesystem: number;
      readonly names: readonly string[];
      /** What the pool's file says is its UUID; nothing where there is no such file. */
      readonly id: { readonly value: string } | { readonly problem: string } | undefined;
      /** Device (`major:minor`) of the folder. */
      readonly device: string;
      /** Device that the node itself has mounted at the folder's path; nothing where the folder is no mount point. */
      readonly mountedDevice: string | undefined;
    };

export type PoolIdentity =
  | { readonly state: "ready"; readonly id: string }
  | { readonly state: "empty" }
  | { readonly state: "lost"; readonly why: string };

/** `<linux/magic.h>`: ext2, ext3 and ext4 share one. */
const EXT4 = 0xef53;
const XFS = 0x58465342;

/** What a pool is. Of these filesystems alone it is known that reserved blocks read as zeros and that a full one says so. */
export function identify(sight: PoolSight): PoolIdentity {
  if (sight.kind === "missing") return lost("the folder is missing: is its disk mounted?");
  if (sight.kind === "unreadable") return lost(`the folder cannot be read: ${sight.why}`);
  const { filesystem, names, id, device, mountedDevice } = sight;
  if (mountedDevice !== undefined && mountedDevice !== device)
    return lost(`the node has mounted ${mountedDevice} there, the keeper sees ${device}: restart the keeper`);
  if (filesystem !== EXT4 && filesystem !== XFS)
    return lost(`the filesystem is neither ext4 nor XFS (type 0x${filesystem.toString(16)})`);
  if (id === undefined) {
    if (isEmpty(names)) return { state: "empty" };
    return lost("the folder has files but no pool.json: it is another disk, or no pool");
  }
  return "value" in id ? { state: "ready", id: id.value } : lost(`pool.json is damaged: ${id.problem}`);
}

function lost(why: string): PoolIdentity {
  return { state: "lost", why };
}
