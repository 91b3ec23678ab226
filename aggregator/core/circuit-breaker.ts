/**
 * When no agent of the whole fleet is to reject a pod any more. Each agent's own brakes see one node only: a label that was changed on all
 * nodes, or an affinity on all volumes, looks like a few wrong pods on each of them.
 */

/**
 * A pod that an agent rejected, or that waits for a volume whose affinity excludes its node and would be rejected: who only counts what was
 * done sees a change of all nodes at once when it is too late.
 */
export interface WrongPod {
  readonly node: string | undefined;
  /** Who may make pods there can place as many on wrong nodes as they like. */
  readonly namespace: string;
  /** When it was rejected, or was seen to wait first. Milliseconds of the API server's wall clock. */
  readonly atMs: number;
}

/** That all rejections are paused. */
export interface RejectionPause {
  readonly sinceMs: number;
  /** For people to read: it goes to the agents and into their logs. */
  readonly why: string;
}

/** What the fleet is judged by. */
export interface FleetScene {
  /** Those of the last `FLEET_WINDOW_MS`. */
  readonly recent: readonly WrongPod[];
  /** How many nodes the cluster has. */
  readonly nodes: number;
  readonly nowMs: number;
}

/** Wrong pods are counted over this time, and a pause lasts at least as long. Milliseconds. */
export const FLEET_WINDOW_MS = 600_000;
/** Fewer nodes with wrong pods than this are never too many. */
const FEWEST_NODES = 5;
/** More than every so-manieth node is too many. */
const NODE_SHARE = 5;
/** Of what is too many, a namespace counts for one in so many at most: its owner alone pauses nobody else's rejections. */
const NAMESPACE_SHARE = 2;

/**
 * Whether rejections are paused from now on. It begins with so many wrong pods in ten minutes (`limit`), or on more than a fifth of the nodes and at
 * least five; one namespace counts for half of either at most. It ends when it has lasted ten minutes and both are down to half of that: what is wrong on many nodes at once needs a
 * person, and who finds nothing to do has lost ten minutes. A limit of 0 never pauses.
 */
export function nextPause(
  held: RejectionPause | undefined,
  scene: FleetScene,
  limit: number,
): RejectionPause | undefined {
  if (limit === 0) return undefined;
  const { recent, nodes: all, nowMs } = scene;
  const mostNodes = Math.max(FEWEST_NODES, Math.floor(all / NODE_SHARE) + 1);
  const counted = countedOf(recent, { pods: shareOf(limit), nodes: shareOf(mostNodes) });
  const pods = counted.length;
  const nodes = new Set(counted.map(({ node }) => node)).size;
  const why = `in the last ${FLEET_WINDOW_MS / 60_000} minutes ${pods} pods on ${nodes} of ${all} nodes were rejected, or began to wait for a volume that excludes their node`;
  if (held === undefined) return pods >= limit || nodes >= mostNodes ? { sinceMs: nowMs, why } : undefined;
  const isOver = nowMs - held.sinceMs >= FLEET_WINDOW_MS && pods * 2 <= limit && nodes * 2 <= mostNodes;
  return isOver ? undefined : held;
}

function shareOf(most: number): number {
  return Math.max(1, Math.floor(most / NAMESPACE_SHARE));
}

/** The first of each namespace, so many pods on so many nodes. */
function countedOf(
  recent: readonly WrongPod[],
  most: { readonly pods: number; readonly nodes: number },
): readonly WrongPod[] {
  const counts = new Map<string, { pods: number; readonly nodes: Set<string | undefined> }>();
  return recent.filter(({ namespace, node }) => {
    const count = counts.get(namespace) ?? { pods: 0, nodes: new Set() };
    counts.set(namespace, count);
    if (count.pods === most.pods || (count.nodes.size === most.nodes && !count.nodes.has(node))) return false;
    count.pods += 1;
    count.nodes.add(node);
    return true;
  });
}
