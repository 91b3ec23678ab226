import type { KubeParts } from "../../common/kube/client.ts";
import type { WriteFailure } from "../sinks/writers.ts";

/** After so long without a failure, the next one is logged again. Longer than a failing claim waits, or each attempt would be logged. */
const OVER_MS = 180_000;
/**
 * How long a worker rests: sixteen workers then send three requests a second in all, and a healthy claim still waits no longer than
 * this.
 */
const REST = { firstMs: 100, longestMs: 5_000 };
/** A claim waits for as long as the server asks; its worker takes other claims after this. */
const LONGEST_ASKED_MS = 30_000;

/** A failure of the API server, or of the way to it, or a permission that our account lacks. */
type ServerFailure = Extract<WriteFailure, { readonly retryAfterMs: number }>;

export function isServerFailure(failure: WriteFailure): failure is ServerFailure {
  return "retryAfterMs" in failure;
}

/**
 * Failures of writes that no single claim causes. The first one is logged, then the tenth, the hundredth, and so on. A worker that met
 * one rests before its next claim: as long as the server asks, and longer each time while no request succeeds. Otherwise the workers
 * would send every waiting claim to a server that accepts none.
 */
export class ServerFailures {
  readonly #parts: Pick<KubeParts, "clock" | "logger">;
  readonly #workers: number;
  #count = 0;
  #inRow = 0;
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor(parts: Pick<KubeParts, "clock" | "logger">, workers: number) {
    this.#parts = parts;
    this.#workers = workers;
  }

  /** The server has answered a request in another way. */
  end(): void {
    this.#inRow = 0;
  }

  /** Answers for how many milliseconds the worker has to rest. */
  note({ kind, message, retryAfterMs }: ServerFailure): number {
    const { clock, logger } = this.#parts;
    const now = clock.monotonicMs();
    this.#count = now - this.#lastMs > OVER_MS ? 1 : this.#count + 1;
    this.#lastMs = now;
    this.#inRow += 1;
    if (Number.isInteger(Math.log10(this.#count))) {
      const fields = { outcome: kind, err: message, retryAfterMs, failures: this.#count };
      const level = kind === "forbidden" ? "error" : "warn";
      logger[level](fields, "API server did not take a claim status, will be tried again");
    }
    return Math.max(Math.min(retryAfterMs, LONGEST_ASKED_MS), this.#growingMs);
  }

  /** Requests that are under way together fail together, and count as one. One failing claim never gets here: others succeed in between. */
  get #growingMs(): number {
    const rounds = Math.floor(this.#inRow / this.#workers);
    return rounds === 0 ? 0 : Math.min(REST.longestMs, REST.firstMs * 2 ** Math.min(rounds - 1, 30));
  }
}
