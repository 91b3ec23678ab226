import * as v from "valibot";
import { type Published, publishedIn } from "../judge/published.ts";
import type { StoreEvent } from "./etcd-log.ts";
import type { ClaimHistory, StoredState } from "./record.ts";

/** As much of a claim as is read; what cannot be read is taken for no silence. */
const claim = v.object({
  metadata: v.object({ uid: v.string(), annotations: v.optional(v.record(v.string(), v.string())) }),
  status: v.optional(
    v.object({ conditions: v.optional(v.array(v.record(v.string(), v.nullable(v.union([v.string(), v.number()]))))) }),
  ),
});

/** Keeps everything that was stored of the claims of a namespace. */
export class ClaimLog {
  readonly #states = new Map<string, readonly StoredState[]>();

  /** Takes a write of a claim. One that left Mooring's words as they were is somebody else's. */
  note({ key, object, seenMs }: StoreEvent): void {
    if (object === undefined) throw new TypeError(`${key} was deleted: nobody is to do that here`);
    const name = key.slice(key.lastIndexOf("/") + 1);
    const states = this.#states.get(name) ?? [];
    const words = publishedIn(v.parse(claim, object));
    if (JSON.stringify(words) === JSON.stringify(states.at(-1)?.words)) return;
    this.#states.set(name, [...states, { seenMs, words }]);
  }

  /** What is stored at present. */
  words(claim: string): Published | undefined {
    return this.#states.get(claim)?.at(-1)?.words;
  }

  histories(): readonly ClaimHistory[] {
    return [...this.#states].map(([claim, states]) => ({ claim, states }));
  }
}
