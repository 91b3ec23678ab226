import type { EventRecorder } from "../../common/kube/events.ts";
import type { Constant, Logger } from "../../common/runtime/logger.ts";
import type { Counter, Metrics } from "../../common/runtime/metrics.ts";
import { REJECTION_REASON } from "../../common/storage/rejection.ts";
import type { PodOwner } from "../core/affinity/facts.ts";
import type { Misplacement } from "../core/affinity/rejection.ts";
import { misplacedVolumes } from "../core/affinity/verdict.ts";
import { ownerEvent, type PodEventKind, podEvent } from "../sinks/affinity-events.ts";
import type { RejectionOutcome } from "../sinks/pod-rejector.ts";
import { describeVolume, type PodCase } from "./pod-cases.ts";
import type { PodEvidence } from "./pod-reader.ts";

/** What is counted of rejections: outcomes of tries, of what follows, and of rejections that were not tried. */
export type RejectionCount =
  | RejectionOutcome["kind"]
  | "would-reject"
  | "deleted"
  | "held"
  | "reverted"
  | "held-back"
  | "kept"
  | "unguarded"
  | "reported";

interface RecorderParts {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly events: EventRecorder;
  /** The API server's wall clock, milliseconds since the epoch. */
  readonly serverMs: () => number;
}

/** Reports what is seen and done about pods on the wrong node: in the log, in events, in metrics. */
export class RejectionRecorder {
  readonly #parts: RecorderParts;
  readonly #node: string;
  readonly #rejections: Counter<"reason" | "outcome">;

  constructor(parts: RecorderParts, node: string) {
    this.#parts = parts;
    this.#node = node;
    this.#rejections = parts.metrics.counter({
      name: "mooring_affinity_rejections_total",
      help: "Pods on a node that the node affinity of one of their volumes excludes, by outcome of their rejection.",
      labels: ["reason", "outcome"],
    });
  }

  /** One line for each pod that was checked, and another one only when it says something else. */
  checked(podCase: PodCase, { verdict }: PodEvidence): void {
    const fields = { ...nameOf(podCase), verdict: verdict.kind, why: verdict.why };
    const isNews = podCase.verdict?.kind !== verdict.kind || podCase.verdict.why !== verdict.why;
    const level = isNews ? "info" : "debug";
    this.#parts.logger[level]({ ...fields, volumes: verdict.volumes.map(describeVolume) }, "pod looked at");
  }

  /** An event, once for each pod and kind. */
  event(kind: PodEventKind, podCase: PodCase, misplacement: Misplacement): void {
    if (!podCase.recordOnce(kind)) return;
    const { namespace, name, uid } = podCase;
    const about = { pod: { namespace, name, uid }, misplacement, nowMs: this.#parts.serverMs() };
    this.#parts.events.emit(podEvent(kind, about));
  }

  ownerBackOff(
    owner: PodOwner,
    about: { readonly namespace: string; readonly why: string; readonly waitMs: number },
  ): void {
    const { serverMs, events, logger } = this.#parts;
    const { namespace, why, waitMs } = about;
    logger.warn(
      { namespace, owner: `${owner.kind}/${owner.name}`, why, waitMs },
      "owner of rejected pods is backed off",
    );
    events.emit(ownerEvent(owner, { ...about, node: this.#node, nowMs: serverMs() }));
  }

  count(outcome: RejectionCount, podCase: PodCase): void {
    const isAttached = podCase.verdict?.kind === "attached";
    this.#rejections.increment({ reason: isAttached ? `${REJECTION_REASON}Attached` : REJECTION_REASON, outcome });
  }

  /** A warning or an information about a pod. */
  log<M extends string>(
    level: "info" | "warn" | "error",
    podCase: PodCase,
    line: { readonly message: M & Constant<M>; readonly why?: string },
  ): void {
    const { message, why } = line;
    this.#parts.logger[level]<M>({ ...nameOf(podCase), ...(why !== undefined && { why }) }, message);
  }
}

function nameOf({ namespace, key, uid }: PodCase): {
  readonly namespace: string;
  readonly pod: string;
  readonly podUid: string;
} {
  return { namespace, pod: key, podUid: uid };
}

/** The volumes that a rejection is about, first those that the pod waits for; undefined without a known PV. */
export function misplacementOf({ verdict }: Pick<PodEvidence, "verdict">, node: string): Misplacement | undefined {
  const volumes = misplacedVolumes(verdict)
    .toSorted((one, other) => Number(other.finding === "wrong") - Number(one.finding === "wrong"))
    .flatMap(({ volume, pv, why }) =>
      pv === undefined ? [] : [{ volume: volume.name, claim: volume.claim, pv, why }],
    );
  const [first, ...others] = volumes;
  return first === undefined ? undefined : { node, volumes: [first, ...others] };
}
