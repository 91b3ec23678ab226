import { type VolumeIdentity, volumeKey, volumeMatcher } from "../../../common/storage/volume-identity.ts";
import type { NodeMountedVolume, NodeUnmountRecord, NodeView } from "./node-view.ts";

/** What a node shows of some volumes. */
export interface Shown {
  readonly view: NodeView;
  readonly mountedVolumes: readonly NodeMountedVolume[];
  readonly unmountRecords: readonly NodeUnmountRecord[];
}

/**
 * Finds what nodes show of a volume. Unmount records, of which a node may have many thousands, are indexed on first use: each of thousands
 * of claims on a node asks for its own. To look through the mounts of one report is less work than that.
 */
export class FactIndex {
  readonly #ends = new WeakMap<NodeView["unmountRecords"], ReadonlyMap<string, readonly NodeUnmountRecord[]>>();

  of(views: readonly NodeView[], volumes: readonly VolumeIdentity[]): readonly Shown[] {
    const [keys, isOne] = [volumes.map(volumeKey), volumeMatcher(volumes)];
    return views.map((view) => {
      const { mountedVolumes, unmountRecords } = view;
      const ends = this.#ends.get(unmountRecords) ?? Map.groupBy(unmountRecords.values(), keyOf);
      this.#ends.set(unmountRecords, ends);
      return {
        view,
        mountedVolumes: mountedVolumes.filter(({ volume }) => isOne(volume)),
        unmountRecords: keys.flatMap((key) => ends.get(key) ?? []),
      };
    });
  }
}

function keyOf({ volume }: NodeUnmountRecord): string {
  return volumeKey(volume);
}
