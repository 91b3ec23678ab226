import type { NodeState } from "../../agent/core/node-state.ts";
import { holdsOf, knownHold, nodeState, releaseOf } from "../fakes/node-states.ts";

/**
 * The state after so many steps: some holds and releases come and go with each, now and then thousands, so that a transaction takes turns
 * of the event loop. The generation tells which it is.
 */
export function numberedState(step: number): NodeState {
  const count = step % 10 === 9 ? 3_000 : 60;
  const holds = Array.from({ length: count }, (_, n) => knownHold(step + n, { since: 11 + (n % 3 === 0 ? step : 0) }));
  const releases = Array.from({ length: 5 }, (_, n) => releaseOf(step + n, 30 + step + n));
  return nodeState({ generation: step, holds: holdsOf(...holds), releases });
}
