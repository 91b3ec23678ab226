import type { Release } from "../../common/storage/node-report.ts";
import type { KnownHold, NodeState } from "./node-state.ts";

/** What has to be written so that a journal says what is known. */
export interface JournalChanges {
  readonly holds: ReadonlyMap<string, KnownHold>;
  readonly releases: readonly Release[];
  /** Keys of holds that are gone. */
  readonly droppedHolds: readonly string[];
  /** IDs of releases that are settled. */
  readonly droppedReleases: readonly string[];
  /** It must outlive a loss of power, before anything of it is told. The rest has no meaning in another boot. */
  readonly isLasting: boolean;
}

/** The stamp of the last complete read is stored this often when nothing else is to be. Milliseconds. */
export const STAMP_EVERY_MS = 60_000;

/**
 * What of a state is not stored yet, or nothing when it is not worth a write. When a hold was last seen is not written by itself: the last
 * complete read tells that of all holds, and an older stamp only makes an interval wider.
 */
export function changesSince(stored: NodeState | undefined, state: NodeState): JournalChanges | undefined {
  const changed = changedHolds(stored, state);
  const before = new Map(stored?.releases.map((release) => [release.id, release]));
  const releases = state.releases.filter((release) => !isSameRelease(before.get(release.id), release));
  for (const { id } of state.releases) before.delete(id);
  const droppedReleases = [...before.keys()];
  // The first of all says that the machine is known: a new one is not asked for what it did before.
  const isLasting = stored === undefined || releases.length > 0 || changed.isAnyNew;
  const count = changed.holds.size + releases.length + changed.droppedHolds.length + droppedReleases.length;
  if (stored !== undefined && count === 0 && isSameHead(stored, state)) return undefined;
  const { holds, droppedHolds } = changed;
  return { holds, releases, droppedHolds, droppedReleases, isLasting };
}

/** Loops, for it is done at each look, and a node may have ten thousand. */
function changedHolds(stored: NodeState | undefined, state: NodeState) {
  const holds = new Map<string, KnownHold>();
  let isAnyNew = false;
  for (const [key, known] of state.holds) {
    const before = stored?.holds.get(key);
    if (isSameHold(before, known)) continue;
    holds.set(key, known);
    isAnyNew ||= before === undefined;
  }
  const droppedHolds: string[] = [];
  for (const key of stored?.holds.keys() ?? []) if (!state.holds.has(key)) droppedHolds.push(key);
  return { holds, droppedHolds, isAnyNew };
}

function isSameHold(stored: KnownHold | undefined, known: KnownHold): boolean {
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

function isSameRelease(stored: Release | undefined, release: Release): boolean {
  return stored !== undefined && stored.by === release.by && stored.after === release.after;
}

function isSameHead(stored: NodeState, state: NodeState): boolean {
  const last = stored.blind.at(-1);
  const isSameSight = stored.blind.length === state.blind.length && last?.to === state.blind.at(-1)?.to;
  const isFresh = (state.read?.endedAt ?? 0) - (stored.read?.endedAt ?? 0) < STAMP_EVERY_MS;
  const isSameRun = stored.bootId === state.bootId && stored.clock === state.clock && stored.run === state.run;
  return isSameRun && isSameSight && isFresh;
}
