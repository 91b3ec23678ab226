/** Each node's whole state is 20 kB: so many are taken at once, and one more after each of these milliseconds. */
const AT_ONCE = 200;
const EACH_MS = 5;
/** By then an agent would say something anyway. Milliseconds. */
const LONGEST_MS = 30_000;

/** Over which time the nodes of a cluster are spread when all of them come at once, with all they know. Milliseconds. */
export function spreadMs(nodes: number): number {
  return Math.min(LONGEST_MS, nodes * EACH_MS);
}

/** How many nodes can have told all they know by then. */
export function takenBy(elapsedMs: number): number {
  return AT_ONCE + elapsedMs / EACH_MS;
}
