import type { KubeEvent } from "./kube-event.ts";

/** After this time without a repetition, the next one is a new event; client-go uses the same value. Milliseconds. */
const SERIES_MS = 360_000;
/** The second event starts the series; after that its count is written at most this often. */
const WRITE_EVERY_MS = 60_000;
/** At most this many series are remembered; an event of any other is written as a new one. */
const MOST_SERIES = 500;

interface Series {
  /** Path of the Event object of the series. */
  readonly path: string;
  readonly count: number;
  readonly lastMs: number;
  readonly writtenMs: number;
}

/** What to do with an event: write it, update the series that it belongs to, or only count it. */
export type EventStep =
  | { readonly kind: "write" }
  | { readonly kind: "repeat"; readonly path: string; readonly count: number }
  | { readonly kind: "count" };

/** Combines equal events into one Event with a series (events.k8s.io/v1). Times on a monotonic clock. */
export class EventSeries {
  readonly #known = new Map<string, Series>();

  next(event: KubeEvent, nowMs: number): EventStep {
    const key = keyOf(event);
    const known = this.#known.get(key);
    if (known === undefined || nowMs - known.lastMs > SERIES_MS) return { kind: "write" };
    const count = known.count + 1;
    const isWritten = count === 2 || nowMs - known.writtenMs >= WRITE_EVERY_MS;
    this.#put(key, { ...known, count, lastMs: nowMs, writtenMs: isWritten ? nowMs : known.writtenMs });
    return isWritten ? { kind: "repeat", path: known.path, count } : { kind: "count" };
  }

  /** The event was written as a new one. */
  written(event: KubeEvent, path: string, nowMs: number): void {
    this.#put(keyOf(event), { path, count: 1, lastMs: nowMs, writtenMs: nowMs });
  }

  /** The Event of the series no longer exists. */
  forget(event: KubeEvent): void {
    this.#known.delete(keyOf(event));
  }

  #put(key: string, series: Series): void {
    this.#known.delete(key);
    this.#known.set(key, series);
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= MOST_SERIES) return;
      this.#known.delete(oldest);
    }
  }
}

/** Events are equal when they say the same of the same object. */
function keyOf({ regarding: { kind, namespace, name, uid }, type, reason, action, note }: KubeEvent): string {
  return JSON.stringify([kind, namespace, name, uid, type, reason, action, note]);
}
