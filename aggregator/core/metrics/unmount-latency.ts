import { type Directory, volumesOf } from "../claims/attribution.ts";
import type { NodeUnmountRecord, NodeView } from "../nodes/node-view.ts";

/** How long the unmount of one volume of one pod took since the pod's deletion was requested. */
export interface Unmount {
  /** The CSI driver; `in-tree` for a volume of another kind, `unknown` where its PV is unknown. */
  readonly driver: string;
  readonly ms: number;
}

/**
 * The unmounts of deleted pods that a node's new view shows and the previous one did not. The API server dates a deletion to the second and
 * unmounts are never dated too early, so latencies are never too short, and up to a second and the uncertainty too long.
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
