import type { Clock } from "../common/runtime/clock.ts";
import type { Claim } from "../common/storage/claim.ts";
import type { ClaimWrite } from "./core/claim-write.ts";
import { type Repairs, restBefore, restBeforeRepair, type WriteTrouble } from "./core/write-pace.ts";

/** What is remembered of a claim's writes. */
export interface WriteMemory {
  readonly uid: string;
  /** Since when a change of the reason alone waits to be written, on the monotonic clock. */
  reasonChangedAt: number | undefined;
  trouble: WriteTrouble | undefined;
  repairs: Repairs | undefined;
  /** The refusal that its owner was told of. */
  toldRefusal: string | undefined;
  isPutBackTold: boolean;
}

/** The memories of those claims of which there is something to remember. */
export class WriteMemories {
  readonly #clock: Clock;
  readonly #reasonDelayMs: number;
  readonly #memories = new Map<string, WriteMemory>();

  constructor(clock: Clock, reasonDelayMs: number) {
    this.#clock = clock;
    this.#reasonDelayMs = reasonDelayMs;
  }

  /** Claims whose last write was refused. */
  get refused(): number {
    return [...this.#memories.values()].filter(({ trouble }) => trouble?.kind === "refused").length;
  }

  /** A claim that was re-created under its name starts anew. */
  of({ key, uid }: Claim): WriteMemory {
    const known = this.#memories.get(key);
    if (known?.uid === uid) return known;
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

  forget({ key, uid }: Claim): void {
    if (this.#memories.get(key)?.uid === uid) this.#memories.delete(key);
  }

  /** How many milliseconds are left until the write may be made; nothing is left at 0 and below. */
  restBefore(claim: Claim, write: Exclude<ClaimWrite, { kind: "none" }>): number {
    const memory = this.of(claim);
    const atMs = this.#clock.monotonicMs();
    const { resourceVersion } = claim;
    const status = write.kind === "apply" ? write.status : undefined;
    const isRepair = write.kind === "clean" || write.isRepair;
    const waits = [
      write.kind === "apply" && write.canWait ? this.#foldMs(memory, atMs) : 0,
      memory.trouble === undefined ? 0 : restBefore(memory.trouble, { resourceVersion, status, atMs }),
      isRepair ? restBeforeRepair(memory.repairs, atMs) : 0,
    ];
    return Math.max(...waits);
  }

  /** Reason-only changes wait a little: most are followed by the next one. */
  #foldMs(memory: WriteMemory, atMs: number): number {
    memory.reasonChangedAt ??= atMs;
    return memory.reasonChangedAt + this.#reasonDelayMs - atMs;
  }
}
