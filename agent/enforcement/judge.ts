import type { Clock } from "../../common/runtime/clock.ts";
import { REJECTION_REASON } from "../../common/storage/rejection.ts";
import type { NodePod } from "../sources/node-pods.ts";
import type { AffinityAct, Next } from "./act.ts";
import type { Look, PodLook } from "./look.ts";
import type { AffinityConfig } from "./settings.ts";
import type { Subject } from "./subjects.ts";
import { misplacementOf, type Telling } from "./telling.ts";

interface JudgeParts {
  readonly clock: Clock;
  readonly look: Look;
  readonly act: AffinityAct;
  readonly telling: Telling;
  /** The labels of the node that count now. */
  readonly epoch: () => number;
}

/** The kubelet gives up waiting for a mount after two minutes and three seconds, and begins again. Milliseconds. */
const MOUNT_WAIT_MS = 123_000;

/** Checks one pod, reports what it found, and does what follows. */
export class Judge {
  readonly #parts: JudgeParts;
  readonly #config: AffinityConfig;
  readonly #node: string;

  constructor(parts: JudgeParts, { config, node }: { readonly config: AffinityConfig; readonly node: string }) {
    this.#parts = parts;
    this.#config = config;
    this.#node = node;
  }

  async judge(subject: Subject, pod: NodePod, signal: AbortSignal): Promise<Next> {
    const held = this.#stillHeld(subject);
    if (held !== undefined) return held;
    const { clock, look, telling, epoch } = this.#parts;
    const [seenEpoch, mayAct] = [epoch(), pod.isWaiting || subject.isUnsettled];
    const seen = await (mayAct ? look.forAct(subject, signal) : look.only(subject, signal));
    // A check that the agent's end cut short says nothing.
    if (signal.aborted) return { outcome: subject.outcome, after: undefined };
    telling.looked(subject, seen);
    if (subject.verdict?.kind !== seen.verdict.kind) subject.retries = 0;
    subject.verdict = seen.verdict;
    subject.epoch = seenEpoch;
    subject.lookedAt = clock.monotonicMs();
    return mayAct ? await this.#decide(subject, seen, signal) : this.#observe(subject, seen);
  }

  async #decide(subject: Subject, seen: PodLook, signal: AbortSignal): Promise<Next> {
    const misplacement = misplacementOf(seen, this.#node);
    const graceMs = subject.actAfter - this.#parts.clock.monotonicMs();
    const isWrong = seen.verdict.kind === "reject" || seen.verdict.kind === "attached";
    if (isWrong && graceMs > 0) return { outcome: "wrong, within the grace period", after: graceMs };
    switch (seen.verdict.kind) {
      case "unknown":
        return { outcome: "not known: nothing is done", after: "again" };
      case "reject":
        return await this.#parts.act.act(subject, seen, signal);
      case "attached":
        return await this.#attached(subject, seen, signal);
      case "allow":
        if (subject.isUnsettled) return this.#settle(subject, seen);
        // It has a mount, or waits for something else: that may change without an event.
        return { outcome: "let alone", after: misplacement === undefined ? undefined : "again" };
    }
  }

  /** The answer to a rejection was lost, and the pod need not be rejected any more: it may have been rejected. */
  #settle(subject: Subject, seen: PodLook): Next {
    const { act } = this.#parts;
    const { pod } = seen;
    if (pod.kind === "failed") return { outcome: "not known: nothing is done", after: "again" };
    const isDone = pod.kind === "value" && pod.value.phase === "Failed" && pod.value.reason === REJECTION_REASON;
    if (isDone) return act.rejected(subject, { misplacement: misplacementOf(seen, this.#node) });
    subject.isUnsettled = false;
    return { outcome: "let alone", after: undefined };
  }

  /** The attach-detach controller attaches what the kubelet then refuses to mount, and may detach it again. */
  async #attached(subject: Subject, seen: PodLook, signal: AbortSignal): Promise<Next> {
    const { clock, telling, act } = this.#parts;
    const waitedMs = clock.monotonicMs() - (subject.waitingSince ?? clock.monotonicMs());
    if (waitedMs < MOUNT_WAIT_MS)
      return { outcome: "attached: looked at again after a mount wait", after: MOUNT_WAIT_MS - waitedMs };
    if (this.#config.rejectAttached) return await act.act(subject, seen, signal);
    const misplacement = misplacementOf(seen, this.#node);
    if (misplacement !== undefined && subject.isFirst("reported")) {
      telling.event("waits-attached", subject, misplacement);
      telling.count("reported", subject);
    }
    return { outcome: "attached: reported and left alone (--reject-attached)", after: "again" };
  }

  /** A running pod is left alone, whatever its volumes' affinity says: an event reports it. */
  #observe(subject: Subject, seen: PodLook): Next {
    const misplacement = misplacementOf(seen, this.#node);
    const runs = seen.pod.kind === "value" && seen.pod.value.phase === "Running" && !seen.pod.value.isDeleting;
    if (runs && misplacement !== undefined) this.#parts.telling.event("runs-misplaced", subject, misplacement);
    return { outcome: "let alone: it is not waiting", after: undefined };
  }

  /**
   * Checks a limit that still holds without a read: thousands of agents may be held back at once. Not for a pod that was checked by
   * other labels of the node: the limit may wait for just that check, and would ask for it again and again.
   */
  #stillHeld(subject: Subject): Next | undefined {
    const { held } = subject;
    const isSeen = subject.epoch === this.#parts.epoch();
    if (held === undefined || !isSeen || this.#parts.clock.monotonicMs() >= held.until) return undefined;
    return this.#parts.act.stillHolds(subject, held);
  }
}
