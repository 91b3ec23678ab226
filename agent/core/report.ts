import type { NodeFacts } from "../../common/storage/node-facts.ts";
import {
  MAX_REPORT_BYTES,
  MAX_REPORT_ENTRIES,
  MAX_REPORT_UNMOUNT_RECORDS,
  type NodeHeartbeat,
  type NodeReport,
  REPORT_VERSION,
  type ScanSpan,
  type UnmountRecord,
} from "../../common/storage/node-report.ts";
import type { KnownMountedVolume, NodeState } from "./node-state.ts";

/** The sender: the node, the agent's pod, and this run of it. */
export interface ReporterIdentity {
  readonly node: string;
  readonly podUid: string;
  readonly instance: string;
  /** Bound of the boot clock's drift. */
  readonly driftPpm: number;
  /** The leader session in the last answer; empty before the first. */
  readonly session: string;
  /** Facts about the node, once they are known. */
  readonly facts?: NodeFacts | undefined;
}

/** The report of a state; undefined before a complete scan: an agent that sees no mounts has nothing to report. */
export function reportOf(identity: ReporterIdentity, state: NodeState, sentAt: number): NodeReport | undefined {
  const { scan, agentGaps, clockSamples, coverage, podsResourceVersion, scanRequest } = state;
  const observedSince = agentGaps.at(-1)?.to;
  if (scan === undefined || observedSince === undefined || coverage === "none") return undefined;
  const report: NodeReport = {
    version: REPORT_VERSION,
    ...identity,
    bootId: state.bootId,
    generation: state.generation,
    sentAt,
    scan,
    observedSince,
    agentGaps: [...agentGaps],
    ...(state.isFirstBoot ? { firstBoot: true } : {}),
    ...(podsResourceVersion === undefined ? {} : { podsResourceVersion }),
    ...(scanRequest === undefined ? {} : { scanRequest }),
    ...(clockSamples.length === 0 ? {} : { clockSamples: [...clockSamples] }),
    mountedVolumes: [...state.mountedVolumes.values()].map((known) => reportedMountedVolume(known, scan)),
    unmountRecords: [],
  };
  return { ...report, unmountRecords: newest(state.unmountRecords, freeSpaceIn(report)) };
}

function reportedMountedVolume(
  { mountedVolume, pod, since, seenAt, pendingUnmount }: KnownMountedVolume,
  { beganAt }: ScanSpan,
): NodeReport["mountedVolumes"][number] {
  // The scan has not shown what was merged from another agent either.
  const isShown = pendingUnmount === undefined && seenAt >= beganAt;
  const { kind, volume, podUid } = mountedVolume;
  return {
    kind,
    volume,
    ...(podUid === undefined ? {} : { podUid }),
    ...(pod === undefined ? {} : { pod }),
    since,
    ...(isShown ? {} : { seenAt }),
  };
}

/** Why the state cannot be reported: half of it would say that the other half is unmounted. */
export function reportProblem({ mountedVolumes }: NodeState): string | undefined {
  if (mountedVolumes.size <= MAX_REPORT_ENTRIES) return undefined;
  return `${mountedVolumes.size} mounted volumes, and a report takes ${MAX_REPORT_ENTRIES}: nothing is reported, the node becomes Stale`;
}

/** The same without the state. */
export function heartbeatOf({ mountedVolumes: _, unmountRecords: __, ...head }: NodeReport): NodeHeartbeat {
  return head;
}

interface FreeSpace {
  readonly entries: number;
  readonly bytes: number;
}

/** The size that is left beside the mounted volumes, which have to be complete. Names and UIDs are ASCII: a character is a byte. */
function freeSpaceIn(report: NodeReport): FreeSpace {
  const entries = Math.min(MAX_REPORT_UNMOUNT_RECORDS, MAX_REPORT_ENTRIES - report.mountedVolumes.length);
  return { entries, bytes: MAX_REPORT_BYTES - JSON.stringify(report).length };
}

/**
 * The newest unmount records for which there is room. They accumulate while the aggregator is away, and it would refuse a report that is
 * too large for ever. The others follow when these have been settled; of one volume the newest end counts.
 */
function newest(unmountRecords: readonly UnmountRecord[], { entries, bytes }: FreeSpace): UnmountRecord[] {
  let bytesLeft = bytes;
  let first = unmountRecords.length;
  for (; first > 0 && unmountRecords.length - first < entries; first -= 1) {
    bytesLeft -= JSON.stringify(unmountRecords[first - 1]).length + 1;
    if (bytesLeft < 0) break;
  }
  return unmountRecords.slice(first);
}
