import type { Clock } from "../../common/runtime/clock.ts";
import type { Logger } from "../../common/runtime/logger.ts";

/** Without one for so long, the next is news again. */
const OVER_MS = 60_000;

/** Failures of the API server that are no claim's own: the first is logged, then the tenth, the hundredth, and so on. */
export class Setbacks {
  readonly #clock: Clock;
  readonly #logger: Logger;
  #count = 0;
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#clock = clock;
    this.#logger = logger;
  }

  note({
    kind,
    message,
    retryAfterMs,
  }: {
    readonly kind: string;
    readonly message: string;
    readonly retryAfterMs: number;
  }): void {
    const now = this.#clock.monotonicMs();
    this.#count = now - this.#lastMs > OVER_MS ? 1 : this.#count + 1;
    this.#lastMs = now;
    if (!Number.isInteger(Math.log10(this.#count))) return;
    const fields = { outcome: kind, err: message, retryAfterMs, failures: this.#count };
    this.#logger.warn(fields, "API server did not take a claim status, will be tried again");
  }
}
