import type { Clock } from "../../common/runtime/clock.ts";
import type { Claim } from "../../common/storage/claim.ts";
import type { ClaimStatus } from "../../common/storage/claim-status.ts";
import { type ClaimWrite, isSameStatus } from "../core/claim-write.ts";
import { type Repairs, restBefore, restBeforeRepair, type WriteTrouble } from "../core/write-pace.ts";

/** What is remembered of a claim's writes. */
export interface WriteMemory {
  readonly uid: string;
  /** Since when a change of the reason alone waits to be written, on the monotonic clock. */
  reasonChangedAt: number | undefined;
  trouble: WriteTrouble | undefined;
  /** How often in a row it was put right after others had changed what we had written. */
  repairs: Repairs | undefined;
  /** The refusal that its owner was told of. */
  toldRefusal: string | undefined;
  isPutBackTold: boolean;
}

/** Of so many claims the last status is remembered: who keeps changing it back does so soon. */
const RECENT_STATUSES = 20_000;

type Write = Exclude<ClaimWrite, { kind: "none" }>;

/** The memories of those claims of which there is something to remember. */
export class WriteMemories {
  readonly #clock: Clock;
  readonly #reasonDelayMs: number;
  readonly #memories = new Map<string, WriteMemory>();
  /** What was written last, by the claim's UID, oldest first. */
  readonly #recent = new Map<string, ClaimStatus>();

  constructor(clock: Clock, reasonDelayMs: number) {
    this.#clock = clock;
    this.#reasonDelayMs = reasonDelayMs;
  }

  /** Claims whose last write was refused. */
  get refused(): number {
    return [...this.#memories.values()].filter(({ trouble }) => trouble?.kind === "refused").length;
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
      repairs: undefined,
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
    if (memory.repairs === undefined && memory.toldRefusal === undefined) this.#memories.delete(key);
  }

  /** It is written: what stood against that, and since when it was to be, is of the past. */
  written(claim: Claim): void {
    const memory = this.known(claim);
    if (memory === undefined) return;
    memory.trouble = undefined;
    memory.toldRefusal = undefined;
    memory.reasonChangedAt = undefined;
  }

  forget(claim: Claim): void {
    if (this.known(claim) !== undefined) this.#memories.delete(claim.key);
  }

  /**
   * True when the write only puts right what others did to what stood there: the same has been written before. Where what we wrote is
   * lost, its time is lost with it, and comes anew; where it stands, a later time is news.
   */
  isRepair({ uid, status: stands }: Claim, write: Write): boolean {
    if (write.kind === "clean" || write.isRepair) return true;
    const ours = this.#recent.get(uid);
    if (ours === undefined) return false;
    const sinceMs = isSameStatus(stands, ours) ? write.status.sinceMs : ours.sinceMs;
    return isSameStatus(ours, { ...write.status, sinceMs });
  }

  noteStatus({ uid }: Claim, status: ClaimStatus): void {
    this.#recent.delete(uid);
    this.#recent.set(uid, status);
    for (const oldest of this.#recent.keys()) {
      if (this.#recent.size <= RECENT_STATUSES) return;
      this.#recent.delete(oldest);
    }
  }

  /** How many milliseconds are left until the write may be made; nothing is left at 0 and below. */
  restBefore(claim: Claim, write: Write): number {
    const atMs = this.#clock.monotonicMs();
    const { resourceVersion } = claim;
    const status = write.kind === "apply" ? write.status : undefined;
    const foldMs = write.kind === "apply" && write.canWait ? this.#foldMs(this.of(claim), atMs) : 0;
    const { trouble, repairs } = this.known(claim) ?? {};
    const waits = [
      foldMs,
      trouble === undefined ? 0 : restBefore(trouble, { resourceVersion, status, atMs }),
      this.isRepair(claim, write) ? restBeforeRepair(repairs, atMs) : 0,
    ];
    return Math.max(...waits);
  }

  /** Reason-only changes wait a little: most are followed by the next one. */
  #foldMs(memory: WriteMemory, atMs: number): number {
    memory.reasonChangedAt ??= atMs;
    return memory.reasonChangedAt + this.#reasonDelayMs - atMs;
  }
}
