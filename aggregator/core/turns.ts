import { ASKS } from "./budget.ts";

/** By then an agent would say something anyway. Milliseconds. */
const LONGEST_MS = 30_000;

/** What has been promised to those that came too early: when the next turn is, on a monotonic clock. */
export interface Turns {
  readonly nextAtMs: number;
}

export const NO_TURNS: Turns = { nextAtMs: Number.NEGATIVE_INFINITY };

/**
 * In how many milliseconds a caller that came too early is to come again, 0 to 30,000. While nobody takes reports, thousands of agents
 * try again and again, which takes the time of whoever is to be ready soon. So each is given a turn behind the others: no more come in a
 * second than can be taken once it is.
 */
export function takeTurn({ nextAtMs }: Turns, nowMs: number): { readonly waitMs: number; readonly turns: Turns } {
  const atMs = Math.max(nowMs, Math.min(nextAtMs, nowMs + LONGEST_MS));
  return { waitMs: atMs - nowMs, turns: { nextAtMs: atMs + ASKS.refillMs } };
}
