import type { Clock } from "../common/runtime/clock.ts";
import { NO_TURNS, takeTurn } from "./core/turns.ts";
import type { TurnedAway } from "./sources/report-server.ts";

export const NOT_LISTED: TurnedAway = { kind: "not-ready", why: "the cluster has not been listed yet" };
export const NOT_COUNTED: TurnedAway = { kind: "not-ready", why: "the pods that wait are being counted" };
export const NOT_DATED: TurnedAway = { kind: "not-ready", why: "the API server has not been heard of yet" };
export const NOT_LEADING: TurnedAway = { kind: "not-leading", why: "not the leader" };

/** Tells each of those that come while there is a reason to turn them away when it is to come again. */
export function createTurnAway(
  { monotonicMs }: Pick<Clock, "monotonicMs">,
  reason: () => TurnedAway | undefined,
): () => TurnedAway | undefined {
  let turns = NO_TURNS;
  return () => {
    const found = reason();
    if (found === undefined) return undefined;
    const taken = takeTurn(turns, monotonicMs());
    turns = taken.turns;
    return { ...found, waitMs: taken.waitMs };
  };
}
