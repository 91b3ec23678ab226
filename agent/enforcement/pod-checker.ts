import type { Clock } from "../../common/runtime/clock.ts";
import { REJECTION_REASON } from "../../common/storage/rejection.ts";
import { type AffinityVerdict, misplacedVolumes } from "../core/affinity/verdict.ts";
import type { NodePod } from "../sources/node-pods.ts";
import type { LimitedRejector, Next } from "./limited-rejector.ts";
import { OLD_MS, type PodCase } from "./pod-cases.ts";
import type { PodEvidence, PodReader } from "./pod-reader.ts";
import { misplacementOf, type RejectionRecorder } from "./rejection-recorder.ts";
import type { AffinityConfig } from "./settings.ts";

interface CheckerParts {
  readonly clock: Clock;
  readonly reader: PodReader;
  readonly limitedRejector: LimitedRejector;
  readonly recorder: RejectionRecorder;
  /** The labels of the node that count now. */
  readonly epoch: () => number;
}

/** The kubelet gives up waiting for a mount after two minutes and three seconds, and begins again. Milliseconds. */
const MOUNT_WAIT_MS = 123_000;
/** A running pod that was found wrong is checked again after this time, as after a change of the node's labels. Milliseconds. */
const RUNS_WRONG_MS = 1_800_000;

/** Checks one pod, reports what it found, and does what follows. */
export class PodChecker {
  readonly #parts: CheckerParts;
  readonly #config: AffinityConfig;
  readonly #node: string;

  constructor(parts: CheckerParts, { config, node }: { readonly config: AffinityConfig; readonly node: string }) {
    this.#parts = parts;
    this.#config = config;
    this.#node = node;
  }

  async check(podCase: PodCase, pod: NodePod, signal: AbortSignal): Promise<Next> {
    const heldBack = this.#remainingWait(podCase);
    if (heldBack !== undefined) return heldBack;
    const { clock, reader, recorder, epoch } = this.#parts;
    const [readEpoch, mayAct] = [epoch(), pod.isWaiting || podCase.isOutcomeUnknown];
    const wasRight = podCase.epoch === readEpoch && isRight(podCase.verdict);
    const isRecent = clock.monotonicMs() - podCase.checkedAt < OLD_MS;
    if (wasRight && isRecent && !mayAct) return { outcome: "let alone: it is not waiting", after: undefined };
    const evidence = await (mayAct ? reader.withMounts(podCase, signal) : reader.withoutMounts(podCase, signal));
    // A check that the agent's end cut short says nothing.
    if (signal.aborted) return { outcome: podCase.outcome, after: undefined };
    recorder.checked(podCase, evidence);
    if (podCase.verdict?.kind !== evidence.verdict.kind) podCase.retries = 0;
    // A volume has changed: what is in flight has the grace period to finish.
    if (wasRight && !isRight(evidence.verdict)) podCase.graceEndsAt = clock.monotonicMs() + this.#config.graceMs;
    podCase.verdict = evidence.verdict;
    podCase.epoch = readEpoch;
    podCase.checkedAt = clock.monotonicMs();
    return mayAct ? await this.#decide(podCase, evidence, signal) : this.#observe(podCase, evidence);
  }

  async #decide(podCase: PodCase, evidence: PodEvidence, signal: AbortSignal): Promise<Next> {
    const misplacement = misplacementOf(evidence, this.#node);
    const graceMs = podCase.graceEndsAt - this.#parts.clock.monotonicMs();
    const isWrong = evidence.verdict.kind === "reject" || evidence.verdict.kind === "attached";
    if (isWrong && graceMs > 0) return { outcome: "wrong, within the grace period", after: graceMs };
    switch (evidence.verdict.kind) {
      case "unknown":
        return { outcome: "not known: nothing is done", after: "again" };
      case "reject":
        return await this.#parts.limitedRejector.reject(podCase, evidence, signal);
      case "attached":
        return await this.#attached(podCase, evidence, signal);
      case "allow":
        if (podCase.isOutcomeUnknown) return this.#resolveOutcome(podCase, evidence);
        // It has a mount, or waits for something else: that may change without an event.
        return { outcome: "let alone", after: misplacement === undefined ? undefined : "again" };
    }
  }

  /** The answer to a rejection was lost, and the pod need not be rejected any more: it may have been rejected. */
  #resolveOutcome(podCase: PodCase, evidence: PodEvidence): Next {
    const { limitedRejector } = this.#parts;
    const { pod } = evidence;
    if (pod.kind === "failed") return { outcome: "not known: nothing is done", after: "again" };
    const isDone = pod.kind === "value" && pod.value.phase === "Failed" && pod.value.reason === REJECTION_REASON;
    if (isDone) return limitedRejector.rejected(podCase, { misplacement: misplacementOf(evidence, this.#node) });
    podCase.isOutcomeUnknown = false;
    return { outcome: "let alone", after: undefined };
  }

  /** The attach-detach controller attaches what the kubelet then refuses to mount, and may detach it again. */
  async #attached(podCase: PodCase, evidence: PodEvidence, signal: AbortSignal): Promise<Next> {
    const { clock, recorder, limitedRejector } = this.#parts;
    const waitedMs = clock.monotonicMs() - (podCase.waitingSince ?? clock.monotonicMs());
    if (waitedMs < MOUNT_WAIT_MS)
      return { outcome: "attached: looked at again after a mount wait", after: MOUNT_WAIT_MS - waitedMs };
    if (this.#config.rejectAttached) return await limitedRejector.reject(podCase, evidence, signal);
    const misplacement = misplacementOf(evidence, this.#node);
    if (misplacement !== undefined && podCase.recordOnce("reported")) {
      recorder.event("waits-attached", podCase, misplacement);
      recorder.count("reported", podCase);
    }
    return { outcome: "attached: reported and left alone (--reject-attached)", after: "again" };
  }

  /** The agent does not reject a running pod, whatever its volumes' affinity says: it writes an event. */
  #observe(podCase: PodCase, evidence: PodEvidence): Next {
    const misplacement = misplacementOf(evidence, this.#node);
    const runs =
      evidence.pod.kind === "value" && evidence.pod.value.phase === "Running" && !evidence.pod.value.isDeleting;
    if (runs && misplacement !== undefined) this.#parts.recorder.event("runs-misplaced", podCase, misplacement);
    return { outcome: "let alone: it is not waiting", after: misplacement && RUNS_WRONG_MS };
  }

  /**
   * Checks a limit that still holds without a read: thousands of agents may be held back at once. Not for a pod that was checked by
   * other labels of the node: the limit may wait for just that check, and would ask for it again and again.
   */
  #remainingWait(podCase: PodCase): Next | undefined {
    const { heldBack } = podCase;
    const isSeen = podCase.epoch === this.#parts.epoch();
    if (heldBack === undefined || !isSeen || this.#parts.clock.monotonicMs() >= heldBack.until) return undefined;
    return this.#parts.limitedRejector.remainingWait(podCase, heldBack);
  }
}

/** No volume of the pod excludes its node. False before the first check, and while that is unknown. */
function isRight(verdict: AffinityVerdict | undefined): boolean {
  return verdict?.kind === "allow" && misplacedVolumes(verdict).length === 0;
}
