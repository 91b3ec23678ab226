import type { Scheduler } from "../engine/scheduler.ts";

/** Temporary faults: each ends by itself, or when everything is healed. */
export class Windows {
  readonly #scheduler: Scheduler;
  readonly #open = new Set<() => void>();

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  /** A fault that lasts until `end` is called after `forMs`. */
  begin(forMs: number, end: () => void): void {
    this.#open.add(end);
    this.#scheduler.after(forMs, () => this.#close(end));
  }

  #close(end: () => void): void {
    if (this.#open.delete(end)) end();
  }

  closeAll(): void {
    for (const end of [...this.#open]) this.#close(end);
  }
}
