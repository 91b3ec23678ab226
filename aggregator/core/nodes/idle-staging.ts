import { isUse, volumeKey } from "../../../common/storage/volume-identity.ts";
import { type Directory, volumesOf } from "../claims/attribution.ts";
import type { Volume } from "../cluster-objects.ts";
import { identitiesOf } from "../volumes/use.ts";
import type { NodeView } from "./node-view.ts";

/**
 * By a PV's UID: since when it is staged on a node without being used there. Never too early: at the latest since the first report in
 * which this leader saw it. Milliseconds of the API server's wall clock.
 */
export type IdleStagings = ReadonlyMap<string, number>;

/** The node's idle stagings after a report; `known` are those before it. A volume without a known PV is left out until the next report. */
export function idleStagings(known: IdleStagings | undefined, view: NodeView, directory: Directory): IdleStagings {
  const isUsed = usedIn(view);
  const lastEndOf = endsIn(view);
  const stagings = new Map<string, number>();
  for (const { kind, volume: staged, beganByMs } of view.mountedVolumes) {
    if (kind !== "staging") continue;
    for (const volume of volumesOf(staged, directory)) {
      if (isUsed(volume)) continue;
      const { uid } = volume;
      // It may have been staged anew, or used and released, since the last report.
      const sinceMs = Math.max(known?.get(uid) ?? view.scanEndedMs, beganByMs, lastEndOf(volume));
      stagings.set(uid, Math.max(sinceMs, stagings.get(uid) ?? sinceMs));
    }
  }
  return stagings;
}

/** Answers whether some pod of the node uses a volume. */
function usedIn({ mountedVolumes }: NodeView): (volume: Volume) => boolean {
  const used = new Set(mountedVolumes.filter(isUse).map(({ volume }) => volumeKey(volume)));
  return ({ key, csi }) => identitiesOf(key, csi).some((one) => used.has(volumeKey(one)));
}

/** Answers when the last use of a volume ended, by the node's report. */
function endsIn({ unmountRecords }: NodeView): (volume: Volume) => number {
  const ends = new Map<string, number>();
  for (const { volume, byMs } of unmountRecords.values()) {
    const key = volumeKey(volume);
    ends.set(key, Math.max(byMs, ends.get(key) ?? byMs));
  }
  return ({ key, csi }) =>
    Math.max(...identitiesOf(key, csi).map((one) => ends.get(volumeKey(one)) ?? Number.NEGATIVE_INFINITY));
}
