import type { AgentGap, ClockSample, ScanSpan, UnmountRecord } from "../../common/storage/node-report.ts";
import { type MountedUse, type MountedVolume, volumeKey } from "../../common/storage/volume-identity.ts";
import { withClockSample } from "./clock-samples.ts";
import { type Coverage, coverageAfter } from "./coverage.ts";
import type { MountScan } from "./mounted-volumes.ts";

/** A mounted volume that is known to be there, with when it was seen. Stamps are milliseconds on the boot clock. */
export interface KnownMountedVolume {
  readonly mountedVolume: MountedVolume;
  /** `namespace/name` of its pod, once that was known. */
  readonly pod: string | undefined;
  /** Where it is mounted (one of several places, when it is), bytes as latin1. */
  readonly mountPoint: string;
  /** major:minor of what is mounted: equal for a staging mount and the pods' mounts that are made from it. */
  readonly device: string;
  /** What of it is mounted, a path in its file system, bytes as latin1. No journal has it: nothing until a scan showed it. */
  readonly root: string | undefined;
  /** End of the first scan that showed it: by then it was there. 0 where no scan of this boot has shown it, but one of an earlier boot. */
  readonly since: number;
  /** The last moment at which it was surely there: begin of a scan that showed it, or later when nothing changed since; 0 where that is not known. */
  readonly seenAt: number;
  /** True once a complete scan showed it: from then on a damaged scan no longer moves `seenAt`. */
  readonly proven: boolean;
  /** It is no longer in the mount table although its pod is not over. */
  readonly pendingUnmount: PendingUnmount | undefined;
  /** Since when nobody is known who could use it. */
  readonly leakedSince: number | undefined;
}

/** The end of a mounted volume whose pod is not over: it counts once the pod is, unless the mount returns or it turns out to be an anomaly. */
export interface PendingUnmount {
  /** End of the first complete scan that did not show it; of the first after a gap, in which it may have been back. */
  readonly by: number;
  /** The pod's resource version when it was first seen running without the mount: a later one that still says running makes it an anomaly. */
  readonly podVersion: string | undefined;
  /** The mount is gone while the pod runs on: its containers may still hold the volume, so only the pod's end counts. */
  readonly isAnomaly: boolean;
}

/** Everything an agent knows about its node. It is replaced, never changed. */
export interface NodeState {
  readonly bootId: string;
  /** Which of the boot's clocks the stamps are of: two of them part by minutes in a year. */
  readonly clock: string;
  /** The run of the agent that knows this. */
  readonly run: string;
  /** The journal was begun in this boot: no agent has run on this machine before it. False also where that is not known. */
  readonly isFirstBoot: boolean;
  readonly mountedVolumes: ReadonlyMap<string, KnownMountedVolume>;
  /** Ends of use that the aggregator has not yet said may be forgotten. */
  readonly unmountRecords: readonly UnmountRecord[];
  /** The last complete scan; undefined until there was one. */
  readonly scan: ScanSpan | undefined;
  /** What the pod watch had reached before that scan began. */
  readonly podsResourceVersion: string | undefined;
  /** What the aggregator had asked for last when that scan began; see `scanRequest` of a report. */
  readonly scanRequest?: string | undefined;
  /** When in this boot no agent watched, up to the last complete scan of this run; none before the first. */
  readonly agentGaps: readonly AgentGap[];
  /** Moments of this boot of which the wall time is known from below, oldest first. */
  readonly clockSamples: readonly ClockSample[];
  /** Whether the table has been watched since the last complete scan. */
  readonly coverage: Coverage;
  /** Rises with each change of mounted volumes or unmount records. */
  readonly generation: number;
}

/** A pod of this node, as the watch has it. */
export interface PodFacts {
  /** `namespace/name` */
  readonly name: string;
  readonly resourceVersion: string;
  /** Phase Running and not being deleted: nobody should unmount its volumes. */
  readonly isRunning: boolean;
  /** Phase Succeeded or Failed: it mounts nothing any more. */
  readonly isOver: boolean;
}

/** What is seen at one moment: a read, and what the pod watch had reached before it began. */
export interface NodeSnapshot {
  readonly scan: MountScan;
  /** In this span the kernel told of no change. */
  readonly unchanged?: { readonly from: number; readonly until: number } | undefined;
  readonly podsResourceVersion: string | undefined;
  /** What the aggregator had asked for last before the scan began. */
  readonly scanRequest?: string | undefined;
  /** The pods of this node by UID, as the watch had them before the scan began; nothing as long as they have not been listed. */
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

/** True for what no agent has seen in this boot: the reboot unmounted it and ended its containers. */
export function isOfEarlierBoot({ since }: Pick<KnownMountedVolume, "since">): boolean {
  return since === 0;
}

/** How many volumes the mount table shows: those that wait for the end of their pod it does not. */
export function shownMountedVolumes({ mountedVolumes }: NodeState): number {
  return [...mountedVolumes.values()].filter(({ pendingUnmount }) => pendingUnmount === undefined).length;
}

/** The state of a run that has read nothing yet. */
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

/** The state after a scan that failed: what came and went until the next complete one is not known. */
export function loseCoverage(state: NodeState): NodeState {
  return { ...state, coverage: coverageAfter(state.coverage, false) };
}

/** The state with what an answer told of the time: it was there at `clockSample.at`. */
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

/** The end of a use. The ID is the same whoever tells of it: a lost answer, a restart and another leader do not make two of one. */
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
