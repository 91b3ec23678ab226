import type { Clock } from "../runtime/clock.ts";

/** A watch that goes on from an earlier position brings what it had missed within this time after it was opened. */
const CATCHES_UP_MS = 1_000;

/** Since when the present watch of a collection is open, and whether it has brought what happened before. Milliseconds. */
export class OpenWatch {
  readonly #clock: Pick<Clock, "monotonicMs">;
  #openedAt: number | undefined;
  #currentFrom: number | undefined;

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /** The earlier watch is over; the server has not answered the next one. */
  close(): void {
    this.#openedAt = undefined;
    this.#currentFrom = undefined;
  }

  /** The server begins to answer: to hang is not to stand. */
  open(): void {
    this.#openedAt = this.#clock.monotonicMs();
    this.#currentFrom ??= this.#openedAt + CATCHES_UP_MS;
  }

  /** The collection was listed whole. */
  listed(): void {
    this.#currentFrom = this.#clock.monotonicMs();
  }

  /** For how long the server has been answering; 0 where it has not begun to. */
  get stoodMs(): number {
    return this.#openedAt === undefined ? 0 : this.#clock.monotonicMs() - this.#openedAt;
  }

  /** It is open, and the collection was listed with it or it has had the time to catch up. */
  get isCurrent(): boolean {
    if (this.#openedAt === undefined || this.#currentFrom === undefined) return false;
    return this.#clock.monotonicMs() >= this.#currentFrom;
  }
}
