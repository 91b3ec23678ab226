import type { KubeEvent } from "../../common/kube/kube-event.ts";
import type { Claim } from "../../common/storage/claim.ts";
import type { DesiredClaim } from "../core/claims/write.ts";
import { Budget, REPORTS } from "../core/reports/budgets.ts";
import { type ClaimWarning, claimEvent } from "../sinks/claim-events.ts";
import type { OutsideParts } from "../sources/cluster-parts.ts";

interface WarningParts extends Pick<OutsideParts, "clock" | "logger" | "nowMs"> {
  readonly emit: (event: KubeEvent) => void;
}

/** Reports a claim's problem: to its owner as an event, to the administrator as a log line. The caller warns once. */
export function createClaimWarnings({ clock, logger, emit, nowMs }: WarningParts) {
  const budget = new Budget(REPORTS);
  let isCut = false;
  return {
    warn: (claim: Claim, warning: ClaimWarning): void => {
      const isAllowed = budget.take(clock.monotonicMs());
      if (isAllowed) {
        const { kind, ...fields } = warning;
        const { namespace, name } = claim;
        logger.warn({ namespace, claim: name, warning: kind, ...fields }, "claim needs attention");
        emit(claimEvent(claim, warning, nowMs()));
      } else if (!isCut) logger.warn({}, "more claims need attention than are logged one by one, see the metrics");
      isCut = !isAllowed;
    },
  };
}

export interface WarnerParts extends Pick<OutsideParts, "clock"> {
  readonly warnings: ReturnType<typeof createClaimWarnings>;
}

/** Kubernetes calls a claim unused before the kubelet unmounts: a contradiction this short is normal. Milliseconds. */
const GRACE_MS = 10_000;

/** Claims that Kubernetes calls unused while a node has them mounted. */
export class UnusedWhileMounted {
  readonly #parts: WarnerParts;
  /** By UID: since when, on the monotonic clock; undefined once a warning says so. */
  readonly #known = new Map<string, number | undefined>();

  constructor(parts: WarnerParts) {
    this.#parts = parts;
  }

  /** How many there are, without those that are normal. */
  get size(): number {
    return [...this.#known.values()].filter((sinceMs) => sinceMs === undefined).length;
  }

  /** Compares the two, and warns once. Answers after how many milliseconds to compare again, if necessary. */
  compare({ claim, isEligible, desired }: DesiredClaim): number | undefined {
    const { uid } = claim;
    const status = desired ?? claim.status;
    const isContradicted = isEligible && claim.upstream?.unused === true && status?.reason === "Mounted";
    const nowMs = this.#parts.clock.monotonicMs();
    const sinceMs = this.#known.has(uid) ? this.#known.get(uid) : nowMs;
    if (!isContradicted) this.#known.delete(uid);
    if (!isContradicted || sinceMs === undefined) return undefined;
    const restMs = sinceMs + GRACE_MS - nowMs;
    this.#known.set(uid, restMs > 0 ? sinceMs : undefined);
    if (restMs > 0) return restMs;
    this.#parts.warnings.warn(claim, { kind: "unused-while-mounted", nodes: status.mountedOn?.nodes ?? [] });
    return undefined;
  }

  forget({ uid }: Claim): void {
    this.#known.delete(uid);
  }
}
