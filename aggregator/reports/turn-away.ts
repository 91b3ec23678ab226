import type { Random } from "../../common/runtime/random.ts";
import type { TurnedAway } from "../sources/report-server.ts";

export const NOT_LISTED: TurnedAway = { kind: "not-ready", why: "the cluster has not been listed yet" };
export const NOT_COUNTED: TurnedAway = { kind: "not-ready", why: "the pods that wait are being counted" };
export const NOT_DATED: TurnedAway = { kind: "not-ready", why: "the API server has not been heard of yet" };
export const NOT_LEADING: TurnedAway = { kind: "not-leading", why: "not the leader" };

/** Each node's whole state is 20 kB: one more is taken after each of these milliseconds. */
const EACH_MS = 5;
/** By then an agent would say something anyway. Milliseconds. */
const LONGEST_MS = 30_000;

interface TurnAwayParts {
  readonly random: Random;
  /** How many nodes the cluster has. */
  readonly nodes: () => number;
}

/**
 * Tells each of those that come while there is a reason to turn them away when it is to come again: at random within the time in which all
 * can be taken. Otherwise thousands of agents try again and again, which takes the time of whoever is to be ready soon.
 */
export function createTurnAway(
  { random, nodes }: TurnAwayParts,
  reason: () => TurnedAway | undefined,
): () => TurnedAway | undefined {
  return () => {
    const found = reason();
    return found && { ...found, waitMs: random.fraction() * Math.min(LONGEST_MS, nodes() * EACH_MS) };
  };
}
