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

/** What finds a problem of a claim and warns of it. */
export interface WarnerParts extends Pick<OutsideParts, "clock" | "nowMs"> {
  readonly warnings: ReturnType<typeof createClaimWarnings>;
}

/** Kubernetes calls a claim unused before the kubelet unmounts: a contradiction this short is normal. Milliseconds. */
const GRACE_MS = 10_000;

/** Claims that Kubernetes calls unused while a node has them mounted. */
export class UnusedWhileMounted {
  readonly #parts: WarnerParts;
  /** UIDs of those that a warning has told of. */
  readonly #known = new Set<string>();

  constructor(parts: WarnerParts) {
    this.#parts = parts;
  }

  /** How many there are, without those that are normal. */
  get size(): number {
    return this.#known.size;
  }

  /** Compares the two, and warns once. Answers after how many milliseconds to compare again, if necessary. */
  compare({ claim, isEligible, desired }: DesiredClaim): number | undefined {
    const { uid, upstream } = claim;
    const { reason, sinceMs = 0, mountedOn } = desired ?? claim.status ?? {};
    const isContradicted = isEligible && upstream?.unused === true && reason === "Mounted";
    const restMs = Math.max(sinceMs, upstream?.sinceMs ?? 0) + GRACE_MS - this.#parts.nowMs();
    if (!isContradicted || restMs > 0) this.#known.delete(uid);
    else if (!this.#known.has(uid)) {
      this.#known.add(uid);
      this.#parts.warnings.warn(claim, { kind: "unused-while-mounted", nodes: mountedOn?.nodes ?? [] });
    }
    return isContradicted && restMs > 0 ? Math.min(restMs, GRACE_MS) : undefined;
  }

  forget({ uid }: Claim): void {
    this.#known.delete(uid);
  }
}
