import type { Clock } from "../../common/runtime/clock.ts";
import type { ErrorRecorder } from "../../common/runtime/internal-errors.ts";
import type { NodeUnmountRecord, NodeView } from "../core/node-view.ts";
import { versionToReach } from "../core/references.ts";
import type { ClaimStates } from "./claim-states.ts";
import type { PendingNodes } from "./pending-nodes.ts";

interface AnswersParts {
  readonly errors: ErrorRecorder;
  readonly states: ClaimStates;
  readonly pendingNodes: PendingNodes;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly cluster: {
    /** False while claims or volumes have to be listed anew. */
    readonly areBindingsListed: () => boolean;
  };
}

/**
 * So long the claim or the volume of an unmount record may be on its way: a watch whose connection has died without a word is noticed in three
 * minutes, one that lies within ten and a bit (see `createConsistencyChecker`). Milliseconds.
 */
const ON_ITS_WAY_MS = 900_000;

/** What a node's report is answered. */
export class ReportAnswers {
  readonly #parts: AnswersParts;
  readonly #beganMs: number;

  constructor(parts: AnswersParts) {
    this.#parts = parts;
    this.#beganMs = parts.clock.monotonicMs();
  }

  /** The resource version that the node's pod watch must have reached for its word to count on every pod that ended there. */
  awaitedVersion(view: NodeView): string | undefined {
    const { pendingNodes, states } = this.#parts;
    const pending = pendingNodes.waitingFor(view.node).flatMap((key) => states.known(key)?.history.pending ?? []);
    return versionToReach(pending, view);
  }

  /** IDs of the view's unmount records that can no longer change any status. */
  settled(view: NodeView): readonly string[] {
    const { errors, states } = this.#parts;
    const fateOf = states.fateIn(view);
    // A bug in what one claim's evidence makes of an unmount record keeps that unmount record in its journal, and no other.
    const fates = [...view.unmountRecords.values()].map((unmountRecord) => ({
      unmountRecord,
      fate: errors.attempt(unmountRecord.id, () => fateOf(unmountRecord)) ?? "open",
    }));
    const settled = fates.filter(({ fate }) => fate === "settled").map(({ unmountRecord }) => unmountRecord);
    const lost = fates.filter(({ fate }) => fate === "unattributed").map(({ unmountRecord }) => unmountRecord);
    const over = [...settled, ...lost.filter((unmountRecord) => this.#isGivenUp(unmountRecord, view))];
    return over.map(({ id }) => id);
  }

  /**
   * A foreign or inline volume's, or that of a claim that is gone: by the node's own clock and by ours it ended so long ago that its claim would
   * be known. A wall clock may jump. What ended before a reboot, or before the machine was put back, is older than the first report since.
   */
  #isGivenUp({ by, timeline }: NodeUnmountRecord, { sentAt, timeline: now, timelineFrom }: NodeView): boolean {
    const { clock, cluster } = this.#parts;
    const isOurs = clock.monotonicMs() - this.#beganMs >= ON_ITS_WAY_MS;
    const endedAt = timeline === now ? by : timelineFrom;
    return isOurs && sentAt - endedAt >= ON_ITS_WAY_MS && cluster.areBindingsListed();
  }
}
