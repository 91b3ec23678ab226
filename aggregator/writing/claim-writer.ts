import type { Clock } from "../../common/runtime/clock.ts";
import type { Logger } from "../../common/runtime/logger.ts";
import type { Random } from "../../common/runtime/random.ts";
import type { Claim } from "../../common/storage/claim.ts";
import type { ClaimWrite } from "../core/claim-write.ts";
import type { ClaimStatusWriter, WriteFailure, WriteResult } from "../sinks/claim-status-writer.ts";
import type { ClaimWarnings } from "./claim-warnings.ts";
import { isServerFailure, ServerFailures } from "./server-failures.ts";
import type { UnstoredClaims } from "./unstored-claims.ts";
import { type MissingPermission, WritePermissions } from "./write-permissions.ts";
import { type Attempt, WriteStates } from "./write-states.ts";

export interface ClaimWriterParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly writer: ClaimStatusWriter;
  readonly warnings: Pick<ClaimWarnings, "tell">;
  readonly unstored: Pick<UnstoredClaims, "settle">;
  /** What the API server has now, which a watch may not have shown yet. */
  readonly onRead: (claim: Claim) => void;
  /** The writes of these claims may be tried, which had to wait for another one. */
  readonly retry: (keys: Iterable<string>) => void;
}

/** A claim, and what has to be written of it. */
export interface PlannedWrite {
  readonly claim: Claim;
  readonly write: ClaimWrite;
}

/**
 * Attempts under way at once. More make no API server on a few cores faster, and its own priority and fairness gives them their share of a
 * busy one.
 */
export const WRITERS = 16;

/** Makes one attempt to bring to the API server what was decided, and says after how long to come again. */
export class ClaimWriter {
  readonly #parts: ClaimWriterParts;
  readonly #permissions: WritePermissions;
  readonly #states: WriteStates;
  readonly #failures: ServerFailures;

  constructor(parts: ClaimWriterParts, limits: { readonly reasonDelayMs: number }) {
    this.#parts = parts;
    this.#permissions = new WritePermissions(parts);
    this.#states = new WriteStates(parts, limits.reasonDelayMs);
    this.#failures = new ServerFailures(parts, WRITERS);
  }

  /** Claims whose status the API server does not take. */
  get refused(): number {
    return this.#states.refused;
  }

  missingPermission(): MissingPermission | undefined {
    return this.#permissions.missing();
  }

  /** One attempt, if it is time for one. Answers after how many milliseconds to come again; nothing where all is done, or `retry` tells. */
  async bring({ claim, write }: PlannedWrite, signal: AbortSignal): Promise<number | undefined> {
    if (write.kind === "none") {
      this.#states.rest(claim);
      this.#permissions.release(claim.key);
      return undefined;
    }
    const attempt = { claim, write };
    const waitMs = this.#restBefore(attempt);
    if (waitMs === undefined || waitMs > 0) return waitMs;
    const isRead = this.#states.isOutdated(attempt);
    const result = await (isRead ? this.#parts.writer.read(claim, signal) : this.#send(attempt, signal));
    if (signal.aborted) return undefined;
    if (result.kind === "forbidden") this.#permissions.deny(claim.key, result.message);
    // What is refused for its contents, or as it comes too late, was permitted.
    else if (!isRead && !isServerFailure(result)) this.#permissions.grant(claim.key);
    if (result.kind === "written") {
      this.#failures.end();
      return isRead ? this.#onRead(result.claim) : this.#onWritten(attempt, result.claim);
    }
    await this.#onFailure(attempt, result, signal);
    return this.#restBefore(attempt);
  }

  /** The claim is gone, perhaps while it was written. */
  release(key: string): void {
    this.#states.release(key);
    this.#permissions.release(key);
  }

  forget(claim: Claim): void {
    this.#states.forget(claim);
    this.#permissions.release(claim.key);
  }

  #restBefore(attempt: Attempt): number | undefined {
    const deniedMs = this.#permissions.restBefore(attempt.claim.key);
    return deniedMs === undefined ? undefined : Math.max(deniedMs, this.#states.restBefore(attempt));
  }

  #send({ claim, write }: Attempt, signal: AbortSignal): Promise<WriteResult> {
    const { writer } = this.#parts;
    return write.kind === "apply" ? writer.apply(claim, write, signal) : writer.clean(claim, write.annotations, signal);
  }

  /** What a watch was late to show is decided on at once, so that the same is not sent again. */
  #onRead(claim: Claim): number {
    this.#states.read(claim);
    this.#parts.onRead(claim);
    return 0;
  }

  /** A worker that met a failure of the server rests before it goes on to the next claim. */
  async #onFailure(attempt: Attempt, failure: WriteFailure, signal: AbortSignal): Promise<void> {
    const { clock, warnings, logger } = this.#parts;
    if (isServerFailure(failure)) {
      this.#states.failed(attempt, "failed", failure.retryAfterMs);
      return clock.sleep(this.#failures.note(failure), signal);
    }
    this.#failures.end();
    if (failure.kind === "forbidden") return;
    this.#states.failed(attempt, failure.kind, 0);
    const { claim } = attempt;
    if (failure.kind === "stale")
      logger.debug({ namespace: claim.namespace, claim: claim.name, err: failure.message }, "claim has changed");
    else if (this.#states.refuse(claim, failure.reason))
      warnings.tell(claim, { kind: "write-refused", reason: failure.reason, message: failure.message });
  }

  /** What an apply could not remove is left to be removed at once. */
  #onWritten(attempt: Attempt, written: Claim): number | undefined {
    const { claim, write } = attempt;
    const { logger, onRead, unstored, warnings } = this.#parts;
    unstored.settle(written);
    const isPutBack = this.#states.written(attempt);
    onRead(written);
    const { annotation, managers = [] } = claim.strays?.[0] ?? {};
    if (isPutBack) warnings.tell(claim, { kind: "put-back", annotation, managers });
    const of = { namespace: written.namespace, claim: written.name };
    if (write.kind === "apply") {
      const { unused, reason, lastUse } = write.status;
      const fields = { unused, reason, unmountRecord: lastUse?.releaseId, node: lastUse?.node };
      logger.info({ ...of, ...fields }, "claim status written");
    } else logger.info({ ...of, strays: claim.strays }, "annotations that do not fit removed");
    return written.strays === undefined ? undefined : 0;
  }
}
