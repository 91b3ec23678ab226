import type { AgentGap, UnmountRecord } from "../../common/storage/node-report.ts";
import { isUse, useKey } from "../../common/storage/volume-identity.ts";
import { sharedClockSamples } from "./clock-samples.ts";
import { compactUnmountRecords } from "./compact.ts";
import { agentGapSince, withAgentGap } from "./coverage.ts";
import { initialState, isOfEarlierBoot, type KnownMountedVolume, type NodeState } from "./node-state.ts";

/** What a stored state means now. */
export interface InterpretedState {
  readonly past: NodeState;
  /** `same-boot`: all of it counts; otherwise its stamps do not: records ended by the begin of this boot (`other-boot`), or by now. */
  readonly kind: "same-boot" | "other-boot" | "other-clock" | "later-clock";
}

/**
 * What a journal's state means in this boot at `nowMs` of its clock. Stamps of another boot are on another clock: an end in it was
 * before the begin of this boot. Stamps ahead of the clock, as after a machine was put back to an earlier moment without its disk, or of
 * another clock of this boot, only mean: before now.
 */
export function interpretStored(stored: NodeState, { bootId, clock, nowMs }: Now): InterpretedState {
  const now = { bootId, clock };
  if (stored.bootId !== bootId) return { kind: "other-boot", past: undated(stored, now, 0) };
  if (stored.clock !== clock) return { kind: "other-clock", past: undated(stored, now, nowMs) };
  if (latestStamp(stored) > nowMs) return { kind: "later-clock", past: undated(stored, now, nowMs) };
  const { scan } = stored;
  // The last complete scan showed a proven mounted volume, and its stamp is stored more often than the volume's own.
  const mountedVolumes = [...stored.mountedVolumes].map(([key, known]): [string, KnownMountedVolume] => {
    const wasShown = known.proven && known.pendingUnmount === undefined;
    return [key, wasShown ? { ...known, seenAt: Math.max(known.seenAt, scan?.beganAt ?? 0) } : known];
  });
  return { kind: "same-boot", past: { ...stored, mountedVolumes: new Map(mountedVolumes) } };
}

/** When and where a journal is read. */
interface Now {
  readonly bootId: string;
  readonly clock: string;
  readonly nowMs: number;
}

/**
 * What a state means whose stamps are of another clock, `byMs` on this one: by then its records had ended and its mounts had begun. A
 * scan shows whether the mounts still exist; a missing one is a pending unmount like any other, as its pod may mount it again. A reboot
 * ends containers; in the same boot the containers of a mount that had gone while its pod ran may still have the volume open.
 */
function undated(stored: NodeState, { bootId, clock }: Omit<Now, "nowMs">, byMs: number): NodeState {
  const isSameBoot = stored.bootId === bootId;
  const mountedVolumes = [...stored.mountedVolumes].map(([key, known]): [string, KnownMountedVolume] => {
    const since = isOfEarlierBoot(known) ? 0 : byMs;
    const pendingUnmount = isSameBoot && known.pendingUnmount ? { ...known.pendingUnmount, by: byMs } : undefined;
    return [key, { ...known, since, seenAt: 0, proven: false, pendingUnmount, leakedSince: undefined }];
  });
  return {
    ...initialState(bootId, { run: stored.run, clock }),
    isFirstBoot: stored.isFirstBoot && isSameBoot,
    mountedVolumes: new Map(mountedVolumes),
    unmountRecords: stored.unmountRecords.map((unmountRecord) => datedAnew(unmountRecord, byMs)),
  };
}

/** The same unmount record, by its ID, with an end that is not earlier, and an unknown begin. */
function datedAnew({ after: _, ...unmountRecord }: UnmountRecord, by: number): UnmountRecord {
  return { ...unmountRecord, by };
}

function latestStamp({ mountedVolumes, unmountRecords, scan, agentGaps, clockSamples }: NodeState): number {
  let latest = Math.max(scan?.endedAt ?? 0, agentGaps.at(-1)?.to ?? 0, clockSamples.at(-1)?.at ?? 0);
  for (const { since, seenAt, pendingUnmount, leakedSince } of mountedVolumes.values())
    latest = Math.max(latest, since, seenAt, pendingUnmount?.by ?? 0, leakedSince ?? 0);
  for (const { by } of unmountRecords) latest = Math.max(latest, by);
  return latest;
}

/**
 * The state merged with that of an earlier run, or of another one at the same time. What the next complete scan does not show of it has
 * ended by then. What this run knows itself takes precedence.
 */
export function mergeStored(state: NodeState, past: NodeState): NodeState {
  const unmountRecords = new Map(
    [...past.unmountRecords, ...state.unmountRecords].map((unmountRecord) => [unmountRecord.id, unmountRecord]),
  );
  const left = state.coverage === "none" ? past.mountedVolumes : missedMountedVolumes(state, past);
  return {
    ...state,
    isFirstBoot: past.isFirstBoot,
    mountedVolumes: new Map([...left, ...state.mountedVolumes]),
    unmountRecords: compactUnmountRecords([...unmountRecords.values()]),
    clockSamples: sharedClockSamples(state.clockSamples, past.clockSamples),
    generation: Math.max(state.generation, past.generation) + 1,
    ...(state.coverage === "none"
      ? { scan: past.scan, agentGaps: past.agentGaps }
      : { agentGaps: sharedAgentGaps(state, past) }),
  };
}

/** Mounted volumes of the past that this run, which has scanned already, does not know. */
function missedMountedVolumes(state: NodeState, past: NodeState): ReadonlyMap<string, KnownMountedVolume> {
  const recordedBy = new Map(state.unmountRecords.map((unmountRecord) => [useKey(unmountRecord), unmountRecord.by]));
  const missed = [...past.mountedVolumes].filter(([, { mountedVolume, seenAt }]) => {
    return !isUse(mountedVolume) || (recordedBy.get(useKey(mountedVolume)) ?? -1) < seenAt;
  });
  const scannedAt = state.scan?.endedAt ?? 0;
  return new Map(
    missed.map(([key, known]) => {
      const { pendingUnmount } = known;
      // The volume may have been mounted again before this run began to watch: the last complete scan, without it, cannot show that.
      const again = pendingUnmount && { ...pendingUnmount, by: Math.max(pendingUnmount.by, scannedAt) };
      return [key, { ...known, proven: false, pendingUnmount: again }];
    }),
  );
}

/** Two runs at the same time see what either sees: the past counts up to the begin of this run's own coverage. */
function sharedAgentGaps(state: NodeState, past: NodeState): readonly AgentGap[] {
  const [first, ...own] = state.agentGaps;
  if (first === undefined || past.scan === undefined) return state.agentGaps;
  const before = past.agentGaps.flatMap((span): AgentGap[] => {
    if (span.from !== undefined && span.from >= first.to) return [];
    return [{ ...span, to: Math.min(span.to, first.to) }];
  });
  const between = past.scan.endedAt < first.to ? [{ from: agentGapSince(past), to: first.to }] : [];
  return [...between, ...own].reduce(withAgentGap, before);
}
