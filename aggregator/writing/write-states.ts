import type { Clock } from "../../common/runtime/clock.ts";
import type { Random } from "../../common/runtime/random.ts";
import type { Claim } from "../../common/storage/claim.ts";
import type { ClaimStatus } from "../../common/storage/claim-status.ts";
import { type ClaimWrite, isSameStatus } from "../core/claim-write.ts";
import {
  type Attempts,
  isUnchanged,
  nextAttempts,
  type Outcome,
  restBefore,
  type Trouble,
} from "../core/write-back-off.ts";

export type Write = Exclude<ClaimWrite, { kind: "none" }>;

/** A write, and the claim as it was when that was decided. */
export interface Attempt {
  readonly claim: Claim;
  readonly write: Write;
}

/** What is remembered of a claim's writes. */
interface WriteState {
  readonly uid: string;
  /** Since when a change of the reason alone waits to be written, on the monotonic clock. */
  reasonChangedAt?: number | undefined;
  trouble?: Trouble | undefined;
  /** The refusal that its owner was told of. */
  toldRefusal?: string | undefined;
}

/** The last write of a claim, and how often the same was written in a row. */
interface LastWrite {
  readonly status: ClaimStatus | undefined;
  readonly attempts: Attempts;
}

interface StateParts {
  readonly clock: Clock;
  readonly random: Random;
}

/** Of so many claims the last write is remembered: a client that keeps changing it back does so soon. */
const RECENT_WRITES = 20_000;

/**
 * With so many writes of the same in a row it is known that another client puts back what was put right. An apply, one over annotations of another
 * manager, and the removal of those that no apply removes may follow each other without that.
 */
const PUT_BACK_TIMES = 4;

/** When the write of each claim may be made: what became of the last ones, and what was told of that. */
export class WriteStates {
  readonly #parts: StateParts;
  readonly #reasonDelayMs: number;
  /** Nothing of most claims, also while hundreds of thousands wait for their first status. */
  readonly #states = new Map<string, WriteState>();
  /** By the claim's UID, oldest first. */
  readonly #recent = new Map<string, LastWrite>();

  constructor(parts: StateParts, reasonDelayMs: number) {
    this.#parts = parts;
    this.#reasonDelayMs = reasonDelayMs;
  }

  /** Claims whose last write was refused. */
  get refused(): number {
    return [...this.#states.values()].filter(({ trouble }) => trouble?.outcome === "refused").length;
  }

  /** How many milliseconds are left until the write may be made; nothing is left at 0 and below. */
  restBefore({ claim, write }: Attempt): number {
    const atMs = this.#parts.clock.monotonicMs();
    const foldedMs = write.kind === "apply" && write.canWait ? this.#foldedMs(claim, atMs) : 0;
    const trouble = this.#known(claim)?.trouble;
    const hasChanged = trouble !== undefined && !isUnchanged(trouble, snapshotOf({ claim, write }));
    const last = this.#lastOfSame({ claim, write });
    return Math.max(
      foldedMs,
      trouble === undefined ? 0 : restBefore(trouble, atMs, hasChanged),
      last === undefined ? 0 : restBefore(last, atMs),
    );
  }

  /** The claim, as it was decided on, has turned out to be old: it is to be read. */
  isOutdated({ claim, write }: Attempt): boolean {
    const trouble = this.#known(claim)?.trouble;
    return trouble?.outcome === "stale" && isUnchanged(trouble, snapshotOf({ claim, write }));
  }

  /** Nothing has to be written for the claim now. */
  rest({ key }: Claim): void {
    const state = this.#states.get(key);
    if (state === undefined) return;
    state.reasonChangedAt = undefined;
    state.trouble = undefined;
    if (state.toldRefusal === undefined) this.#states.delete(key);
  }

  /** It is written: what stood against that is of the past. Answers whether another client is known now to put something back. */
  written({ claim, write }: Attempt): boolean {
    const state = this.#known(claim);
    if (state !== undefined) {
      state.trouble = undefined;
      state.toldRefusal = undefined;
      state.reasonChangedAt = undefined;
    }
    const attempts = nextAttempts(this.#lastOfSame({ claim, write }), this.#now("written", 0, 0.5));
    this.#recent.delete(claim.uid);
    this.#recent.set(claim.uid, { status: write.kind === "apply" ? write.status : claim.status, attempts });
    const [oldest] = this.#recent.size > RECENT_WRITES ? this.#recent.keys() : [];
    if (oldest !== undefined) this.#recent.delete(oldest);
    return attempts.times === PUT_BACK_TIMES;
  }

  failed(attempt: Attempt, outcome: Outcome, retryAfterMs: number): void {
    const state = this.#of(attempt.claim);
    const now = this.#now(outcome, retryAfterMs, this.#parts.random.fraction());
    state.trouble = { ...nextAttempts(state.trouble, now), ...snapshotOf(attempt) };
  }

  /** Answers whether the refusal is to be told: once for each reason. */
  refuse(claim: Claim, reason: string): boolean {
    const state = this.#of(claim);
    const isNews = state.toldRefusal !== reason;
    state.toldRefusal = reason;
    return isNews;
  }

  /** The claim was read: what was old is known no more. */
  read(claim: Claim): void {
    const state = this.#known(claim);
    if (state?.trouble !== undefined) state.trouble = { ...state.trouble, resourceVersion: "" };
  }

  /** There is no claim of that name. */
  release(key: string): void {
    this.#states.delete(key);
  }

  forget(claim: Claim): void {
    if (this.#known(claim) !== undefined) this.release(claim.key);
    this.#recent.delete(claim.uid);
  }

  #known({ key, uid }: Claim): WriteState | undefined {
    const known = this.#states.get(key);
    return known?.uid === uid ? known : undefined;
  }

  /** To remember something in. A claim that was re-created under its name starts anew. */
  #of(claim: Claim): WriteState {
    const state = this.#known(claim) ?? { uid: claim.uid };
    this.#states.set(claim.key, state);
    return state;
  }

  /** Changes of the reason alone wait a little: most are followed by the next one. */
  #foldedMs(claim: Claim, atMs: number): number {
    const state = this.#of(claim);
    state.reasonChangedAt ??= atMs;
    return state.reasonChangedAt + this.#reasonDelayMs - atMs;
  }

  #now(outcome: Outcome, retryAfterMs: number, jitter: number): Omit<Attempts, "times"> {
    return { outcome, atMs: this.#parts.clock.monotonicMs(), retryAfterMs, jitter };
  }

  /**
   * What was written before where it was the same, so that it only puts right what others did to it. Where what we wrote is lost, its time is
   * lost with it, and comes anew; where it stands, a later time is news.
   */
  #lastOfSame({ claim: { uid, status: stands }, write }: Attempt): Attempts | undefined {
    const { status: ours, attempts } = this.#recent.get(uid) ?? {};
    if (write.kind === "clean" || write.isRepair) return attempts;
    if (ours === undefined) return undefined;
    const sinceMs = isSameStatus(stands, ours) ? write.status.sinceMs : ours.sinceMs;
    return isSameStatus(ours, { ...write.status, sinceMs }) ? attempts : undefined;
  }
}

function snapshotOf({ claim, write }: Attempt): Pick<Trouble, "resourceVersion" | "status"> {
  return { resourceVersion: claim.resourceVersion, status: write.kind === "apply" ? write.status : undefined };
}
