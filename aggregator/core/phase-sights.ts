/** An object in a phase that the API does not date. */
export interface PhaseSight {
  readonly uid: string;
  readonly phase: string;
}

/**
 * When objects were first seen in their phase, of those alone whose phase the API does not date. A process that starts begins anew, so that
 * an age by first sight is never longer than the truth.
 */
export class PhaseSights {
  readonly #sights = new Map<string, { readonly phase: string; readonly ms: number }>();

  /** The object is in the phase, and nothing dates it. The first call for a phase counts. */
  note({ uid, phase }: PhaseSight, nowMs: number): void {
    if (this.#sights.get(uid)?.phase !== phase) this.#sights.set(uid, { phase, ms: nowMs });
  }

  /** The object is gone, or its phase is dated. */
  forget(uid: string): void {
    this.#sights.delete(uid);
  }

  firstSeenMs(uid: string): number | undefined {
    return this.#sights.get(uid)?.ms;
  }

  get size(): number {
    return this.#sights.size;
  }
}
