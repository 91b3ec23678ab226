import { isUse, volumeKey } from "../../common/storage/volume-identity.ts";
import type { KnownMountedVolume, NodeState } from "./node-state.ts";

/** A mount that nobody is known to use. */
export interface Leak {
  /** `orphaned`: its pod is not known to the API server any more; `unused-staging`: no pod's mount is made from it. */
  readonly kind: "orphaned" | "unused-staging";
  readonly key: string;
  readonly known: KnownMountedVolume;
  /** Milliseconds since that was first seen. */
  readonly ageMs: number;
}

/** The kubelet unmounts within seconds of a pod's end, and unstages soon after; what stays this long is left behind. */
export const LEAK_AFTER_MS = 300_000;

/** No folder's path has two slashes. */
const REMOVED = "//deleted";

/** Mounts that have been without a user for so long that nobody will come for them. */
export function leaksIn(state: NodeState, nowMs: number): readonly Leak[] {
  return [...state.mountedVolumes].flatMap(([key, known]) => {
    const ageMs = known.leakedSince === undefined ? 0 : nowMs - known.leakedSince;
    if (ageMs < LEAK_AFTER_MS) return [];
    return [{ kind: known.mountedVolume.podUid === undefined ? "unused-staging" : "orphaned", key, known, ageMs }];
  });
}

/**
 * Tells of a staging mount whether a pod uses the volume. One that goes by its name does so for its pods, too. A CSI driver's staging
 * path has a hash instead, the in-tree plugins' a device in words of their own; there it counts what the kernel says is mounted: a
 * pod's mount is a bind of the staged one, or of a folder in it. The device alone would say too little, for folders of one disk
 * have it in common, and subvolumes of btrfs.
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

/** Whether one mount of a file system shows all that another one does. Where it is not known of what folder either is, it may. */
function mayContain(root: string | undefined, other: string | undefined): boolean {
  if (root === undefined || other === undefined) return true;
  const folder = folderOf(root);
  return folder === folderOf(other) || other.startsWith(folder === "/" ? folder : `${folder}/`);
}

/** The kernel marks a root whose folder was removed (`prepend_path` in fs/d_path.c); what is mounted is the same. */
function folderOf(root: string): string {
  return root.endsWith(REMOVED) ? root.slice(0, -REMOVED.length) : root;
}
