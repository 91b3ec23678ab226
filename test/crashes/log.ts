import * as v from "valibot";
import { type Published, publishedIn } from "../judge/published.ts";
import type { StoreEvent } from "./etcd-log.ts";
import type { ClaimHistory, StoredState } from "./record.ts";

/** The parsed fields of a claim. A claim that cannot be parsed is an error, not an empty status. */
const claim = v.object({
  metadata: v.object({ uid: v.string(), annotations: v.optional(v.record(v.string(), v.string())) }),
  status: v.optional(
    v.object({ conditions: v.optional(v.array(v.record(v.string(), v.nullable(v.union([v.string(), v.number()]))))) }),
  ),
});

/** Collects every stored status of the claims of a namespace. */
export class ClaimLog {
  readonly #states = new Map<string, readonly StoredState[]>();

  /** Takes a write of a claim. A write that changes nothing of Mooring's status is another client's. */
  note({ key, object, seenMs }: StoreEvent): void {
    if (object === undefined) throw new TypeError(`${key} was deleted: no part of a campaign does that`);
    const name = key.slice(key.lastIndexOf("/") + 1);
    const states = this.#states.get(name) ?? [];
    const published = publishedIn(v.parse(claim, object));
    if (JSON.stringify(published) === JSON.stringify(states.at(-1)?.published)) return;
    this.#states.set(name, [...states, { seenMs, published }]);
  }

  /** The present status. */
  published(claim: string): Published | undefined {
    return this.#states.get(claim)?.at(-1)?.published;
  }

  histories(): readonly ClaimHistory[] {
    return [...this.#states].map(([claim, states]) => ({ claim, states }));
  }
}
