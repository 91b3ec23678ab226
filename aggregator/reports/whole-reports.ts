import type { Clock } from "../../common/runtime/clock.ts";
import type { Random } from "../../common/runtime/random.ts";
import { isReport, type NodeMessage } from "../../common/storage/node-report.ts";
import { takenBy } from "../core/spread.ts";
import type { ReportOutcome } from "../sources/report-server.ts";

interface WholeReportParts {
  readonly clock: Clock;
  readonly random: Random;
  /** How many nodes the cluster has. */
  readonly nodes: () => number;
  /** A claim waits for the node's report, or may. */
  readonly isAwaited: (node: string) => boolean;
}

/** Asks nodes for their whole state: after a change of leaders all of them come with heartbeats for one that is not known. */
export class WholeReports {
  readonly #parts: WholeReportParts;
  readonly #beganMs: number;

  constructor(parts: WholeReportParts) {
    this.#parts = parts;
    this.#beganMs = parts.clock.monotonicMs();
  }

  /** Asks now, or at the node's next heartbeat. A message with news would have been taken at once, so its sender is asked at once. */
  ask(message: NodeMessage): ReportOutcome {
    return isReport(message) || this.#mayAsk(message.node) ? { kind: "unknown" } : { kind: "later" };
  }

  /** Of those that all come at first as many as can be taken, whoever they are. */
  #mayAsk(node: string): boolean {
    const { clock, random, nodes, isAwaited } = this.#parts;
    return isAwaited(node) || random.fraction() * nodes() < takenBy(clock.monotonicMs() - this.#beganMs);
  }
}

/**
 * True where a message was sent before its sender was answered by this leader: a copy of it may have been on its way since long ago. What an
 * earlier leader stored goes only by what the node says now.
 */
export function isOfOtherSession({ session }: NodeMessage, own: string): boolean {
  return session !== undefined && session !== own;
}
