import type { NodeState } from "../../agent/core/node-state.ts";
import { knownMountedVolume, mountedVolumesOf, nodeState, unmountRecordOf } from "../fakes/node-states.ts";

/**
 * The state after so many steps: some mounted volumes and unmount records come and go with each, now and then thousands, so that a transaction takes turns
 * of the event loop. The generation shows which it is.
 */
export function numberedState(step: number): NodeState {
  const count = step % 10 === 9 ? 3_000 : 60;
  const mountedVolumes = Array.from({ length: count }, (_, n) =>
    knownMountedVolume(step + n, { since: 11 + (n % 3 === 0 ? step : 0) }),
  );
  const unmountRecords = Array.from({ length: 5 }, (_, n) => unmountRecordOf(step + n, 30 + step + n));
  return nodeState({ generation: step, mountedVolumes: mountedVolumesOf(...mountedVolumes), unmountRecords });
}
