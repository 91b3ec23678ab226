import type { Scheduler } from "../engine/scheduler.ts";

/** What lasts for a time: faults that begin, and end by themselves or when everything is healed. */
export class Windows {
  readonly #scheduler: Scheduler;
  readonly #open = new Map<() => void, boolean>();
  #lastFaultAt = Number.NEGATIVE_INFINITY;

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  /** Something goes wrong until `end` is called after a time. `isFault`: the product cannot be expected to be up to date meanwhile. */
  begin(forMs: number, end: () => void, isFault = true): void {
    this.#open.set(end, isFault);
    if (isFault) this.strike();
    this.#scheduler.after(forMs, () => this.#close(end));
  }

  /** Something went wrong, and is over. */
  strike(): void {
    this.#lastFaultAt = this.#scheduler.nowMs();
  }

  #close(end: () => void): void {
    const isFault = this.#open.get(end);
    if (isFault === undefined) return;
    this.#open.delete(end);
    if (isFault) this.strike();
    end();
  }

  closeAll(): void {
    for (const end of [...this.#open.keys()]) this.#close(end);
  }

  /** Since when, by true time, nothing has gone wrong; nothing while something does. */
  quietSince(): number | undefined {
    return [...this.#open.values()].includes(true) ? undefined : this.#lastFaultAt;
  }
}
