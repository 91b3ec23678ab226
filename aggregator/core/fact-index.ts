import { type VolumeIdentity, volumeKey } from "../../common/storage/volume-identity.ts";
import type { NodeMountedVolume, NodeUnmountRecord, NodeView } from "./node-view.ts";

/** What a node shows that is called like some volumes, and often more. */
export interface NearFacts {
  readonly mountedVolumes: readonly NodeMountedVolume[];
  readonly unmountRecords: readonly NodeUnmountRecord[];
}

/** To look through so many is less work than to keep an index of them, and nearly all nodes show fewer. */
const FEW = 64;

type Index<T> = ReadonlyMap<string, readonly T[]>;

/**
 * Finds what a node shows of a volume without looking through all of it: each of thousands of claims of a node asks. An index is made when
 * it is first asked for and lives as long as what it is of.
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
