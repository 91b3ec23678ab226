import { isEmpty } from "./names.ts";

/** What the keeper observed of a pool's folder. */
export type PoolObservation =
  | { readonly kind: "missing" }
  | { readonly kind: "unreadable"; readonly why: string }
  | {
      readonly kind: "folder";
      /** `f_type` of statfs(2). */
      readonly filesystem: number;
      readonly names: readonly string[];
      /** The UUID in the pool's file; undefined where there is no such file. */
      readonly id: { readonly value: string } | { readonly problem: string } | undefined;
      /** Device (`major:minor`) of the folder. */
      readonly device: string;
      /** Device that the node has mounted at the folder's path; undefined where the folder is no mount point. */
      readonly mountedDevice: string | undefined;
    };

export type PoolIdentity =
  | { readonly state: "ready"; readonly id: string }
  | { readonly state: "empty" }
  | { readonly state: "lost"; readonly why: string };

/** `<linux/magic.h>`: ext2, ext3 and ext4 share one value. */
const EXT4 = 0xef53;
const XFS = 0x58465342;

/** Identifies a pool. Only these filesystems are known to read reserved blocks as zeros and to report when they are full. */
export function identify(observation: PoolObservation): PoolIdentity {
  if (observation.kind === "missing") return lost("the folder is missing: is its disk mounted?");
  if (observation.kind === "unreadable") return lost(`the folder cannot be read: ${observation.why}`);
  const { filesystem, names, id, device, mountedDevice } = observation;
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
