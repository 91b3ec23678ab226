import type { Random } from "../../common/runtime/random.ts";
import type { TurnedAway } from "../sources/report-server.ts";

export const NOT_LISTED: TurnedAway = { kind: "not-ready", why: "the cluster has not been listed yet" };
export const NOT_COUNTED: TurnedAway = { kind: "not-ready", why: "the pods that wait are being counted" };
export const NOT_DATED: TurnedAway = { kind: "not-ready", why: "the API server has not answered yet" };
export const NOT_LEADING: TurnedAway = { kind: "not-leading", why: "not the leader" };

/** One whole report is 20 kB: the aggregator takes one each so many milliseconds. */
const EACH_MS = 5;
/** After this time an agent sends a message anyway. Milliseconds. */
const LONGEST_MS = 30_000;

interface TurnAwayParts {
  readonly random: Random;
  /** How many nodes the cluster has. */
  readonly nodes: () => number;
}

/**
 * Gives each agent that is turned away a random time to come again, within the time in which all reports can be taken. Otherwise
 * thousands of agents would retry at once and delay the aggregator that they wait for.
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
