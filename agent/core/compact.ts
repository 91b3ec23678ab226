import type { Release } from "../../common/storage/node-report.ts";
import { volumeKey } from "../../common/storage/volume-identity.ts";

/** From so many unsettled releases on, older ones of a volume give way to its latest; about 4 MB in memory and in the journal. */
export const MAX_KEPT_RELEASES = 10_000;

/**
 * The releases that are kept, oldest first. When they are too many, because no aggregator has answered for long, the oldest go of
 * which a later one of the same volume is known: of one volume the latest end counts. The latest of a volume is never dropped, so there may
 * still be more than `most`. Pods of another namespace cannot name the same claim: their volumes are others, whatever they are called.
 */
export function compactReleases(releases: readonly Release[], most: number = MAX_KEPT_RELEASES): readonly Release[] {
  if (releases.length <= most) return releases;
  const inOrder = releases.toSorted((one, other) => one.by - other.by);
  const latest = new Map(inOrder.map((release) => [groupOf(release), release]));
  let surplus = releases.length - most;
  return inOrder.filter((release) => {
    if (surplus === 0 || latest.get(groupOf(release)) === release) return true;
    surplus -= 1;
    return false;
  });
}

function groupOf({ volume, pod }: Release): string {
  const namespace = pod?.split("/")[0] ?? "";
  return `${namespace}/${volumeKey(volume)}`;
}
