import type { KubeParts } from "../../common/kube/client.ts";
import type { Claim } from "../../common/storage/claim.ts";
import type { ClaimStatus } from "../../common/storage/claim-status.ts";
import { type ClaimWrite, isSameStatus, statusText } from "../core/claims/write.ts";
import { Budget } from "../core/reports/budgets.ts";
import type { ClaimStatusWriter, WriteFailure } from "../sinks/writers.ts";
import type { WarnerParts } from "./claim-warnings.ts";
import { type Attempt, WriteGate } from "./write-gate.ts";

export interface ClaimWriterParts extends WarnerParts, Pick<KubeParts, "random" | "logger"> {
  readonly writer: ClaimStatusWriter;
  /** The claim as our write left it, which the watch may not have shown yet. */
  readonly onWritten: (claim: Claim) => void;
}

/** Attempts under way at once. More make no API server on a few cores faster, and a busy one gives them their share. */
export const WRITERS = 16;

/** So many writes of one content in a row: another client puts back. Without one up to three may follow each other. */
const PUT_BACK_TIMES = 4;

/** A change of the reason alone waits for so long, as another one often follows. Milliseconds. */
const REASON_DELAY_MS = 5_000;

export interface WriteLimits {
  /** No setting: simulations that run faster have a shorter one. */
  readonly reasonDelayMs?: number;
}

/** After a failure of the server a worker rests as long as the server asks, but not longer than this. Milliseconds. */
const LONGEST_ASKED_MS = 30_000;
/** It rests so long at least once as many requests in a row failed as there are workers: they send three a second. */
const REST_MS = 5_000;

/** Makes one attempt to write what was decided for a claim, and answers when to come again. */
export class ClaimWriter {
  readonly #parts: ClaimWriterParts;
  readonly #reasonDelayMs: number;
  readonly #gate: WriteGate;
  /** By key, on the monotonic clock: since when a change of the reason alone waits to be written. */
  readonly #reasonChangedAt = new Map<string, number>();
  /** By key: UID of the claim whose owner has been warned of a refusal since the last write. */
  readonly #warned = new Map<string, string>();
  /** Of the last write that was forbidden. */
  #missing = "";
  /** Failures of the server since it last answered in another way. */
  #inRow = 0;
  /** Of log lines about failures of the server: one in three minutes. */
  readonly #lines = new Budget({ most: 1, refillMs: 180_000 });

  constructor(parts: ClaimWriterParts, { reasonDelayMs = REASON_DELAY_MS }: WriteLimits) {
    this.#parts = parts;
    this.#reasonDelayMs = reasonDelayMs;
    this.#gate = new WriteGate(parts);
  }

  get refused(): number {
    return this.#gate.keysOf("refused").length;
  }

  /** Its next write is likely to fail again, and to hold a worker up: other claims go first. */
  isFailing(key: string): boolean {
    return this.#gate.isFailing(key);
  }

  /** Where our account may not write, and what the API server says of it; undefined while no write is forbidden. */
  missingPermission() {
    const namespaces = new Set(this.#gate.keysOf("forbidden").map((key) => key.slice(0, key.indexOf("/"))));
    return namespaces.size === 0 ? undefined : { namespaces: [...namespaces], message: this.#missing };
  }

  /** One attempt, if one is due. Answers after how many milliseconds to come again; nothing when all is written. */
  async bring(write: ClaimWrite, signal: AbortSignal): Promise<number | undefined> {
    const waitMs = this.#restBefore(write);
    if (waitMs > 0) return waitMs;
    const { writer } = this.#parts;
    const { claim, status, unwanted } = write;
    const result = await (status === undefined
      ? writer.clean(claim, unwanted, signal)
      : writer.apply(claim, status, signal));
    if (signal.aborted) return undefined;
    if (result.kind === "written") return this.#onWritten(write, result.claim);
    await this.#onFailure(write, result, signal);
    return this.#restBefore(write);
  }

  /** Nothing has to be written. */
  rest(key: string): void {
    this.#gate.rest(key);
    this.#reasonChangedAt.delete(key);
  }

  forget(key: string): void {
    this.rest(key);
    this.#warned.delete(key);
  }

  #restBefore(write: ClaimWrite): number {
    const { key } = write.claim;
    const nowMs = this.#parts.clock.monotonicMs();
    const sinceMs = this.#reasonChangedAt.get(key) ?? nowMs;
    if (write.canWait) this.#reasonChangedAt.set(key, sinceMs);
    const reasonMs = write.canWait ? sinceMs + this.#reasonDelayMs - nowMs : 0;
    return Math.max(reasonMs, this.#gate.restBefore(attemptOf(write)));
  }

  async #onFailure(write: ClaimWrite, failure: WriteFailure, signal: AbortSignal): Promise<void> {
    const { clock, warnings, logger } = this.#parts;
    if ("retryAfterMs" in failure) {
      this.#gate.failed(attemptOf(write), failure.kind, failure.retryAfterMs);
      this.#inRow += 1;
      this.#logFailure(failure);
      const restMs = this.#inRow < WRITERS ? 0 : REST_MS;
      return clock.sleep(Math.max(restMs, Math.min(failure.retryAfterMs, LONGEST_ASKED_MS)), signal);
    }
    this.#inRow = 0;
    this.#gate.failed(attemptOf(write), failure.kind);
    const { claim } = write;
    const { message: err } = failure;
    if (failure.kind === "stale") {
      logger.debug({ namespace: claim.namespace, claim: claim.name, err }, "claim has changed");
    } else if (this.#warned.get(claim.key) !== claim.uid) {
      this.#warned.set(claim.key, claim.uid);
      warnings.warn(claim, { kind: "write-refused", reason: failure.reason, err });
    }
  }

  /** Of the API server, or of the way to it, or a permission that our account lacks: no single claim causes it. */
  #logFailure({ kind, message, retryAfterMs }: Extract<WriteFailure, { readonly retryAfterMs: number }>): void {
    const { clock, logger } = this.#parts;
    if (kind === "forbidden") this.#missing = message;
    if (!this.#lines.take(clock.monotonicMs())) return;
    const fields = { outcome: kind, err: message, retryAfterMs, failures: this.#inRow };
    const level = kind === "forbidden" ? "error" : "warn";
    logger[level](fields, "API server did not take a claim status, will be tried again");
  }

  /** An apply leaves the annotations that other managers own: they are removed next. */
  #onWritten(write: ClaimWrite, written: Claim): number | undefined {
    const { claim } = write;
    const { logger, onWritten, warnings } = this.#parts;
    this.#inRow = 0;
    // A status that the API server changed while it stored it never counts as what was written.
    const left = isSameStatus(written.status, statusAfter(write)) ? written.resourceVersion : "";
    const times = this.#gate.written(attemptOf(write), left);
    this.forget(claim.key);
    onWritten(written);
    if (this.#missing !== "" && this.missingPermission() === undefined) {
      this.#missing = "";
      logger.info({}, "claim status may be written again");
    }
    const { annotation, managers = [] } = claim.strays?.[0] ?? {};
    if (times === PUT_BACK_TIMES) warnings.warn(claim, { kind: "put-back", annotation, managers });
    const of = { namespace: claim.namespace, claim: claim.name };
    if (write.status !== undefined) {
      const { unused, reason, lastUse } = write.status;
      const fields = { unused, reason, unmountRecord: lastUse?.id, node: lastUse?.node };
      logger.info({ ...of, ...fields }, "claim status written");
    } else logger.info({ ...of, strays: claim.strays }, "annotations that do not fit removed");
    return written.strays === undefined ? undefined : 0;
  }
}

/** Without the time: that is new with each decision, also where a client keeps removing what Mooring writes. */
function attemptOf(write: ClaimWrite): Attempt {
  const { key, uid, resourceVersion } = write.claim;
  const status = statusAfter(write);
  const content = statusText(status && { ...status, sinceMs: 0 });
  return { key, uid, resourceVersion, content, isNews: write.isNews };
}

function statusAfter({ claim, status }: ClaimWrite): ClaimStatus | undefined {
  return status ?? claim.status;
}
