import * as v from "valibot";
import type { StoreEvent } from "./etcd-log.ts";
import { LifeBook } from "./process.ts";
import type { Span } from "./record.ts";

const pod = v.object({ metadata: v.object({ labels: v.optional(v.record(v.string(), v.string()), {}) }) });

/** Which replica leads: the one whose pod bears the label that the Service selects. */
export class Leadership {
  readonly #book: LifeBook;
  readonly #labelled = new Set<string>();

  constructor(now: () => number) {
    this.#book = new LifeBook(now);
  }

  /** Where the Service leads to, also when it has died; nothing where nobody bears the label. */
  get leader(): string | undefined {
    return [...this.#labelled][0];
  }

  /** Takes a write of a pod in the aggregators' namespace. */
  note({ key, object }: StoreEvent): void {
    const name = key.slice(key.lastIndexOf("/") + 1);
    const isLeader = object !== undefined && v.parse(pod, object).metadata.labels["mooring.dev/role"] === "leader";
    if (isLeader === this.#labelled.has(name)) return;
    if (isLeader) this.#labelled.add(name);
    else this.#labelled.delete(name);
    this.#book.end();
    // With two labels at a time the Service leads to either: nobody can say who is reached.
    if (this.#labelled.size === 1) this.#book.begin();
  }

  /** A replica was killed: the label stays, but nobody is there. */
  noteKill(name: string): void {
    if (this.leader === name) this.#book.end();
  }

  /** When exactly one led and lived. */
  lives(): readonly Span[] {
    return this.#book.lives();
  }
}
