import type { StoreChange, Stored } from "../../common/kube/store.ts";

interface Phased extends Stored {
  readonly phase: string;
  /** The time that the API gives. */
  readonly phaseSinceMs?: number | undefined;
}

/**
 * When this process first saw objects in their phase, where the API does not say since when. A restart begins anew, so such an age is
 * never longer than the truth.
 */
export class PhaseObservations<T extends Phased> {
  readonly #isUndated: (object: T, nowMs: number) => boolean;
  readonly #observations = new Map<string, { readonly phase: string; readonly ms: number }>();

  constructor(isUndated: (object: T, nowMs: number) => boolean) {
    this.#isUndated = isUndated;
  }

  /** Takes in each change of the collection; `nowMs` is the latest that the API server's clock can show, so none is dated too early. */
  note(change: StoreChange<T>, nowMs: number): void {
    const { object } = change;
    const { uid, phase, phaseSinceMs } = object;
    const before = change.kind === "updated" ? change.previous : undefined;
    // A time that was in the future when it was written stays wrong when it has passed.
    if (before?.phase === phase && before.phaseSinceMs === phaseSinceMs) return;
    if (change.kind === "deleted" || !this.#isUndated(object, nowMs)) this.#observations.delete(uid);
    else if (this.#observations.get(uid)?.phase !== phase) this.#observations.set(uid, { phase, ms: nowMs });
  }

  firstSeenMs(uid: string): number | undefined {
    return this.#observations.get(uid)?.ms;
  }
}
