import type { Clock } from "../../common/runtime/clock.ts";
import type { Claim } from "../../common/storage/claim.ts";
import type { ClaimStatus } from "../../common/storage/claim-status.ts";
import { type ClaimWrite, isSameStatus } from "../core/claim-write.ts";
import { type Attempts, isUnchanged, nextAttempts, restBefore, type Trouble } from "../core/write-back-off.ts";

/** What is remembered of a claim's writes. */
export interface WriteMemory {
  readonly uid: string;
  /** Since when a change of the reason alone waits to be written, on the monotonic clock. */
  reasonChangedAt: number | undefined;
  trouble: Trouble | undefined;
  /** The refusal that its owner was told of. */
  toldRefusal: string | undefined;
  isPutBackTold: boolean;
}

/** The last write of a claim, and how often the same was written in a row. */
interface LastWrite {
  readonly status: ClaimStatus | undefined;
  readonly attempts: Attempts;
}

/** Of so many claims the last write is remembered: who keeps changing it back does so soon. */
const RECENT_WRITES = 20_000;

type Write = Exclude<ClaimWrite, { kind: "none" }>;

/** The memories of those claims of which there is something to remember. */
export class WriteMemories {
  readonly #clock: Clock;
  readonly #reasonDelayMs: number;
  readonly #memories = new Map<string, WriteMemory>();
  /** What was written last, by the claim's UID, oldest first. */
  readonly #recent = new Map<string, LastWrite>();

  constructor(clock: Clock, reasonDelayMs: number) {
    this.#clock = clock;
    this.#reasonDelayMs = reasonDelayMs;
  }

  /** Claims whose last write was refused. */
  get refused(): number {
    return [...this.#memories.values()].filter(({ trouble }) => trouble?.outcome === "refused").length;
  }

  /** Nothing of most claims, also while hundreds of thousands wait for their first status. */
  known({ key, uid }: Claim): WriteMemory | undefined {
    const known = this.#memories.get(key);
    return known?.uid === uid ? known : undefined;
  }

  /** To remember something in. A claim that was re-created under its name starts anew. */
  of(claim: Claim): WriteMemory {
    const { key, uid } = claim;
    const known = this.known(claim);
    if (known !== undefined) return known;
    const fresh: WriteMemory = {
      uid,
      reasonChangedAt: undefined,
      trouble: undefined,
      toldRefusal: undefined,
      isPutBackTold: false,
    };
    this.#memories.set(key, fresh);
    return fresh;
  }

  /** Nothing has to be written for the claim now. */
  rest({ key }: Claim): void {
    const memory = this.#memories.get(key);
    if (memory === undefined) return;
    memory.reasonChangedAt = undefined;
    memory.trouble = undefined;
    if (memory.toldRefusal === undefined && !memory.isPutBackTold) this.#memories.delete(key);
  }

  /** It is written: what stood against that, and since when it was to be, is of the past. Answers how often the same was written in a row. */
  written(claim: Claim, write: Write): number {
    const memory = this.known(claim);
    if (memory !== undefined) {
      memory.trouble = undefined;
      memory.toldRefusal = undefined;
      memory.reasonChangedAt = undefined;
    }
    const before = this.isRepeated(claim, write) ? this.#recent.get(claim.uid)?.attempts : undefined;
    const now = { outcome: "written", atMs: this.#clock.monotonicMs(), retryAfterMs: 0, jitter: 0.5 } as const;
    const attempts = nextAttempts(before, now);
    this.#recent.delete(claim.uid);
    this.#recent.set(claim.uid, { status: write.kind === "apply" ? write.status : claim.status, attempts });
    const [oldest] = this.#recent.size > RECENT_WRITES ? this.#recent.keys() : [];
    if (oldest !== undefined) this.#recent.delete(oldest);
    return attempts.times;
  }

  forget(claim: Claim): void {
    if (this.known(claim) !== undefined) this.#memories.delete(claim.key);
    this.#recent.delete(claim.uid);
  }

  /**
   * True when the same has been written before, so that it only puts right what others did to it. Where what we wrote is lost, its time is
   * lost with it, and comes anew; where it stands, a later time is news.
   */
  isRepeated({ uid, status: stands }: Claim, write: Write): boolean {
    const last = this.#recent.get(uid);
    if (last === undefined) return false;
    if (write.kind === "clean" || write.isRepair) return true;
    const { status: ours } = last;
    if (ours === undefined) return false;
    const sinceMs = isSameStatus(stands, ours) ? write.status.sinceMs : ours.sinceMs;
    return isSameStatus(ours, { ...write.status, sinceMs });
  }

  /** How many milliseconds are left until the write may be made; nothing is left at 0 and below. */
  restBefore(claim: Claim, write: Write): number {
    const atMs = this.#clock.monotonicMs();
    const { resourceVersion } = claim;
    const status = write.kind === "apply" ? write.status : undefined;
    const foldMs = write.kind === "apply" && write.canWait ? this.#foldMs(this.of(claim), atMs) : 0;
    const trouble = this.known(claim)?.trouble;
    const last = this.isRepeated(claim, write) ? this.#recent.get(claim.uid) : undefined;
    return Math.max(
      foldMs,
      trouble === undefined ? 0 : restBefore(trouble, atMs, !isUnchanged(trouble, { resourceVersion, status })),
      last === undefined ? 0 : restBefore(last.attempts, atMs),
    );
  }

  /** Reason-only changes wait a little: most are followed by the next one. */
  #foldMs(memory: WriteMemory, atMs: number): number {
    memory.reasonChangedAt ??= atMs;
    return memory.reasonChangedAt + this.#reasonDelayMs - atMs;
  }
}
