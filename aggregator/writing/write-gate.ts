import type { KubeParts } from "../../common/kube/client.ts";
import { type Attempts, nextAttempts, type Outcome, restBefore } from "../core/claims/write-back-off.ts";
import { dropOldest } from "../core/reports/budgets.ts";
import type { WriteFailure } from "../sinks/writers.ts";

/** An attempt to write an object. Equal texts are equal contents. */
export interface Attempt {
  readonly key: string;
  readonly uid: string;
  /** The state that the write was decided on, and what it says. */
  readonly resourceVersion: string;
  readonly current: string;
  /** What is to be written, without what is new with each decision. */
  readonly content: string;
  /** A decision brings something new, such as a later time. Otherwise the write only corrects what another client changed. */
  readonly isNews: boolean;
}

interface Failed extends Pick<Attempt, "uid" | "resourceVersion" | "content"> {
  readonly attempts: Attempts;
  /** Since the last success, the last with each outcome: refusals and conflicts in turn are counted beside each other. */
  readonly byOutcome: Readonly<Partial<Record<Outcome, Attempts>>>;
}

/** A successful write: its content, and what the object said afterwards. */
interface Written extends Pick<Attempt, "content"> {
  readonly left: string;
  readonly attempts: Attempts;
}

/** The gate remembers the last write of so many objects: a client that fights for one changes it back soon. */
const MOST_WRITTEN = 20_000;

/** Decides when the next write of each object may be made, by what became of its last ones. No object delays another. */
export class WriteGate {
  readonly #parts: Pick<KubeParts, "clock" | "random">;
  /** By key; nothing for most objects. */
  readonly #failed = new Map<string, Failed>();
  /** By UID, oldest first. */
  readonly #written = new Map<string, Written>();

  constructor(parts: Pick<KubeParts, "clock" | "random">) {
    this.#parts = parts;
  }

  /** Keys of the objects whose last write had this outcome. */
  keysOf(outcome: Outcome): readonly string[] {
    return [...this.#failed].filter(([, { attempts }]) => attempts.outcome === outcome).map(([key]) => key);
  }

  /** The object's last write failed for a reason that lies in no object. */
  isFailing(key: string): boolean {
    const outcome = this.#failed.get(key)?.attempts.outcome;
    return outcome === "failed" || outcome === "forbidden";
  }

  /** How many milliseconds are left until the write may be made; 0 or less when it may be made now. */
  restBefore(attempt: Attempt): number {
    const nowMs = this.#parts.clock.monotonicMs();
    const failed = this.#failedOf(attempt);
    const putBack = this.#putBack(attempt);
    return Math.max(
      failed === undefined ? 0 : restBefore(failed.attempts, nowMs, hasChanged(failed, attempt)),
      putBack === undefined ? 0 : restBefore(putBack, nowMs),
    );
  }

  /** The write failed. Answers how often that has happened in a row. */
  failed(attempt: Attempt, outcome: Outcome, retryAfterMs = 0): number {
    const { key, uid, resourceVersion, content } = attempt;
    const now = { outcome, atMs: this.#parts.clock.monotonicMs(), retryAfterMs, jitter: this.#parts.random.fraction() };
    const failed = this.#failedOf(attempt);
    const attempts = nextAttempts(failed?.byOutcome[outcome], now, failed && hasChanged(failed, attempt));
    const byOutcome = { ...failed?.byOutcome, [outcome]: attempts };
    this.#failed.set(key, { uid, resourceVersion, content, attempts, byOutcome });
    return attempts.times;
  }

  /** The write succeeded, and the object now says `left`. Answers how often it has been written in a row, as another client changes it back. */
  written(attempt: Attempt, left: string): number {
    const { uid, content } = attempt;
    const now = { outcome: "written", atMs: this.#parts.clock.monotonicMs(), retryAfterMs: 0, jitter: 0.5 } as const;
    const attempts = nextAttempts(this.#putBack(attempt), now);
    this.rest(attempt.key);
    this.#written.delete(uid);
    this.#written.set(uid, { content, left, attempts });
    dropOldest(this.#written, MOST_WRITTEN);
    return attempts.times;
  }

  /** Nothing has to be written, or the object is gone: earlier failures no longer count. */
  rest(key: string): void {
    this.#failed.delete(key);
  }

  /** An object that was re-created under its name starts anew. */
  #failedOf({ key, uid }: Attempt): Failed | undefined {
    const failed = this.#failed.get(key);
    return failed?.uid === uid ? failed : undefined;
  }

  /** Earlier writes of this content, unless this one is news on top of the last. A correction counts even where that one still stands. */
  #putBack({ uid, current, content, isNews }: Attempt): Attempts | undefined {
    const last = this.#written.get(uid);
    if (last?.content !== content || (isNews && last.left === current)) return undefined;
    return last.attempts;
  }
}

/** Whether the attempt does more than repeat the one that failed. Any content on a state that is known to be old meets the same conflict. */
function hasChanged({ resourceVersion, content, attempts }: Failed, attempt: Attempt): boolean {
  return attempt.resourceVersion !== resourceVersion || (attempts.outcome !== "stale" && attempt.content !== content);
}

/** After so long without a failure, the next one is logged again. Longer than a failing claim waits, or each attempt would be logged. */
const OVER_MS = 180_000;
/** How long a worker rests: sixteen of them then send three requests a second, and a healthy claim waits no longer than this. */
const REST = { firstMs: 100, longestMs: 5_000 };
/** A claim waits for as long as the server asks; its worker takes other claims after this. */
const LONGEST_ASKED_MS = 30_000;

/** A failure of the API server, or of the way to it, or a permission that our account lacks. */
type ServerFailure = Extract<WriteFailure, { readonly retryAfterMs: number }>;

export function isServerFailure(failure: WriteFailure): failure is ServerFailure {
  return "retryAfterMs" in failure;
}

/**
 * Failures of writes that no single claim causes. The first, tenth, hundredth and so on is logged. A worker that met one rests: as long as
 * the server asks, and longer each time while no request succeeds. Otherwise all would send every claim to a server that accepts none.
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
