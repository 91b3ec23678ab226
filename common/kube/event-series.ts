import type { KubeEvent } from "./kube-event.ts";

/** What client-go keeps to, too: after so long without one, the next is a new event. Milliseconds. */
const SERIES_MS = 360_000;
/** The second says that it is a series; from then on it is told how many there were at most so often. */
const TOLD_EVERY_MS = 60_000;
/** So many are remembered; of others the next is a new event. */
const MOST_SERIES = 500;

interface Series {
  /** The path of the event that stands for all of them. */
  readonly path: string;
  readonly count: number;
  readonly lastMs: number;
  readonly toldMs: number;
}

/** What to do about an event: write it, tell of the series that it belongs to, or nothing but count. */
export type EventStep =
  | { readonly kind: "write" }
  | { readonly kind: "repeat"; readonly path: string; readonly count: number }
  | { readonly kind: "count" };

/** Events that are alike, one after the other, as one event with a series (events.k8s.io/v1). Times on a monotonic clock. */
export class EventSeries {
  readonly #known = new Map<string, Series>();

  next(event: KubeEvent, nowMs: number): EventStep {
    const key = keyOf(event);
    const known = this.#known.get(key);
    if (known === undefined || nowMs - known.lastMs > SERIES_MS) return { kind: "write" };
    const count = known.count + 1;
    const isTold = count === 2 || nowMs - known.toldMs >= TOLD_EVERY_MS;
    this.#put(key, { ...known, count, lastMs: nowMs, toldMs: isTold ? nowMs : known.toldMs });
    return isTold ? { kind: "repeat", path: known.path, count } : { kind: "count" };
  }

  /** It was written as a new event. */
  written(event: KubeEvent, path: string, nowMs: number): void {
    this.#put(keyOf(event), { path, count: 1, lastMs: nowMs, toldMs: nowMs });
  }

  /** The event of the series is no longer there. */
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

/** Alike is what says the same of the same object. */
function keyOf({ regarding: { kind, namespace, name, uid }, type, reason, action, note }: KubeEvent): string {
  return JSON.stringify([kind, namespace, name, uid, type, reason, action, note]);
}
