import { type VolumeIdentity, volumeKey, volumeMatcher } from "../../../common/storage/volume-identity.ts";
import type { NodeMountedVolume, NodeUnmountRecord, NodeView } from "./node-view.ts";

/** What a node shows of some volumes. */
export interface Shown {
  readonly view: NodeView;
  readonly mountedVolumes: readonly NodeMountedVolume[];
  readonly unmountRecords: readonly NodeUnmountRecord[];
}

/** To look through so many is less work than to keep an index of them, and nearly all nodes show fewer. */
const FEW = 64;

type Index<T> = ReadonlyMap<string, readonly T[]>;

/**
 * Finds what nodes show of a volume without looking through all of it, as each of thousands of claims on a node asks. An index is made
 * on first use and lives as long as the view.
 */
export class FactIndex {
  readonly #mountedVolumes = new WeakMap<NodeView["mountedVolumes"], Index<NodeMountedVolume>>();
  readonly #unmountRecords = new WeakMap<NodeView["unmountRecords"], Index<NodeUnmountRecord>>();

  of(views: readonly NodeView[], volumes: readonly VolumeIdentity[]): readonly Shown[] {
    const [keys, isOne] = [volumes.map(volumeKey), volumeMatcher(volumes)];
    return views.map((view) => {
      const { mountedVolumes, unmountRecords } = view;
      return {
        view,
        mountedVolumes:
          mountedVolumes.length <= FEW
            ? mountedVolumes.filter(({ volume }) => isOne(volume))
            : called(keys, indexOf(this.#mountedVolumes, mountedVolumes, mountedVolumes)),
        unmountRecords:
          unmountRecords.size <= FEW
            ? [...unmountRecords.values()].filter(({ volume }) => isOne(volume))
            : called(keys, indexOf(this.#unmountRecords, unmountRecords, unmountRecords.values())),
      };
    });
  }
}

function called<T>(keys: readonly string[], index: Index<T>): readonly T[] {
  return keys.flatMap((key) => index.get(key) ?? []);
}

function indexOf<K extends object, T extends { readonly volume: VolumeIdentity }>(
  known: WeakMap<K, Index<T>>,
  key: K,
  facts: Iterable<T>,
): Index<T> {
  const index = known.get(key) ?? Map.groupBy(facts, ({ volume }) => volumeKey(volume));
  known.set(key, index);
  return index;
}
