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
  type Witnessed,
  withdraw,
  withFleetPause,
  witness,
} from "../core/affinity/limits.ts";
import { type Misplacement, misplacementText, rejectionPatch } from "../core/affinity/rejection.ts";
import type { PodRejector, RejectionOutcome } from "../sinks/pod-rejector.ts";
import type { ReadPod } from "../sources/affinity-pod.ts";
import type { PodLook } from "./look.ts";
import { offReason, type PolicyGuard } from "./policy-guard.ts";
import type { AffinityConfig } from "./settings.ts";
import type { Subject } from "./subjects.ts";
import { misplacementOf, type Telling } from "./telling.ts";

/** The next step for a pod: none, or another check after a time. */
export interface Next {
  readonly outcome: string;
  /** Milliseconds. `again`: after a wait that grows from check to check. */
  readonly after: number | "again" | undefined;
}

interface ActParts {
  readonly clock: Clock;
  readonly rejector: PodRejector;
  readonly guard: Pick<PolicyGuard, "look">;
  readonly telling: Telling;
  readonly survey: () => NodeSurvey;
  readonly serverMs: () => number;
  /** A decision depends on the other pods of the node: those have to be checked that were not, or long ago. */
  readonly onUnseen: () => void;
  /** A pod was rejected: whether that holds has to be followed. */
  readonly onRejected: (subject: Subject) => void;
}

/** What the limits need to know of a pod. */
interface Limited {
  readonly pod: ReadPod;
  readonly job: PodLook["job"];
}

/** A pod that is held back is read again after this time, even without a change. Milliseconds. */
const HELD_LOOK_MS = 300_000;
/** The reads behind a decision may be so old when it is sent. Milliseconds. */
const FRESH_MS = 5_000;
/** A pod that keeps coming back from its rejection is left alone after so many. */
const MOST_REVERTS = 3;
/** The wait while other pods have to be checked first, which takes no longer. Milliseconds. */
const SURVEY_MS = 250;

/** The permission to reject, in the words of RBAC. */
const RIGHT = "pods/status (patch)";

/** Rejects the pods that have to be rejected, as fast as the limits allow. */
export class AffinityAct {
  readonly #parts: ActParts;
  readonly #config: AffinityConfig;
  readonly #node: string;
  #limits: Limits;
  /** Why the last try was refused. */
  #forbidden: readonly string[] = [];

  constructor(parts: ActParts, { config, node }: { readonly config: AffinityConfig; readonly node: string }) {
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
  witness(seen: Witnessed): void {
    this.#limits = witness(this.#limits, seen, this.#parts.clock.monotonicMs());
  }

  /** What still holds a pod back; undefined when the limits would allow its rejection now. It decides nothing. */
  stillHolds(subject: Subject, limited: Limited): Next | undefined {
    const { decision } = this.#check(subject, limited);
    return decision.kind === "wait" ? this.#waitOf(decision) : undefined;
  }

  #check({ uid }: Subject, { pod, job }: Limited): ReturnType<typeof checkLimits> {
    const { clock, survey } = this.#parts;
    const request: LimitRequest = { podUid: uid, owner: pod.owner, job };
    const scene = { nowMs: clock.monotonicMs(), survey: survey(), settings: this.#config };
    return checkLimits(this.#limits, request, scene);
  }

  /** The verdict on these reads was to reject. */
  async act(subject: Subject, look: PodLook, signal: AbortSignal): Promise<Next> {
    const misplacement = misplacementOf(look, this.#node);
    if (look.pod.kind !== "value" || misplacement === undefined)
      return { outcome: "nothing to reject", after: "again" };
    // A kubelet may take a rejection back for a moment: until that is known to last, the agent does not repeat it.
    if (subject.isRejected) return { outcome: "rejected, and followed", after: undefined };
    if (subject.told.has("would-reject")) return { outcome: "would be rejected", after: undefined };
    if (subject.reverts >= MOST_REVERTS)
      return { outcome: `let alone: it came back from ${subject.reverts} rejections`, after: undefined };
    // A new decision about an unchanged pod: the earlier attempt was not carried out.
    if (subject.isUnsettled) this.#limits = withdraw(this.#limits, subject.uid);
    const off = this.#config.mode === "enforce" ? await this.#off(subject, signal) : undefined;
    if (off !== undefined) return off;
    const pod = look.pod.value;
    const { decision, limits } = this.#check(subject, { pod, job: look.job });
    this.#limits = limits;
    if (decision.kind !== "go") return this.#heldBack(subject, { pod, job: look.job, decision });
    subject.held = undefined;
    if (this.#config.mode !== "enforce") return this.#wouldReject(subject, misplacement);
    return await this.#reject(subject, { pod, misplacement, level: decision.level, begunAt: look.begunAt }, signal);
  }

  /** The next step where pods must not be rejected, as no policy is known to confine that permission. */
  async #off(subject: Subject, signal: AbortSignal): Promise<Next | undefined> {
    const { guard, telling } = this.#parts;
    const finding = await guard.look(signal);
    const why = offReason(finding);
    if (finding.kind === "in-force" || why === undefined) return undefined;
    if (finding.kind === "forbidden") {
      this.#forbidden = [RIGHT];
      return this.#notRejected(subject, finding);
    }
    if (subject.isFirst("unguarded")) {
      telling.count("unguarded", subject);
      telling.say("warn", subject, { message: "pod is not rejected", why });
    }
    return { outcome: `not rejected: ${why}`, after: "again" };
  }

  #wouldReject(subject: Subject, misplacement: Misplacement): Next {
    const { telling } = this.#parts;
    telling.event("would-reject", subject, misplacement);
    telling.count("would-reject", subject);
    return { outcome: "would be rejected", after: undefined };
  }

  #heldBack(
    subject: Subject,
    { pod, job, decision }: Limited & { readonly decision: Exclude<LimitDecision, { readonly kind: "go" }> },
  ): Next {
    const { telling, clock } = this.#parts;
    const { why, limit: which } = decision;
    const isKept = decision.kind === "refuse";
    if (subject.isFirst(`limit ${which}`)) {
      telling.count(isKept ? "kept" : "held-back", subject);
      telling.say("warn", subject, { message: isKept ? "pod is not rejected" : "rejection is held back", why });
    }
    // A bare pod stays bare; of a Job more may become known, or its limits may be raised.
    if (isKept) return { outcome: `not rejected: ${why}`, after: which === "bare-pod" ? undefined : "again" };
    subject.held = { pod, job, until: clock.monotonicMs() + HELD_LOOK_MS };
    const next = this.#waitOf(decision);
    if (decision.tellOwner && pod.owner !== undefined && this.#config.mode === "enforce")
      telling.owner(pod.owner, { namespace: pod.namespace, why, waitMs: decision.untilMs - clock.monotonicMs() });
    return next;
  }

  #waitOf({ limit: which, untilMs, why }: Extract<LimitDecision, { readonly kind: "wait" }>): Next {
    const { clock, survey, onUnseen } = this.#parts;
    const isSurvey = which === "node-wrong" && survey().unseen > 0;
    if (which === "node-wrong") onUnseen();
    const waitMs = Math.max(0, untilMs - clock.monotonicMs());
    return { outcome: `held back: ${why}`, after: isSurvey ? Math.min(SURVEY_MS, waitMs) : waitMs };
  }

  async #reject(
    subject: Subject,
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
    const isDeletion = subject.reverts > 0 && this.#config.deleteReverted;
    const patch = rejectionPatch({ ...misplacement, level, at: formatMillisecondsUp(serverMs()) });
    subject.isUnsettled = true;
    const outcome = isDeletion
      ? await rejector.remove({ pod, mayBeSent }, signal)
      : await rejector.reject({ pod, patch, mayBeSent }, signal);
    const right = isDeletion ? "pods (delete)" : RIGHT;
    this.#forbidden = outcome.kind === "forbidden" ? [right] : [];
    if (outcome.kind === "rejected") return this.rejected(subject, { misplacement, isDeletion });
    return this.#notRejected(subject, outcome);
  }

  /** The pod is known to be rejected: by the answer, or by its state after the answer was lost. */
  rejected(
    subject: Subject,
    {
      misplacement,
      isDeletion = false,
    }: { readonly misplacement?: Misplacement | undefined; readonly isDeletion?: boolean },
  ): Next {
    const { telling, onRejected } = this.#parts;
    subject.isUnsettled = false;
    subject.isRejected = !isDeletion;
    this.#limits = confirm(this.#limits, subject.uid);
    telling.count(isDeletion ? "deleted" : "rejected", subject);
    telling.say("warn", subject, {
      message: isDeletion ? "pod deleted" : "pod rejected",
      why: misplacement === undefined ? "its volumes are not known any more" : misplacementText(misplacement),
    });
    if (misplacement !== undefined) telling.event("rejected", subject, misplacement);
    if (!isDeletion) onRejected(subject);
    return { outcome: isDeletion ? "deleted" : "rejected", after: undefined };
  }

  #notRejected(subject: Subject, outcome: Exclude<RejectionOutcome, { readonly kind: "rejected" }>): Next {
    const { telling } = this.#parts;
    const { kind, why } = outcome;
    telling.count(kind, subject);
    // The result is unknown: it counts as done until the next decision.
    subject.isUnsettled = kind === "unanswered";
    if (!subject.isUnsettled) this.#limits = withdraw(this.#limits, subject.uid);
    const isOurs = kind === "refused" || kind === "forbidden";
    telling.say(isOurs ? "error" : "info", subject, { message: "pod could not be rejected", why: `${kind}: ${why}` });
    return { outcome: `could not be rejected: ${kind}: ${why}`, after: kind === "gone" ? undefined : "again" };
  }
}
