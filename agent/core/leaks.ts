import { isUse, volumeKey } from "../../common/storage/volume-identity.ts";
import type { KnownMountedVolume, NodeState } from "./node-state.ts";

/** A mount without a known user. */
export interface Leak {
  /** `orphaned`: the API server no longer has its pod; `unused-staging`: no pod's mount depends on it. */
  readonly kind: "orphaned" | "unused-staging";
  readonly key: string;
  readonly known: KnownMountedVolume;
  /** Milliseconds since that was first seen. */
  readonly ageMs: number;
}

/** The kubelet unmounts within seconds of a pod's end, and unstages soon after; a mount that stays this long is leaked. */
export const LEAK_AFTER_MS = 300_000;

/** No folder's path has two slashes. */
const REMOVED = "//deleted";

/** Mounts that have had no user for so long that nothing will unmount them. */
export function leaksIn(state: NodeState, nowMs: number): readonly Leak[] {
  return [...state.mountedVolumes].flatMap(([key, known]) => {
    const ageMs = known.leakedSince === undefined ? 0 : nowMs - known.leakedSince;
    if (ageMs < LEAK_AFTER_MS) return [];
    return [{ kind: known.mountedVolume.podUid === undefined ? "unused-staging" : "orphaned", key, known, ageMs }];
  });
}

/**
 * Answers whether a pod uses the volume of a staging mount. A staging mount with the PV's name belongs to the pods with that name. A CSI
 * driver's staging path has a hash instead, the in-tree plugins' a device name; for these the kernel's view counts: a pod's mount is a
 * bind of the staged one, or of a folder in it. The device alone would not suffice, as folders of one disk, and subvolumes of btrfs,
 * share it.
 */
export function stagingInUse(mountedVolumes: readonly KnownMountedVolume[]): (staging: KnownMountedVolume) => boolean {
  const uses = mountedVolumes.filter(({ mountedVolume }) => isUse(mountedVolume));
  const volumes = new Set(uses.map(({ mountedVolume }) => volumeKey(mountedVolume.volume)));
  const usesOf = Map.groupBy(uses, ({ device }) => device);
  return ({ mountedVolume, device, root }) => {
    if (mountedVolume.volume.by === "name") return volumes.has(volumeKey(mountedVolume.volume));
    return usesOf.get(device)?.some((use) => mayContain(root, use.root)) === true;
  };
}

/** Whether one mount of a file system contains all that another one does. Where the folder of either is unknown, it may. */
function mayContain(root: string | undefined, other: string | undefined): boolean {
  if (root === undefined || other === undefined) return true;
  const folder = folderOf(root);
  return folder === folderOf(other) || other.startsWith(folder === "/" ? folder : `${folder}/`);
}

/** The kernel marks a root whose folder was removed (`prepend_path` in fs/d_path.c); the mount itself is the same. */
function folderOf(root: string): string {
  return root.endsWith(REMOVED) ? root.slice(0, -REMOVED.length) : root;
}
