import type { Clock } from "../../common/runtime/clock.ts";
import { formatMillisecondsUp } from "../../common/storage/timestamp.ts";
import {
  checkLimits,
  confirm,
  type LimitDecision,
  type LimitRequest,
  type Limits,
  type NodeSurvey,
  newLimits,
  type SeenRejection,
  withdraw,
  withFleetPause,
  withSeenRejection,
} from "../core/affinity/limits.ts";
import { type Misplacement, misplacementText, rejectionPatch } from "../core/affinity/rejection.ts";
import type { PodRejector, RejectionOutcome } from "../sinks/pod-rejector.ts";
import type { ReadPod } from "../sources/affinity-pod.ts";
import { OLD_MS, type PodCase } from "./pod-cases.ts";
import type { PodEvidence } from "./pod-reader.ts";
import { offReason, type PolicyGuard } from "./policy-guard.ts";
import { misplacementOf, type RejectionRecorder } from "./rejection-recorder.ts";
import type { AffinityConfig } from "./settings.ts";

/** The next step for a pod: none, or another check after a time. */
export interface Next {
  readonly outcome: string;
  /** Milliseconds. `again`: after a wait that grows from check to check. */
  readonly after: number | "again" | undefined;
}

interface LimitedRejectorParts {
  readonly clock: Clock;
  readonly rejector: PodRejector;
  readonly guard: Pick<PolicyGuard, "check">;
  readonly recorder: RejectionRecorder;
  readonly survey: () => NodeSurvey;
  readonly serverMs: () => number;
  /** A decision depends on the other pods of the node: those have to be checked that were not, or long ago. */
  readonly onUnseen: () => void;
  /** A pod was rejected: whether that holds has to be followed. */
  readonly onRejected: (podCase: PodCase) => void;
}

/** What the limits need to know of a pod. */
interface Limited {
  readonly pod: ReadPod;
  readonly job: PodEvidence["job"];
}

/** The reads behind a decision may be so old when it is sent. Milliseconds. */
const FRESH_MS = 5_000;
/** A pod that keeps coming back from its rejection is left alone after so many. */
const MAX_REVERTS = 3;
/** The wait while other pods have to be checked first, which takes no longer. Milliseconds. */
const SURVEY_MS = 250;

/** The permission to reject, in the words of RBAC. */
const PERMISSION = "pods/status (patch)";

/** Rejects the pods that have to be rejected, as fast as the limits allow. */
export class LimitedRejector {
  readonly #parts: LimitedRejectorParts;
  readonly #config: AffinityConfig;
  readonly #node: string;
  #limits: Limits;
  /** Why the last try was refused. */
  #forbidden: readonly string[] = [];

  constructor(
    parts: LimitedRejectorParts,
    { config, node }: { readonly config: AffinityConfig; readonly node: string },
  ) {
    this.#parts = parts;
    this.#config = config;
    this.#node = node;
    this.#limits = newLimits(parts.clock.monotonicMs());
  }

  /** Why the aggregator pauses all rejections; undefined when it does not. */
  get fleetPause(): string | undefined {
    return this.#limits.fleetPause;
  }

  /** What the agent's account may not do, as far as it has tried. */
  get forbidden(): readonly string[] {
    return this.#forbidden;
  }

  pauseFleet(why: string | undefined): void {
    this.#limits = withFleetPause(this.#limits, why);
  }

  /** A pod's status shows its rejection, by any agent. */
  noteRejection(seen: SeenRejection): void {
    this.#limits = withSeenRejection(this.#limits, seen, this.#parts.clock.monotonicMs());
  }

  /** What still holds a pod back; undefined when the limits would allow its rejection now. It decides nothing. */
  remainingWait(podCase: PodCase, limited: Limited): Next | undefined {
    const { decision } = this.#check(podCase, limited);
    return decision.kind === "wait" ? this.#waitOf(decision) : undefined;
  }

  #check({ uid }: PodCase, { pod, job }: Limited): ReturnType<typeof checkLimits> {
    const { clock, survey } = this.#parts;
    const request: LimitRequest = { podUid: uid, owner: pod.owner, job };
    const scene = { nowMs: clock.monotonicMs(), survey: survey(), settings: this.#config };
    return checkLimits(this.#limits, request, scene);
  }

  /** The verdict on these reads was to reject. */
  async reject(podCase: PodCase, evidence: PodEvidence, signal: AbortSignal): Promise<Next> {
    const misplacement = misplacementOf(evidence, this.#node);
    if (evidence.pod.kind !== "value" || misplacement === undefined)
      return { outcome: "nothing to reject", after: "again" };
    // A kubelet may take a rejection back for a moment: until that is known to last, the agent does not repeat it.
    if (podCase.isRejected) return { outcome: "rejected, and followed", after: undefined };
    if (podCase.recorded.has("would-reject")) return { outcome: "would be rejected", after: undefined };
    if (podCase.reverts >= MAX_REVERTS)
      return { outcome: `let alone: it came back from ${podCase.reverts} rejections`, after: undefined };
    // A new decision about an unchanged pod: the earlier attempt was not carried out.
    if (podCase.isOutcomeUnknown) this.#limits = withdraw(this.#limits, podCase.uid);
    const off = this.#config.mode === "enforce" ? await this.#off(podCase, signal) : undefined;
    if (off !== undefined) return off;
    const pod = evidence.pod.value;
    const { decision, limits } = this.#check(podCase, { pod, job: evidence.job });
    this.#limits = limits;
    if (decision.kind !== "go") return this.#holdBack(podCase, { pod, job: evidence.job, decision });
    podCase.heldBack = undefined;
    if (this.#config.mode !== "enforce") return this.#wouldReject(podCase, misplacement);
    return await this.#send(podCase, { pod, misplacement, level: decision.level, begunAt: evidence.begunAt }, signal);
  }

  /** The next step where pods must not be rejected, as no policy is known to confine that permission. */
  async #off(podCase: PodCase, signal: AbortSignal): Promise<Next | undefined> {
    const { guard, recorder } = this.#parts;
    const finding = await guard.check(signal);
    const why = offReason(finding);
    if (finding.kind === "in-force" || why === undefined) return undefined;
    if (finding.kind === "forbidden") {
      this.#forbidden = [PERMISSION];
      return this.#notRejected(podCase, finding);
    }
    if (podCase.recordOnce("unguarded")) {
      recorder.count("unguarded", podCase);
      recorder.log("warn", podCase, { message: "pod is not rejected", why });
    }
    return { outcome: `not rejected: ${why}`, after: "again" };
  }

  #wouldReject(podCase: PodCase, misplacement: Misplacement): Next {
    const { recorder } = this.#parts;
    recorder.event("would-reject", podCase, misplacement);
    recorder.count("would-reject", podCase);
    return { outcome: "would be rejected", after: undefined };
  }

  #holdBack(
    podCase: PodCase,
    { pod, job, decision }: Limited & { readonly decision: Exclude<LimitDecision, { readonly kind: "go" }> },
  ): Next {
    const { recorder, clock } = this.#parts;
    const { why, limit: which } = decision;
    const isKept = decision.kind === "refuse";
    if (podCase.recordOnce(`limit ${which}`)) {
      recorder.count(isKept ? "kept" : "held-back", podCase);
      recorder.log("warn", podCase, { message: isKept ? "pod is not rejected" : "rejection is held back", why });
    }
    // A bare pod stays bare; of a Job more may become known, or its limits may be raised.
    if (isKept) return { outcome: `not rejected: ${why}`, after: which === "bare-pod" ? undefined : "again" };
    podCase.heldBack = { pod, job, until: clock.monotonicMs() + OLD_MS };
    const next = this.#waitOf(decision);
    if (decision.isOwnerEventDue && pod.owner !== undefined && this.#config.mode === "enforce")
      recorder.ownerBackOff(pod.owner, {
        namespace: pod.namespace,
        why,
        waitMs: decision.untilMs - clock.monotonicMs(),
      });
    return next;
  }

  #waitOf({ limit: which, untilMs, why }: Extract<LimitDecision, { readonly kind: "wait" }>): Next {
    const { clock, survey, onUnseen } = this.#parts;
    const isSurvey = which === "node-wrong" && survey().unseen > 0;
    if (which === "node-wrong") onUnseen();
    const waitMs = Math.max(0, untilMs - clock.monotonicMs());
    return { outcome: `held back: ${why}`, after: isSurvey ? Math.min(SURVEY_MS, waitMs) : waitMs };
  }

  async #send(
    podCase: PodCase,
    order: {
      readonly pod: ReadPod;
      readonly misplacement: Misplacement;
      readonly level: number;
      readonly begunAt: number;
    },
    signal: AbortSignal,
  ): Promise<Next> {
    const { clock, rejector, serverMs } = this.#parts;
    const { pod, misplacement, level, begunAt } = order;
    const mayBeSent = (): boolean => clock.uptimeMs() - begunAt <= FRESH_MS;
    const isDeletion = podCase.reverts > 0 && this.#config.deleteReverted;
    const patch = rejectionPatch({ ...misplacement, level, at: formatMillisecondsUp(serverMs()) });
    podCase.isOutcomeUnknown = true;
    const outcome = isDeletion
      ? await rejector.remove({ pod, mayBeSent }, signal)
      : await rejector.reject({ pod, patch, mayBeSent }, signal);
    const permission = isDeletion ? "pods (delete)" : PERMISSION;
    this.#forbidden = outcome.kind === "forbidden" ? [permission] : [];
    if (outcome.kind === "rejected") return this.rejected(podCase, { misplacement, isDeletion });
    return this.#notRejected(podCase, outcome);
  }

  /** The pod is known to be rejected: by the answer, or by its state after the answer was lost. */
  rejected(
    podCase: PodCase,
    {
      misplacement,
      isDeletion = false,
    }: { readonly misplacement?: Misplacement | undefined; readonly isDeletion?: boolean },
  ): Next {
    const { recorder, onRejected } = this.#parts;
    podCase.isOutcomeUnknown = false;
    podCase.isRejected = !isDeletion;
    this.#limits = confirm(this.#limits, podCase.uid);
    recorder.count(isDeletion ? "deleted" : "rejected", podCase);
    recorder.log("warn", podCase, {
      message: isDeletion ? "pod deleted" : "pod rejected",
      why: misplacement === undefined ? "its volumes are not known any more" : misplacementText(misplacement),
    });
    if (misplacement !== undefined) recorder.event("rejected", podCase, misplacement);
    if (!isDeletion) onRejected(podCase);
    return { outcome: isDeletion ? "deleted" : "rejected", after: undefined };
  }

  #notRejected(podCase: PodCase, outcome: Exclude<RejectionOutcome, { readonly kind: "rejected" }>): Next {
    const { recorder } = this.#parts;
    const { kind, why } = outcome;
    recorder.count(kind, podCase);
    // The result is unknown: it counts as done until the next decision.
    podCase.isOutcomeUnknown = kind === "unanswered";
    if (!podCase.isOutcomeUnknown) this.#limits = withdraw(this.#limits, podCase.uid);
    const isOurs = kind === "refused" || kind === "forbidden";
    recorder.log(isOurs ? "error" : "info", podCase, { message: "pod could not be rejected", why: `${kind}: ${why}` });
    return { outcome: `could not be rejected: ${kind}: ${why}`, after: kind === "gone" ? undefined : "again" };
  }
}
