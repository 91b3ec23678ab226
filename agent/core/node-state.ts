import type { AgentGap, ClockSample, ScanSpan, UnmountRecord } from "../../common/storage/node-report.ts";
import { type MountedUse, type MountedVolume, volumeKey } from "../../common/storage/volume-identity.ts";
import { withClockSample } from "./clock-samples.ts";
import { type Coverage, coverageAfter } from "./coverage.ts";
import type { MountScan } from "./mounted-volumes.ts";

/** A known mounted volume, with when it was seen. Stamps are milliseconds on the boot clock. */
export interface KnownMountedVolume {
  readonly mountedVolume: MountedVolume;
  /** `namespace/name` of its pod, once that is known. */
  readonly pod: string | undefined;
  /** Where it is mounted (one of several places), bytes as latin1. */
  readonly mountPoint: string;
  /** major:minor of its device: equal for a staging mount and the pods' mounts that depend on it. */
  readonly device: string;
  /** Which folder of its file system is mounted, bytes as latin1. Not in the journal: undefined until a scan shows it. */
  readonly root: string | undefined;
  /** End of the first scan that showed it: it was mounted by then. 0 where only a scan of an earlier boot has shown it. */
  readonly since: number;
  /**
   * The last moment at which it was surely mounted: begin of a scan that showed it, or later when nothing has changed since; 0 where
   * that is unknown.
   */
  readonly seenAt: number;
  /** True once a complete scan showed it: from then on a damaged scan no longer moves `seenAt`. */
  readonly proven: boolean;
  /** It is no longer in the mount table although its pod is not over. */
  readonly pendingUnmount: PendingUnmount | undefined;
  /** Since when it has no known user. */
  readonly leakedSince: number | undefined;
}

/** The end of a mounted volume whose pod is not over: it counts once the pod is, unless the mount returns or turns out to be an anomaly. */
export interface PendingUnmount {
  /** End of the first complete scan without it; of the first after a gap, in which it may have been back. */
  readonly by: number;
  /** The pod's resource version when it was first seen running without the mount: a later version that still runs makes it an anomaly. */
  readonly podVersion: string | undefined;
  /** The mount is gone while the pod runs on: its containers may still have the volume open, so only the pod's end counts. */
  readonly isAnomaly: boolean;
}

/** Everything an agent knows about its node. It is replaced, never changed. */
export interface NodeState {
  readonly bootId: string;
  /** Which of the boot's clocks the stamps use: two of them differ by minutes in a year. */
  readonly clock: string;
  /** The run of the agent that has this state. */
  readonly run: string;
  /** The journal began in this boot: no agent has run on this machine before. False also where that is unknown. */
  readonly isFirstBoot: boolean;
  readonly mountedVolumes: ReadonlyMap<string, KnownMountedVolume>;
  /** Unmount records that the aggregator has not acknowledged yet. */
  readonly unmountRecords: readonly UnmountRecord[];
  /** The last complete scan; undefined until there was one. */
  readonly scan: ScanSpan | undefined;
  /** What the pod watch had reached before that scan began. */
  readonly podsResourceVersion: string | undefined;
  /** The aggregator's last scan request before that scan began; see `scanRequest` of a report. */
  readonly scanRequest?: string | undefined;
  /** When no agent watched in this boot, up to the last complete scan of this run; empty before the first. */
  readonly agentGaps: readonly AgentGap[];
  /** Moments of this boot with a lower bound of their wall time, oldest first. */
  readonly clockSamples: readonly ClockSample[];
  /** Whether the table has been watched since the last complete scan. */
  readonly coverage: Coverage;
  /** Grows with each change of mounted volumes or unmount records. */
  readonly generation: number;
}

/** A pod of this node, as the watch shows it. */
export interface PodFacts {
  /** `namespace/name` */
  readonly name: string;
  readonly resourceVersion: string;
  /** Phase Running and not being deleted: nothing should unmount its volumes. */
  readonly isRunning: boolean;
  /** Phase Succeeded or Failed: it mounts nothing any more. */
  readonly isOver: boolean;
}

/** One observation: a scan, and what the pod watch had reached before it began. */
export interface NodeSnapshot {
  readonly scan: MountScan;
  /** In this time the kernel reported no change. */
  readonly unchanged?: { readonly from: number; readonly until: number } | undefined;
  readonly podsResourceVersion: string | undefined;
  /** The aggregator's last scan request before the scan began. */
  readonly scanRequest?: string | undefined;
  /** The pods of this node by UID, as the watch showed them before the scan began; undefined before their first list. */
  readonly pods: ReadonlyMap<string, PodFacts> | undefined;
}

/** What a snapshot changed; the wiring logs and reports it. */
export type Decision =
  | { readonly kind: "mounted"; readonly mountedVolume: MountedVolume }
  | { readonly kind: "unmounted"; readonly mountedVolume: MountedVolume }
  | { readonly kind: "recorded"; readonly unmountRecord: UnmountRecord }
  | Anomaly;

/** A mounted volume went, or went and came back, while its pod ran on. */
export interface Anomaly {
  readonly kind: "anomaly";
  readonly mountedVolume: MountedVolume;
  /** `namespace/name` of the pod, where it is known. */
  readonly pod: string | undefined;
  readonly why: "unmounted-while-running" | "remounted-while-running";
}

/** True for a mount that no agent has seen in this boot: the reboot unmounted it and ended its containers. */
export function isOfEarlierBoot({ since }: Pick<KnownMountedVolume, "since">): boolean {
  return since === 0;
}

/** How many volumes the mount table shows, without those that wait for the end of their pod. */
export function shownMountedVolumes({ mountedVolumes }: NodeState): number {
  return [...mountedVolumes.values()].filter(({ pendingUnmount }) => pendingUnmount === undefined).length;
}

/** The state of a run that has not scanned yet. */
export function initialState(
  bootId: string,
  { run = "", clock = "" }: { readonly run?: string; readonly clock?: string } = {},
): NodeState {
  return {
    bootId,
    clock,
    run,
    isFirstBoot: false,
    mountedVolumes: new Map(),
    unmountRecords: [],
    scan: undefined,
    podsResourceVersion: undefined,
    agentGaps: [],
    clockSamples: [],
    coverage: "none",
    generation: 0,
  };
}

/** The state after a scan that failed: changes are unknown until the next complete one. */
export function loseCoverage(state: NodeState): NodeState {
  return { ...state, coverage: coverageAfter(state.coverage, false) };
}

/** The state with the clock sample of an answer that came at `clockSample.at`. */
export function dated(state: NodeState, clockSample: ClockSample): NodeState {
  return { ...state, clockSamples: withClockSample(state.clockSamples, clockSample) };
}

/** The state without the unmount records that can no longer change any status. */
export function forget(state: NodeState, unmountRecordIds: readonly string[]): NodeState {
  const ids = new Set(unmountRecordIds);
  const unmountRecords = state.unmountRecords.filter(({ id }) => !ids.has(id));
  if (unmountRecords.length === state.unmountRecords.length) return state;
  return { ...state, unmountRecords, generation: state.generation + 1 };
}

/** The end of a use. The ID is the same in every report of it: a lost answer, a restart and another leader do not make two of one. */
export function unmountRecordOf(
  bootId: string,
  end: {
    readonly use: MountedUse;
    readonly pod: string | undefined;
    readonly after: number | undefined;
    readonly by: number;
  },
): UnmountRecord {
  const { use, pod, after, by } = end;
  return {
    id: `${bootId}/${Math.round(by * 1000)}/${use.podUid}/${volumeKey(use.volume)}`,
    volume: use.volume,
    podUid: use.podUid,
    ...(pod === undefined ? {} : { pod }),
    ...(after === undefined ? {} : { after }),
    by,
  };
}
