import { isUseHold, volumeKey } from "../../common/storage/volume-identity.ts";
import type { KnownHold, NodeState } from "./node-state.ts";

/** A mount that nobody is known to use. */
export interface Leak {
  /** `orphaned`: its pod is not known to the API server any more; `unused-staging`: no pod's mount is made from it. */
  readonly kind: "orphaned" | "unused-staging";
  readonly key: string;
  readonly known: KnownHold;
  /** Milliseconds since that was first seen. */
  readonly ageMs: number;
}

/** The kubelet unmounts within seconds of a pod's end, and unstages soon after; what stays this long is left behind. */
export const LEAK_AFTER_MS = 300_000;

/** Mounts that have been without a user for so long that nobody will come for them. */
export function leaksIn(state: NodeState, nowMs: number): readonly Leak[] {
  return [...state.holds].flatMap(([key, known]) => {
    const ageMs = known.leakedSince === undefined ? 0 : nowMs - known.leakedSince;
    if (ageMs < LEAK_AFTER_MS) return [];
    return [{ kind: known.hold.podUid === undefined ? "unused-staging" : "orphaned", key, known, ageMs }];
  });
}

/**
 * Tells of a staging mount whether a pod uses the volume. One that goes by its name does so for its pods, too. A CSI driver's staging
 * path has a hash instead, the in-tree plugins' a device in words of their own; there it counts what the kernel says is mounted: a
 * pod's mount is a bind of the staged one, or of a folder in it. The device alone would say too little, for folders of one disk
 * have it in common, and subvolumes of btrfs.
 */
export function stagingInUse(holds: readonly KnownHold[]): (staging: KnownHold) => boolean {
  const uses = holds.filter(({ hold }) => isUseHold(hold));
  const volumes = new Set(uses.map(({ hold }) => volumeKey(hold.volume)));
  const folders = foldersInUse(
    uses,
    holds.filter(({ hold }) => !isUseHold(hold)),
  );
  return ({ hold, device, root }) => {
    if (hold.volume.by === "name") return volumes.has(volumeKey(hold.volume));
    const used = folders.get(device);
    if (used === undefined || used.size === 0) return false;
    // Where either folder is not known, the two may be the same.
    return root === undefined || used.has(undefined) || used.has(folderOf(root));
  };
}

/** For each device that is staged the folders of it that pods' mounts show, and all folders above them; nothing for an unknown one. */
function foldersInUse(
  uses: readonly KnownHold[],
  stagings: readonly KnownHold[],
): ReadonlyMap<string, ReadonlySet<string | undefined>> {
  const folders = new Map(stagings.map(({ device }) => [device, new Set<string | undefined>()]));
  for (const { device, root } of uses) {
    const used = folders.get(device);
    used?.add(root && folderOf(root));
    // Down to the file system's own root, and no further than where another use has been.
    for (let folder = root && folderOf(root); used && folder && folder !== "/"; used.add(folder)) {
      folder = folder.slice(0, folder.lastIndexOf("/")) || "/";
    }
  }
  return folders;
}

/** The kernel marks the root of a mount whose folder was removed (fs/d_path.c); what is mounted is the same. */
function folderOf(root: string): string {
  return root.replace(/\/\/deleted$/, "") || "/";
}
