import { isUseHold, volumeKey } from "../../common/storage/volume-identity.ts";
import { type Directory, volumesOf } from "./attribution.ts";
import type { NodeView } from "./fleet.ts";
import { identitiesOf } from "./volume-use.ts";

/**
 * By a PV's UID: since when it is staged on a node without being used there. Never too early: at the latest since the first
 * report that this run of the aggregator had of it. Milliseconds of the API server's wall clock.
 */
export type IdleStagings = ReadonlyMap<string, number>;

export const NO_STAGINGS: IdleStagings = new Map();

/** The node's idle stagings after a report. A volume that no PV is known for is left out until the next one. */
export function idleStagings(known: IdleStagings, view: NodeView, directory: Directory): IdleStagings {
  const used = new Set(view.holds.filter(isUseHold).map(({ volume }) => volumeKey(volume)));
  const ended = new Map<string, number>();
  for (const { volume, byMs } of view.releases.values()) {
    const key = volumeKey(volume);
    ended.set(key, Math.max(byMs, ended.get(key) ?? byMs));
  }

  const stagings = new Map<string, number>();
  for (const { volume, beganByMs } of view.holds.filter(({ kind }) => kind === "staging")) {
    for (const { key, uid, csi } of volumesOf(volume, directory)) {
      const names = identitiesOf(key, csi).map(volumeKey);
      if (names.some((name) => used.has(name))) continue;
      const ends = names.map((name) => ended.get(name)).filter((end) => end !== undefined);
      // It may have been staged anew, or used and released, since the last report.
      const sinceMs = Math.max(known.get(uid) ?? view.readEndedMs, beganByMs, ...ends);
      stagings.set(uid, Math.max(sinceMs, stagings.get(uid) ?? sinceMs));
    }
  }
  return stagings;
}
