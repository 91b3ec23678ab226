import type { Clock } from "../../common/runtime/clock.ts";
import type { InternalErrors } from "../../common/runtime/internal-errors.ts";
import { createYield } from "../../common/runtime/yield.ts";
import type { Cluster } from "../sources/cluster.ts";

interface WaitingParts {
  readonly clock: Clock;
  readonly cluster: Pick<Cluster, "nodeNames" | "misfits">;
  readonly internalErrors: InternalErrors;
  /** Pods of a node that wait for a volume whose affinity excludes it. */
  readonly onWaiting: (node: string, podUids: readonly string[]) => void;
}

/**
 * Counts the waiting pods of all nodes, with pauses, as it takes a while in large clusters. Half a count would say less than the
 * previous one: the result is handed on whole or, after an abort, not at all. Answers which.
 */
export async function countWaiting(
  { clock, cluster, internalErrors, onWaiting }: WaitingParts,
  signal: AbortSignal,
): Promise<boolean> {
  const errors = internalErrors.in("reports");
  const yieldIfDue = createYield(clock, signal);
  const counted = new Map<string, readonly string[]>();
  for (const node of cluster.nodeNames()) {
    counted.set(node, errors.attempt(node, () => cluster.misfits(node).waiting) ?? []);
    const pause = yieldIfDue();
    if (pause !== undefined) await pause;
    if (signal.aborted) return false;
  }
  for (const [node, waiting] of counted) onWaiting(node, waiting);
  return true;
}
