/**
 * Decides when no agent of the cluster may reject pods any more. An agent's own rate limits see one node only: a label that was changed
 * on all nodes, or an affinity on all volumes, looks like a few wrong pods on each.
 */

export interface RejectedPod {
  readonly node: string | undefined;
  /** A user who may create pods there can place any number of them on wrong nodes. */
  readonly namespace: string;
  /** Milliseconds of the API server's wall clock. */
  readonly atMs: number;
}

export interface RejectionPause {
  readonly sinceMs: number;
  /** For people to read: agents log it. */
  readonly why: string;
}

interface FleetScene {
  /** The pods that were rejected in the last `FLEET_WINDOW_MS`. */
  readonly recent: readonly RejectedPod[];
  /** How many nodes the cluster has. */
  readonly nodes: number;
  readonly nowMs: number;
}

/** Rejected pods are counted over this time, and a pause lasts at least as long. Milliseconds. */
export const FLEET_WINDOW_MS = 600_000;
/** Fewer nodes with rejected pods than this never pause rejections. */
const FEWEST_NODES = 5;
/** The share of nodes, one in so many, that pauses rejections. */
const NODE_SHARE = 5;

/** Begins at `limit` (0: never) rejected pods or with too many nodes; ends after a window, once both are down to half. */
export function nextPause(
  held: RejectionPause | undefined,
  { recent, nodes: all, nowMs }: FleetScene,
  limit: number,
): RejectionPause | undefined {
  if (limit === 0) return undefined;
  const mostNodes = Math.max(FEWEST_NODES, Math.floor(all / NODE_SHARE) + 1);
  const namespaces = [...Map.groupBy(recent, ({ namespace }) => namespace).values()];
  const pods = namespaces.reduce((sum, { length }) => sum + Math.min(length, shareOf(limit)), 0);
  const nodesOf = (rejected: readonly RejectedPod[]) => [...new Set(rejected.map(({ node }) => node))];
  const nodes = new Set(namespaces.flatMap((rejected) => nodesOf(rejected).slice(0, shareOf(mostNodes)))).size;
  const why = `in the last ${FLEET_WINDOW_MS / 60_000} minutes ${pods} pods on ${nodes} of ${all} nodes were rejected`;
  if (held === undefined) return pods >= limit || nodes >= mostNodes ? { sinceMs: nowMs, why } : undefined;
  // What is wrong on many nodes needs a person; a false alarm costs ten minutes.
  const isOver = nowMs - held.sinceMs >= FLEET_WINDOW_MS && pods * 2 <= limit && nodes * 2 <= mostNodes;
  return isOver ? undefined : held;
}

/** What one namespace counts for at most: its owner alone cannot pause rejections for others. */
function shareOf(most: number): number {
  return Math.max(1, Math.floor(most / 2));
}
