import type { KubeParts } from "../../common/kube/client.ts";
import type { StoreChange, Stored } from "../../common/kube/store.ts";

/** The latest that the API server's clock can show: what is first seen is never dated too early by it. */
export function latestServerMs({ client, clock }: Pick<KubeParts, "client" | "clock">): number {
  return client.serverTime()?.latestMs ?? clock.wallMs();
}

interface Phased extends Stored {
  readonly phase: string;
  /** What the API says. */
  readonly phaseSinceMs?: number | undefined;
}

/**
 * When objects were first seen in their phase, of those alone whose phase the API does not date. A process that starts begins anew, so that
 * an age by first sight is never longer than the truth.
 */
export class PhaseSights<T extends Phased> {
  readonly #isUndated: (object: T, nowMs: number) => boolean;
  readonly #sights = new Map<string, { readonly phase: string; readonly ms: number }>();

  constructor(isUndated: (object: T, nowMs: number) => boolean) {
    this.#isUndated = isUndated;
  }

  /** Called with each change of the collection. */
  note(change: StoreChange<T>, nowMs: number): void {
    const { object } = change;
    const { uid, phase, phaseSinceMs } = object;
    const before = change.kind === "updated" ? change.previous : undefined;
    // A time that lay ahead when it was written does not become true because it has come.
    if (before?.phase === phase && before.phaseSinceMs === phaseSinceMs) return;
    if (change.kind === "deleted" || !this.#isUndated(object, nowMs)) this.#sights.delete(uid);
    else if (this.#sights.get(uid)?.phase !== phase) this.#sights.set(uid, { phase, ms: nowMs });
  }

  firstSeenMs(uid: string): number | undefined {
    return this.#sights.get(uid)?.ms;
  }
}
