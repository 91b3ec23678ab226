import { type VolumeIdentity, volumeKey } from "../../common/storage/volume-identity.ts";
import type { NodeHold, NodeRelease, NodeView } from "./node-view.ts";

/** What a node shows that is called like some volumes, and often more. */
export interface NearFacts {
  readonly holds: readonly NodeHold[];
  readonly releases: readonly NodeRelease[];
}

/** To look through so many is less work than to keep an index of them, and nearly all nodes show fewer. */
const FEW = 64;

type Index<T> = ReadonlyMap<string, readonly T[]>;

/**
 * Finds what a node shows of a volume without looking through all of it: each of thousands of claims of a node asks. An index is made when
 * it is first asked for and lives as long as what it is of.
 */
export class FactIndex {
  readonly #holds = new WeakMap<NodeView["holds"], Index<NodeHold>>();
  readonly #releases = new WeakMap<NodeView["releases"], Index<NodeRelease>>();

  near({ holds, releases }: NodeView, volumes: readonly VolumeIdentity[]): NearFacts {
    const keys = volumes.map(volumeKey);
    return {
      holds: holds.length <= FEW ? holds : called(keys, indexOf(this.#holds, holds, holds)),
      releases:
        releases.size <= FEW
          ? [...releases.values()]
          : called(keys, indexOf(this.#releases, releases, releases.values())),
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
