import type { KubeEvent } from "../../common/kube/kube-event.ts";
import type { LogFields } from "../../common/runtime/logger.ts";
import type { Claim } from "../../common/storage/claim.ts";
import { Budget, REPORTS } from "../core/reports/budgets.ts";
import { type ClaimWarning, claimEvent } from "../sinks/claim-events.ts";
import type { OutsideParts } from "../sources/cluster.ts";

interface WarningParts extends Pick<OutsideParts, "clock" | "logger" | "nowMs"> {
  readonly emit: (event: KubeEvent) => void;
}

/** Reports a problem of a claim: to its owner as an event, to the administrator as a log line. The caller reports each problem once. */
export class ClaimWarnings {
  readonly #parts: WarningParts;
  readonly #budget = new Budget(REPORTS);
  #isCut = false;

  constructor(parts: WarningParts) {
    this.#parts = parts;
  }

  tell(claim: Claim, warning: ClaimWarning): void {
    const { clock, logger, emit, nowMs } = this.#parts;
    const isAllowed = this.#budget.take(clock.monotonicMs());
    if (isAllowed) {
      const { namespace, name } = claim;
      logger.warn({ namespace, claim: name, ...fieldsOf(warning) }, "claim needs attention");
      emit(claimEvent(claim, warning, nowMs()));
    } else if (!this.#isCut) logger.warn({}, "more claims need attention than are logged one by one, see the metrics");
    this.#isCut = !isAllowed;
  }
}

function fieldsOf(warning: ClaimWarning): LogFields {
  const { kind, ...fields } = warning;
  if (warning.kind !== "write-refused") return { warning: kind, ...fields };
  return { warning: kind, reason: warning.reason, err: warning.message };
}
