import type { Clock } from "../runtime/clock.ts";

/** A watch that continues from an earlier position delivers the missed events within this time after it opens. */
const CATCHES_UP_MS = 1_000;

/** When the present watch of a collection opened, and whether it has delivered the earlier events. Milliseconds. */
export class OpenWatch {
  readonly #clock: Pick<Clock, "monotonicMs">;
  #openedAt: number | undefined;
  #currentFrom: number | undefined;

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /** The earlier watch has ended; the server has not answered the next one yet. */
  close(): void {
    this.#openedAt = undefined;
    this.#currentFrom = undefined;
  }

  /** The server has begun to answer. A watch without an answer does not count as open. */
  open(): void {
    this.#openedAt = this.#clock.monotonicMs();
    this.#currentFrom ??= this.#openedAt + CATCHES_UP_MS;
  }

  /** The whole collection was listed. */
  listed(): void {
    this.#currentFrom = this.#clock.monotonicMs();
  }

  /** How long the server has been answering; 0 before it begins. */
  get openMs(): number {
    return this.#openedAt === undefined ? 0 : this.#clock.monotonicMs() - this.#openedAt;
  }

  /** The watch is open, and it began with a list or has had the time to catch up. */
  get isCurrent(): boolean {
    if (this.#openedAt === undefined || this.#currentFrom === undefined) return false;
    return this.#clock.monotonicMs() >= this.#currentFrom;
  }
}
