import type { UnmountRecord } from "../../common/storage/node-report.ts";
import type { KnownMountedVolume, NodeState } from "./node-state.ts";

/** What has to be written so that the journal has the known state. */
export interface JournalChanges {
  readonly mountedVolumes: ReadonlyMap<string, KnownMountedVolume>;
  readonly unmountRecords: readonly UnmountRecord[];
  /** Keys of mounted volumes that are gone. */
  readonly droppedMountedVolumes: readonly string[];
  /** IDs of unmount records that are settled. */
  readonly droppedUnmountRecords: readonly string[];
  /** It has to survive a power loss before any of it is reported. The rest has no meaning in another boot. */
  readonly isLasting: boolean;
}

/** How often the stamp of the last complete scan is stored when nothing else has to be. Milliseconds. */
export const STAMP_EVERY_MS = 60_000;

/**
 * What of a state is not stored yet; undefined when it is not worth a write. When a mounted volume was last seen is not written by
 * itself: the last complete scan shows that for all mounted volumes, and an older stamp only makes an interval wider.
 */
export function changesSince(stored: NodeState | undefined, state: NodeState): JournalChanges | undefined {
  const changed = changedMountedVolumes(stored, state);
  const before = new Map(stored?.unmountRecords.map((unmountRecord) => [unmountRecord.id, unmountRecord]));
  const unmountRecords = state.unmountRecords.filter(
    (unmountRecord) => !isSameUnmountRecord(before.get(unmountRecord.id), unmountRecord),
  );
  for (const { id } of state.unmountRecords) before.delete(id);
  const droppedUnmountRecords = [...before.keys()];
  // The first write marks the machine as known: a new machine has no earlier uses to report.
  const isLasting = stored === undefined || unmountRecords.length > 0 || changed.isAnyNew;
  const count =
    changed.mountedVolumes.size +
    unmountRecords.length +
    changed.droppedMountedVolumes.length +
    droppedUnmountRecords.length;
  if (stored !== undefined && count === 0 && isSameHead(stored, state)) return undefined;
  const { mountedVolumes, droppedMountedVolumes } = changed;
  return { mountedVolumes, unmountRecords, droppedMountedVolumes, droppedUnmountRecords, isLasting };
}

/** Loops, as it runs at each scan, and a node may have ten thousand. */
function changedMountedVolumes(stored: NodeState | undefined, state: NodeState) {
  const mountedVolumes = new Map<string, KnownMountedVolume>();
  let isAnyNew = false;
  for (const [key, known] of state.mountedVolumes) {
    const before = stored?.mountedVolumes.get(key);
    if (isSameMountedVolume(before, known)) continue;
    mountedVolumes.set(key, known);
    isAnyNew ||= before === undefined;
  }
  const droppedMountedVolumes: string[] = [];
  for (const key of stored?.mountedVolumes.keys() ?? [])
    if (!state.mountedVolumes.has(key)) droppedMountedVolumes.push(key);
  return { mountedVolumes, droppedMountedVolumes, isAnyNew };
}

function isSameMountedVolume(stored: KnownMountedVolume | undefined, known: KnownMountedVolume): boolean {
  if (stored === undefined) return false;
  return (
    stored.pod === known.pod &&
    stored.mountPoint === known.mountPoint &&
    stored.device === known.device &&
    stored.since === known.since &&
    stored.proven === known.proven &&
    stored.leakedSince === known.leakedSince &&
    stored.pendingUnmount?.by === known.pendingUnmount?.by &&
    stored.pendingUnmount?.podVersion === known.pendingUnmount?.podVersion &&
    stored.pendingUnmount?.isAnomaly === known.pendingUnmount?.isAnomaly
  );
}

function isSameUnmountRecord(stored: UnmountRecord | undefined, unmountRecord: UnmountRecord): boolean {
  return stored !== undefined && stored.by === unmountRecord.by && stored.after === unmountRecord.after;
}

function isSameHead(stored: NodeState, state: NodeState): boolean {
  const last = stored.agentGaps.at(-1);
  const isSameCoverage = stored.agentGaps.length === state.agentGaps.length && last?.to === state.agentGaps.at(-1)?.to;
  const isFresh = (state.scan?.endedAt ?? 0) - (stored.scan?.endedAt ?? 0) < STAMP_EVERY_MS;
  const isSameRun = stored.bootId === state.bootId && stored.clock === state.clock && stored.run === state.run;
  return isSameRun && isSameCoverage && isFresh;
}
