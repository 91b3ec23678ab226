import type { Clock } from "../common/runtime/clock.ts";
import { isReport, type NodeMessage } from "../common/storage/node-report.ts";
import { ASKS, type Budget, fullBudget, spend } from "./core/budget.ts";
import type { ReportOutcome } from "./sources/report-server.ts";

interface WholeReportParts {
  readonly clock: Clock;
  /** A claim waits for the node's report, or may. */
  readonly isAwaited: (node: string) => boolean;
}

/** Asks nodes for their whole state: after a change of leaders all of them come with heartbeats for one that is not known. */
export class WholeReports {
  readonly #parts: WholeReportParts;
  #budget: Budget = fullBudget(ASKS);

  constructor(parts: WholeReportParts) {
    this.#parts = parts;
  }

  /** Asks now, or at the node's next heartbeat. A message with news would have been taken at once, so its sender is asked at once. */
  ask(message: NodeMessage): ReportOutcome {
    return isReport(message) || this.#mayAsk(message.node) ? { kind: "unknown" } : { kind: "later" };
  }

  #mayAsk(node: string): boolean {
    const { clock, isAwaited } = this.#parts;
    if (isAwaited(node)) return true;
    const { isAllowed, budget } = spend(this.#budget, clock.monotonicMs(), ASKS);
    this.#budget = budget;
    return isAllowed;
  }
}

/**
 * True where a message was sent before its sender was answered by this leader: a copy of it may have been on its way since long ago. What an
 * earlier leader stored goes only by what the node says now.
 */
export function isOfOtherSession({ session }: NodeMessage, own: string): boolean {
  return session !== undefined && session !== own;
}
