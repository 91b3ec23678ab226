import { WorkQueue } from "../../common/kube/work-queue.ts";
import type { Clock } from "../../common/runtime/clock.ts";
import { MooringError, messageOf } from "../../common/runtime/errors.ts";
import type { InternalErrors } from "../../common/runtime/internal-errors.ts";
import type { Logger } from "../../common/runtime/logger.ts";
import type { Random } from "../../common/runtime/random.ts";
import { isFresh, isRenewed, type LeaseRenewal } from "../core/kubelet-lease.ts";
import type { NodeLeases } from "../sources/node-leases.ts";

interface QuestionParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly leases: NodeLeases;
  readonly internalErrors: InternalErrors;
  /** The latest that the API server's clock can show, milliseconds since the epoch. */
  readonly nowMs: () => number;
}

/** Leases are listed at most this often, and only while the state of a node depends on them. Milliseconds. */
const LEASES_EVERY_MS = 60_000;
/** Nodes that start together come into question together. Milliseconds. */
const GATHER_MS = 1_000;

/** Reads the kubelets' Leases for nodes that are NoAgent if their kubelet runs, and for no others. */
export class KubeletQuestions {
  readonly #parts: QuestionParts;
  readonly #onAlive: (node: string) => void;
  readonly #queue: WorkQueue;
  readonly #inQuestion = new Set<string>();
  #askedAt = Number.NEGATIVE_INFINITY;
  /** The Leases of the nodes in question at the last list. */
  #renewals: ReadonlyMap<string, LeaseRenewal> = new Map();

  constructor(parts: QuestionParts, onAlive: (node: string) => void) {
    this.#parts = parts;
    this.#onAlive = onAlive;
    this.#queue = new WorkQueue({ ...parts, errors: parts.internalErrors.in("kubelets") }, 1);
  }

  /** Works until the signal is aborted. */
  run(signal: AbortSignal): Promise<void> {
    return this.#queue.run((_, limited) => this.#ask(limited), signal);
  }

  /** The node is in question from now on, or no longer. */
  put(node: string, isInQuestion: boolean): void {
    if (!isInQuestion) {
      this.#inQuestion.delete(node);
      return;
    }
    this.#inQuestion.add(node);
    const now = this.#parts.clock.monotonicMs();
    this.#queue.addAfter("leases", Math.max(GATHER_MS, this.#askedAt + LEASES_EVERY_MS - now));
  }

  async #ask(signal: AbortSignal): Promise<void> {
    if (this.#inQuestion.size === 0) return;
    const { leases, nowMs, logger, clock } = this.#parts;
    const now = clock.monotonicMs();
    const isLongAgo = now - this.#askedAt > 2 * LEASES_EVERY_MS;
    const before = isLongAgo ? new Map<string, LeaseRenewal>() : this.#renewals;
    this.#askedAt = now;
    const asked = new Set(this.#inQuestion);
    try {
      const renewals = await leases.renewals(asked, signal);
      this.#renewals = renewals;
      for (const node of asked) {
        const renewal = renewals.get(node);
        const isAlive = isFresh(renewal, nowMs()) || isRenewed(before.get(node), renewal);
        if (isAlive) this.#onAlive(node);
      }
    } catch (error) {
      if (!(error instanceof MooringError)) throw error;
      // The nodes stay Stale meanwhile: that delays decisions and makes none too early.
      if (!signal.aborted) logger.warn({ err: messageOf(error) }, "kubelets' leases could not be listed");
    }
    if (this.#inQuestion.size > 0) this.#queue.addAfter("leases", LEASES_EVERY_MS);
  }
}
