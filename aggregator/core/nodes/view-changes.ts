import { volumeKey } from "../../../common/storage/volume-identity.ts";
import type { Fact } from "../claims/attribution.ts";
import type { NodeView } from "./node-view.ts";

/** All mounts and unmount records of a view. */
export function factsIn(view: NodeView | undefined): readonly Fact[] {
  return view === undefined ? [] : [...view.mountedVolumes, ...view.unmountRecords.values()];
}

/** A heartbeat leaves the state as it is. */
export function isSameState(known: NodeView, view: NodeView): boolean {
  return known.mountedVolumes === view.mountedVolumes && known.unmountRecords === view.unmountRecords;
}

/** What only one of two views shows: most of a node's mounted volumes are the same as in the previous report. */
export function changedFacts(known: NodeView, view: NodeView): readonly Fact[] {
  if (isSameState(known, view)) return [];
  const [before, after] = [mountedVolumesByText(known), mountedVolumesByText(view)];
  return [
    ...[...before].filter(([text]) => !after.has(text)).map(([, mountedVolume]) => mountedVolume),
    ...[...after].filter(([text]) => !before.has(text)).map(([, mountedVolume]) => mountedVolume),
    ...unmountRecordsWithout(known, view),
    ...unmountRecordsWithout(view, known),
  ];
}

/** Mounted volumes by every field that their claim and their effect depend on. */
function mountedVolumesByText({ mountedVolumes }: NodeView): ReadonlyMap<string, Fact> {
  return new Map(
    mountedVolumes.map((mountedVolume) => [
      `${mountedVolume.kind}/${mountedVolume.beganByMs}/${mountedVolume.podUid ?? ""}/${volumeKey(mountedVolume.volume)}`,
      mountedVolume,
    ]),
  );
}

/** Unmount records of one view that the other does not have with the same time. An ID identifies the pod and the volume. */
function unmountRecordsWithout({ unmountRecords }: NodeView, other: NodeView): readonly Fact[] {
  return [...unmountRecords.values()].filter(({ id, byMs }) => other.unmountRecords.get(id)?.byMs !== byMs);
}
