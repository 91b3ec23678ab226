import * as v from "valibot";
import type { StoreEvent } from "./etcd-log.ts";
import { UptimeLog } from "./process.ts";
import type { Span } from "./record.ts";

const pod = v.object({ metadata: v.object({ labels: v.optional(v.record(v.string(), v.string()), {}) }) });

/** Tracks the leader: the replica whose pod carries the label that the Service selects. */
export class Leadership {
  readonly #log: UptimeLog;
  readonly #labelled = new Set<string>();

  constructor(now: () => number) {
    this.#log = new UptimeLog(now);
  }

  /** The Service's target, even when it is dead; undefined while no pod has the label. */
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
    this.#log.end();
    // With two labels at a time the Service may lead to either: the leader is unknown.
    if (this.#labelled.size === 1) this.#log.begin();
  }

  /** A replica was killed: its pod keeps the label, but nothing answers. */
  noteKill(name: string): void {
    if (this.leader === name) this.#log.end();
  }

  /** The spans in which exactly one replica was labelled and alive. */
  uptimes(): readonly Span[] {
    return this.#log.uptimes();
  }
}
