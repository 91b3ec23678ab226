import { isUse, volumeKey } from "../../../common/storage/volume-identity.ts";
import { type Directory, volumesOf } from "../claims/attribution.ts";
import { identitiesOf } from "../volumes/use.ts";
import type { NodeView } from "./node-view.ts";

/**
 * By a PV's UID: since when it is staged on a node without being used there. Never too early: at the latest since the first report in
 * which this leader saw it. Milliseconds of the API server's wall clock.
 */
export type IdleStagings = ReadonlyMap<string, number>;

/** The node's idle stagings after a report; `known` are those before it. A volume without a known PV is left out until the next report. */
export function idleStagings(known: IdleStagings | undefined, view: NodeView, directory: Directory): IdleStagings {
  const { mountedVolumes, unmountRecords, scanEndedMs } = view;
  const used = new Set(mountedVolumes.filter(isUse).map(({ volume }) => volumeKey(volume)));
  const ends = Map.groupBy(unmountRecords.values(), ({ volume }) => volumeKey(volume));
  const stagings = new Map<string, number>();
  for (const { kind, volume: staged, beganByMs } of mountedVolumes) {
    if (kind !== "staging") continue;
    for (const { uid, key, csi } of volumesOf(staged, directory)) {
      const keys = identitiesOf(key, csi).map(volumeKey);
      if (keys.some((one) => used.has(one))) continue;
      // It may have been staged anew, or used and released, since the last report.
      const ended = keys.flatMap((one) => ends.get(one) ?? []).map(({ byMs }) => byMs);
      const sinceMs = Math.max(known?.get(uid) ?? scanEndedMs, beganByMs, ...ended);
      stagings.set(uid, Math.max(sinceMs, stagings.get(uid) ?? sinceMs));
    }
  }
  return stagings;
}
