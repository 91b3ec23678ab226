import { type QueueObserver, WorkQueue } from "../../common/kube/work-queue.ts";
import type { Clock } from "../../common/runtime/clock.ts";
import type { InternalErrors } from "../../common/runtime/internal-errors.ts";
import { runTogether } from "../../common/runtime/lifecycle.ts";
import type { Logger } from "../../common/runtime/logger.ts";
import type { Random } from "../../common/runtime/random.ts";
import type { Claim } from "../../common/storage/claim.ts";
import {
  type ClaimWrite,
  type DesiredClaim,
  isSameStatus,
  type UpstreamPolicy,
  writeFor,
} from "../core/claim-write.ts";
import { isUnchanged, nextAttempts, type Trouble } from "../core/write-back-off.ts";
import type { ClaimStatusWriter, WriteResult } from "../sinks/claim-status-writer.ts";
import type { ClaimWarnings } from "./claim-warnings.ts";
import { ServerFailures } from "./server-failures.ts";
import type { UnstoredClaims } from "./unstored-claims.ts";
import { UnusedWhileMounted } from "./unused-while-mounted.ts";
import { WriteMemories } from "./write-memories.ts";
import { type MissingRight, WriteRights } from "./write-rights.ts";

export interface ClaimWritesParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly writer: ClaimStatusWriter;
  readonly warnings: Pick<ClaimWarnings, "tell">;
  readonly policy: () => UpstreamPolicy;
  readonly unstored: Pick<UnstoredClaims, "note" | "settle" | "forget">;
  /** Nothing where nobody measures. */
  readonly queues?: Readonly<Record<"writes", QueueObserver>>;
  readonly internalErrors: InternalErrors;
  /** Decides on the newest of everything; nothing for a claim that is gone. */
  readonly decide: (key: string) => DesiredClaim | undefined;
  /** The claim is being deleted: what is written decides whether it goes, so that it is written before all others. */
  readonly isUrgent: (key: string) => boolean;
  /** What the API server has now, which a watch may not have shown yet. */
  readonly onRead: (claim: Claim) => void;
}

type Write = Exclude<ClaimWrite, { kind: "none" }>;

/**
 * Writes under way at once. More make no API server on a few cores faster, and its own priority and fairness gives them their share of a
 * busy one.
 */
const WORKERS = 16;

/**
 * From so many writes of the same in a row on, somebody puts back what was put right. An apply, one over annotations of another manager, and
 * the removal of those that no apply removes may follow each other without that.
 */
const PUT_BACK_TIMES = 4;

/** A write that was decided, and for what. */
interface Attempt {
  readonly decision: DesiredClaim;
  readonly write: Write;
}

/**
 * Brings what is decided to the API server: each claim when it may be written, so many at once, each write decided on just
 * before it is made.
 */
export class ClaimWrites {
  readonly disagreements: UnusedWhileMounted;
  readonly #parts: ClaimWritesParts;
  readonly #queue: WorkQueue;
  readonly #rights: WriteRights;
  readonly #memories: WriteMemories;
  readonly #failures: ServerFailures;

  constructor(parts: ClaimWritesParts, limits: { readonly reasonDelayMs: number }) {
    this.#parts = parts;
    const errors = parts.internalErrors.in("writes");
    this.#queue = new WorkQueue({ ...parts, errors }, WORKERS, parts.queues?.writes);
    this.#rights = new WriteRights(parts, (key) => this.#queue.add(key));
    this.#memories = new WriteMemories(parts.clock, limits.reasonDelayMs);
    this.#failures = new ServerFailures(parts, WORKERS);
    this.disagreements = new UnusedWhileMounted(parts);
  }

  /** Claims that want to be written now. */
  get depth(): number {
    return this.#queue.depth;
  }

  /** Changes with each end of a write, and is nothing while none is under way. */
  get progress(): number | undefined {
    return this.#queue.progress;
  }

  /** No claim wants to be written now, and no write is under way. */
  get isIdle(): boolean {
    return this.#queue.isIdle;
  }

  /** Tells later whether what wants to be written now was. */
  mark(): () => boolean {
    return this.#queue.mark();
  }

  /** Claims whose status the API server does not take. */
  get refused(): number {
    return this.#memories.refused;
  }

  missingRight(): MissingRight | undefined {
    return this.#rights.missing();
  }

  /** Looks whether something has to be written, and sees to it that it is, now or later. */
  consider(decision: DesiredClaim): void {
    const { key } = decision.claim;
    const againMs = this.disagreements.compare(decision);
    if (againMs !== undefined) this.#queue.addAfter(key, againMs);
    if (this.#due(decision) === undefined) return;
    if (this.#parts.isUrgent(key)) this.#queue.addFirst(key);
    else this.#queue.add(key);
  }

  forget(claim: Claim): void {
    this.#memories.forget(claim);
    this.#rights.release(claim.key);
    this.disagreements.forget(claim);
    this.#parts.unstored.forget(claim);
  }

  /** Writes until the signal is aborted. */
  run(signal: AbortSignal): Promise<void> {
    const work = (limited: AbortSignal): Promise<void> => this.#queue.run((key, one) => this.#work(key, one), limited);
    return runTogether([work, (limited) => this.#rights.run(limited)], signal);
  }

  /** What has to be written now. What has to wait comes again by itself. */
  #due(decision: DesiredClaim): Attempt | undefined {
    const { claim, isEligible } = decision;
    const { policy, unstored } = this.#parts;
    const write = writeFor(decision, policy());
    if (write.kind === "apply" && !isSameStatus(claim.status, write.status)) unstored.note(claim, write.status);
    else if (isEligible) unstored.settle(claim);
    if (write.kind === "none") {
      this.#memories.rest(claim);
      this.#rights.release(claim.key);
      return undefined;
    }
    if (this.#rights.holds(claim.key)) return undefined;
    const restMs = this.#memories.restBefore(claim, write);
    if (restMs <= 0) return { decision, write };
    this.#queue.addAfter(claim.key, restMs);
    return undefined;
  }

  async #work(key: string, signal: AbortSignal): Promise<void> {
    const result = await this.#attempt(key, signal);
    if (result === undefined) return;
    const isFailure = result.kind === "overloaded" || result.kind === "failed";
    if (isFailure) await this.#parts.clock.sleep(this.#failures.note(result), signal);
    else this.#failures.end();
  }

  /** Decided anew: it may have waited for its turn. */
  async #attempt(key: string, signal: AbortSignal): Promise<WriteResult | undefined> {
    const decision = this.#parts.decide(key);
    if (decision === undefined) {
      // Its write may have been forbidden when it was gone already.
      this.#rights.release(key);
      return undefined;
    }
    const againMs = this.disagreements.compare(decision);
    if (againMs !== undefined) this.#queue.addAfter(key, againMs);
    const attempt = this.#due(decision);
    if (attempt === undefined) return undefined;
    const { claim } = decision;
    const trouble = this.#memories.known(claim)?.trouble;
    const isStale = trouble?.outcome === "stale" && isUnchanged(trouble, snapshotOf(attempt));
    const result = await (isStale ? this.#parts.writer.read(claim, signal) : this.#write(attempt, signal));
    if (signal.aborted) return undefined;
    if (isStale && result.kind === "written") this.#onRead(result.claim);
    else this.#onResult(attempt, result);
    return result;
  }

  #write({ decision, write }: Attempt, signal: AbortSignal): Promise<WriteResult> {
    const { writer } = this.#parts;
    return write.kind === "apply"
      ? writer.apply(decision.claim, write, signal)
      : writer.clean(decision.claim, write.annotations, signal);
  }

  /** What a watch was late to show is decided on, so that the same is not sent again. */
  #onRead(claim: Claim): void {
    const memory = this.#memories.of(claim);
    if (memory.trouble !== undefined) memory.trouble = { ...memory.trouble, resourceVersion: "" };
    this.#parts.onRead(claim);
    this.#queue.add(claim.key);
  }

  #onResult(attempt: Attempt, result: WriteResult): void {
    const { key } = attempt.decision.claim;
    if (result.kind === "written") this.#onWritten(attempt, result.claim);
    else if (result.kind === "forbidden") this.#rights.deny(key, result.message);
    else this.#onTrouble(attempt, result);
  }

  #onTrouble(attempt: Attempt, result: Exclude<WriteResult, { readonly kind: "written" | "forbidden" }>): void {
    const { decision } = attempt;
    const memory = this.#memories.of(decision.claim);
    const { clock, random, warnings, logger } = this.#parts;
    const outcome = result.kind === "overloaded" ? "failed" : result.kind;
    const retryAfterMs = "retryAfterMs" in result ? result.retryAfterMs : 0;
    const now = { outcome, atMs: clock.monotonicMs(), retryAfterMs, jitter: random.fraction() } as const;
    memory.trouble = { ...nextAttempts(memory.trouble, now), ...snapshotOf(attempt) };
    const { namespace, name } = decision.claim;
    if (result.kind === "stale") logger.debug({ namespace, claim: name, err: result.message }, "claim has changed");
    if (result.kind === "refused" && memory.toldRefusal !== result.reason) {
      memory.toldRefusal = result.reason;
      warnings.tell(decision.claim, { kind: "write-refused", reason: result.reason, message: result.message });
    }
    this.#queue.addAfter(decision.claim.key, this.#memories.restBefore(decision.claim, attempt.write));
  }

  #onWritten({ write, decision }: Attempt, written: Claim): void {
    const { key, namespace, name } = written;
    const { logger, onRead, unstored } = this.#parts;
    this.#rights.grant(key);
    unstored.settle(written);
    const times = this.#memories.written(decision.claim, write);
    onRead(written);
    if (times >= PUT_BACK_TIMES) this.#tellPutBack(decision.claim);
    if (write.kind === "apply") {
      const { unused, reason, lastUse } = write.status;
      const of = { namespace, claim: name, unused, reason, unmountRecord: lastUse?.releaseId, node: lastUse?.node };
      logger.info(of, "claim status written");
    } else
      logger.info({ namespace, claim: name, strays: decision.claim.strays }, "annotations that do not fit removed");
    // What the apply could not remove.
    if (written.strays !== undefined) this.#queue.add(key);
  }

  #tellPutBack(claim: Claim): void {
    const memory = this.#memories.of(claim);
    if (memory.isPutBackTold) return;
    memory.isPutBackTold = true;
    const { annotation, managers = [] } = claim.strays?.[0] ?? {};
    this.#parts.warnings.tell(claim, { kind: "put-back", annotation, managers });
  }
}

function snapshotOf({ decision, write }: Attempt): Pick<Trouble, "resourceVersion" | "status"> {
  return {
    resourceVersion: decision.claim.resourceVersion,
    status: write.kind === "apply" ? write.status : undefined,
  };
}
