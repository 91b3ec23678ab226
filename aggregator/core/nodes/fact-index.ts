import { type VolumeIdentity, volumeKey } from "../../../common/storage/volume-identity.ts";
import type { NodeMountedVolume, NodeUnmountRecord, NodeView } from "./node-view.ts";

/** What a node shows under the names of some volumes, and sometimes more. */
interface NearFacts {
  readonly mountedVolumes: readonly NodeMountedVolume[];
  readonly unmountRecords: readonly NodeUnmountRecord[];
}

/** To look through so many is less work than to keep an index of them, and nearly all nodes show fewer. */
const FEW = 64;

type Index<T> = ReadonlyMap<string, readonly T[]>;

/**
 * Finds what a node shows of a volume without looking through all of it, as each of thousands of claims on a node asks. An index is made
 * on first use and lives as long as the view.
 */
export class FactIndex {
  readonly #mountedVolumes = new WeakMap<NodeView["mountedVolumes"], Index<NodeMountedVolume>>();
  readonly #unmountRecords = new WeakMap<NodeView["unmountRecords"], Index<NodeUnmountRecord>>();

  near({ mountedVolumes, unmountRecords }: NodeView, volumes: readonly VolumeIdentity[]): NearFacts {
    const keys = volumes.map(volumeKey);
    return {
      mountedVolumes:
        mountedVolumes.length <= FEW
          ? mountedVolumes
          : called(keys, indexOf(this.#mountedVolumes, mountedVolumes, mountedVolumes)),
      unmountRecords:
        unmountRecords.size <= FEW
          ? [...unmountRecords.values()]
          : called(keys, indexOf(this.#unmountRecords, unmountRecords, unmountRecords.values())),
    };
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
