/** Each node's whole state is 20 kB, and so many are taken in a second at our ease. */
const WHOLE_EACH_MS = 5;
/** By then an agent would say something anyway. Milliseconds. */
const LONGEST_MS = 30_000;

/** Over which time the nodes of a cluster are spread when all of them come at once, with all they know. Milliseconds. */
export function spreadMs(nodes: number): number {
  return Math.min(LONGEST_MS, nodes * WHOLE_EACH_MS);
}
