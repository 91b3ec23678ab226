import type { Clock } from "../../common/runtime/clock.ts";
import type { InternalErrors } from "../../common/runtime/internal-errors.ts";
import { createYield } from "../../common/runtime/yield.ts";
import type { Cluster } from "../sources/cluster.ts";

interface WaitingParts {
  readonly clock: Clock;
  readonly cluster: Pick<Cluster, "nodeNames" | "misfits">;
  readonly internalErrors: InternalErrors;
  /** Which pods of a node wait for a volume that excludes it. */
  readonly onWaiting: (node: string, podUids: readonly string[]) => void;
}

/**
 * Counts the pods that wait on all nodes. In large clusters it takes a while, in which there is more to do. Half a count would say less than
 * the one before it: it is handed on whole or, where the signal is aborted, not at all, and answers which.
 */
export async function countWaiting(
  { clock, cluster, internalErrors, onWaiting }: WaitingParts,
  signal: AbortSignal,
): Promise<boolean> {
  const errors = internalErrors.in("reports");
  const breathe = createYield(clock, signal);
  const counted = new Map<string, readonly string[]>();
  for (const node of cluster.nodeNames()) {
    counted.set(node, errors.attempt(node, () => cluster.misfits(node).waiting) ?? []);
    const pause = breathe();
    if (pause !== undefined) await pause;
    if (signal.aborted) return false;
  }
  for (const [node, waiting] of counted) onWaiting(node, waiting);
  return true;
}
