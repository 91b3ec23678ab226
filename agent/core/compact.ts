import type { UnmountRecord } from "../../common/storage/node-report.ts";
import { volumeKey } from "../../common/storage/volume-identity.ts";

/** From so many unsettled unmount records on, older ones of a volume give way to its latest; about 4 MB in memory and in the journal. */
export const MAX_KEPT_UNMOUNT_RECORDS = 10_000;

/**
 * The unmount records that are kept, oldest first. When there are too many, as no aggregator has answered for long, the oldest are
 * dropped for which a later one of the same volume is known: of one volume the latest end counts. The latest of a volume is never
 * dropped, so there may still be more than `most`. Pods of another namespace cannot name the same claim, so their volumes are others,
 * whatever their names.
 */
export function compactUnmountRecords(
  unmountRecords: readonly UnmountRecord[],
  most: number = MAX_KEPT_UNMOUNT_RECORDS,
): readonly UnmountRecord[] {
  if (unmountRecords.length <= most) return unmountRecords;
  const inOrder = unmountRecords.toSorted((one, other) => one.by - other.by);
  const latest = new Map(inOrder.map((unmountRecord) => [groupOf(unmountRecord), unmountRecord]));
  let surplus = unmountRecords.length - most;
  return inOrder.filter((unmountRecord) => {
    if (surplus === 0 || latest.get(groupOf(unmountRecord)) === unmountRecord) return true;
    surplus -= 1;
    return false;
  });
}

function groupOf({ volume, pod }: UnmountRecord): string {
  const namespace = pod?.split("/")[0] ?? "";
  return `${namespace}/${volumeKey(volume)}`;
}
