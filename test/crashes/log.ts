import type { StoreEvent } from "./etcd-log.ts";
import type { ClaimHistory, StoredState, StoredWords } from "./record.ts";
import { readStored } from "./stored-words.ts";

/** Keeps everything that was stored of the claims of a namespace. */
export class ClaimLog {
  readonly #states = new Map<string, readonly StoredState[]>();

  /** Takes a write of a claim. One that left Mooring's words as they were is somebody else's. */
  note({ key, object, seenMs }: StoreEvent): void {
    if (object === undefined) throw new TypeError(`${key} was deleted: nobody is to do that here`);
    const claim = key.slice(key.lastIndexOf("/") + 1);
    const states = this.#states.get(claim) ?? [];
    const words = readStored(object);
    if (JSON.stringify(words) === JSON.stringify(states.at(-1)?.words)) return;
    this.#states.set(claim, [...states, { seenMs, words }]);
  }

  /** What is stored at present. */
  words(claim: string): StoredWords | undefined {
    return this.#states.get(claim)?.at(-1)?.words;
  }

  histories(): readonly ClaimHistory[] {
    return [...this.#states].map(([claim, states]) => ({ claim, states }));
  }
}
