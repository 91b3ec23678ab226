import type { KubeParts } from "../../common/kube/client.ts";
import { dropOldest } from "../core/reports/budgets.ts";
import type { WriteFailure } from "../sinks/writers.ts";

/** An attempt to write an object. Equal texts are equal contents. */
export interface Attempt {
  readonly key: string;
  readonly uid: string;
  /** The state that the write was decided on. */
  readonly resourceVersion: string;
  /** What is to be written, without what is new with each decision. */
  readonly content: string;
  /** It brings something new, such as a later time. Otherwise it only corrects what another client changed. */
  readonly isNews: boolean;
}

/** What became of a write. `written`: it succeeded, and another client has changed the object since. */
export type Outcome = WriteFailure["kind"] | "written";

/** The wait doubles with each attempt in a row, up to the longest. Milliseconds. */
interface Wait {
  readonly firstMs: number;
  readonly longestMs: number;
}

const SERVER: Wait = { firstMs: 500, longestMs: 60_000 };
const WAITS: Readonly<Record<Outcome, Wait>> = {
  // The watch is about to bring the change.
  stale: { firstMs: 50, longestMs: 10_000 },
  refused: { firstMs: 60_000, longestMs: 600_000 },
  forbidden: SERVER,
  overloaded: SERVER,
  failed: SERVER,
  written: { firstMs: 1_000, longestMs: 600_000 },
};
/**
 * A refusal lies in what was written, and repeated conflicts in a watch that is behind: once that or the object changes, one in so many
 * parts of the wait is left. A client that changes the object before each attempt does not end the wait.
 */
const CHANGED_PART = 60;

/** Attempts in a row. Times are milliseconds on a monotonic clock. */
interface Attempts {
  readonly times: number;
  readonly atMs: number;
  readonly waitMs: number;
}

interface Failed extends Attempts, Pick<Attempt, "uid" | "resourceVersion" | "content"> {
  readonly outcome: Outcome;
  /** The attempt before it was decided on the same state: the watch brought nothing in between. */
  readonly isRepeated: boolean;
}

/** Successful writes of one content, and the version that the last one left; empty where the content then differed. */
interface Written extends Attempts, Pick<Attempt, "content"> {
  readonly left: string;
}

/** The gate remembers the last write of so many objects: a client that fights for one changes it back soon. */
const MOST_WRITTEN = 20_000;
/** Once a write has stood for so long, the next one of its content is the first of a new row. Milliseconds. */
const STANDS_MS = 2 * WAITS.written.longestMs;

/** Decides when each object's next write may be made, by what became of its last ones. No object delays another. */
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
    return [...this.#failed].filter(([, failed]) => failed.outcome === outcome).map(([key]) => key);
  }

  /** The object's last write failed for a reason that lies in no object. */
  isFailing(key: string): boolean {
    const failed = this.#failed.get(key);
    return failed !== undefined && WAITS[failed.outcome] === SERVER;
  }

  /** How many milliseconds are left until the write may be made. */
  restBefore(attempt: Attempt): number {
    const nowMs = this.#parts.clock.monotonicMs();
    const failed = this.#failedOf(attempt);
    const dueMs = failed === undefined ? nowMs : failed.atMs + waitLeft(failed, attempt);
    const { atMs = nowMs, waitMs = 0 } = this.#putBack(attempt) ?? {};
    return Math.max(nowMs, dueMs, atMs + waitMs) - nowMs;
  }

  /** The write failed. Answers whether the one before it did not fail in this way. */
  failed(attempt: Attempt, outcome: WriteFailure["kind"], retryAfterMs = 0): boolean {
    const { key, uid, resourceVersion, content } = attempt;
    const last = this.#failedOf(attempt);
    const times = (last?.times ?? 0) + 1;
    const waitMs = Math.max(retryAfterMs, waitAfter(outcome, times) * (0.75 + this.#parts.random.fraction() / 2));
    const atMs = this.#parts.clock.monotonicMs();
    const isRepeated = last?.resourceVersion === resourceVersion;
    this.#failed.set(key, { uid, resourceVersion, content, outcome, isRepeated, times, atMs, waitMs });
    return last?.outcome !== outcome;
  }

  /** The write succeeded, see `Written.left`. Answers how often in a row, as another client changes it back. */
  written(attempt: Attempt, left: string): number {
    const { uid, content } = attempt;
    const atMs = this.#parts.clock.monotonicMs();
    const times = (this.#putBack(attempt)?.times ?? 0) + 1;
    this.rest(attempt.key);
    this.#written.delete(uid);
    this.#written.set(uid, { content, left, times, atMs, waitMs: waitAfter("written", times) });
    dropOldest(this.#written, MOST_WRITTEN);
    return times;
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

  /** Earlier writes of this content, unless this is news on top of the last. A correction counts if that stands. */
  #putBack({ uid, resourceVersion, content, isNews }: Attempt): Attempts | undefined {
    const last = this.#written.get(uid);
    if (last?.content !== content || (isNews && last.left === resourceVersion)) return undefined;
    return this.#parts.clock.monotonicMs() - last.atMs <= STANDS_MS ? last : undefined;
  }
}

function waitAfter(outcome: Outcome, times: number): number {
  const { firstMs, longestMs } = WAITS[outcome];
  return Math.min(longestMs, firstMs * 2 ** Math.min(times - 1, 30));
}

function waitLeft({ outcome, waitMs, isRepeated, ...failed }: Failed, { resourceVersion, content }: Attempt): number {
  const isNewer = failed.resourceVersion !== resourceVersion;
  const isRefusalOver = outcome === "refused" && (isNewer || failed.content !== content);
  const isConflictOver = outcome === "stale" && isRepeated && isNewer;
  return isRefusalOver || isConflictOver ? waitMs / CHANGED_PART : waitMs;
}
