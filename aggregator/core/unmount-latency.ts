import { type Directory, volumesOf } from "./attribution.ts";
import type { NodeUnmountRecord, NodeView } from "./node-view.ts";

/** How long the unmount of one volume of one pod took from the moment at which the pod's deletion was asked for. */
export interface Unmount {
  /** The CSI driver; `in-tree` for a volume of another kind, `unknown` where its PV is not known. */
  readonly driver: string;
  readonly ms: number;
}

/**
 * The unmounts that a node's new view tells of and the view before did not. The API server dates a deletion to the second and unmounts are
 * dated never too early, so they are never too short, and up to a second and their uncertainty too long. A pod that nobody has deleted, or
 * whose volumes were unmounted before that, has none.
 */
export function newUnmounts(
  before: NodeView | undefined,
  { unmountRecords }: NodeView,
  directory: Directory,
): readonly Unmount[] {
  return [...unmountRecords.values()].flatMap((unmountRecord) => {
    if (before?.unmountRecords.has(unmountRecord.id) === true) return [];
    const deletedAtMs = directory.podByUid(unmountRecord.podUid)?.deletedAtMs;
    if (deletedAtMs === undefined || unmountRecord.byMs < deletedAtMs) return [];
    return [{ driver: driverOf(unmountRecord, directory), ms: unmountRecord.byMs - deletedAtMs }];
  });
}

function driverOf({ volume }: NodeUnmountRecord, directory: Directory): string {
  if (volume.by === "handle") return volume.driver;
  if (volume.by === "device") return "in-tree";
  const [found] = volumesOf(volume, directory);
  if (found === undefined) return "unknown";
  return found.csi?.driver ?? "in-tree";
}
