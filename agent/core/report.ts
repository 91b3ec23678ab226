import type { NodeFacts } from "../../common/storage/node-facts.ts";
import {
  MAX_REPORT_BYTES,
  MAX_REPORT_ENTRIES,
  MAX_REPORT_RELEASES,
  type NodeHeartbeat,
  type NodeReport,
  REPORT_VERSION,
  type ReadSpan,
  type Release,
} from "../../common/storage/node-report.ts";
import type { KnownHold, NodeState } from "./node-state.ts";

/** Who reports: the node, the agent's pod, and this run of it. */
export interface ReporterIdentity {
  readonly node: string;
  readonly podUid: string;
  readonly instance: string;
  /** Bound of the boot clock's drift. */
  readonly driftPpm: number;
  /** The leader's session that the last answer named; empty before the first. */
  readonly session: string;
  /** What kind of node it is, once that is known. */
  readonly facts?: NodeFacts | undefined;
}

/** The report of a state, or nothing as long as no complete read stands behind it: a blind agent has nothing to say. */
export function reportOf(identity: ReporterIdentity, state: NodeState, sentAt: number): NodeReport | undefined {
  const { read, blind, marks, sight, podsResourceVersion, scanned } = state;
  const observedSince = blind.at(-1)?.to;
  if (read === undefined || observedSince === undefined || sight === "none") return undefined;
  const report: NodeReport = {
    version: REPORT_VERSION,
    ...identity,
    bootId: state.bootId,
    generation: state.generation,
    sentAt,
    read,
    observedSince,
    blind: [...blind],
    ...(state.isFirstBoot ? { firstBoot: true } : {}),
    ...(podsResourceVersion === undefined ? {} : { podsResourceVersion }),
    ...(scanned === undefined ? {} : { scanned }),
    ...(marks.length === 0 ? {} : { marks: [...marks] }),
    holds: [...state.holds.values()].map((known) => toldHold(known, read)),
    releases: [],
  };
  return { ...report, releases: newest(state.releases, roomIn(report)) };
}

function toldHold(
  { hold, pod, since, seenAt, pendingUnmount }: KnownHold,
  { beganAt }: ReadSpan,
): NodeReport["holds"][number] {
  // What was taken over from another agent the read has not shown either.
  const isShown = pendingUnmount === undefined && seenAt >= beganAt;
  const { kind, volume, podUid } = hold;
  return {
    kind,
    volume,
    ...(podUid === undefined ? {} : { podUid }),
    ...(pod === undefined ? {} : { pod }),
    since,
    ...(isShown ? {} : { seenAt }),
  };
}

/** Why the state cannot be reported, when it cannot: half of it would say that the other half is unmounted. */
export function reportProblem({ holds }: NodeState): string | undefined {
  if (holds.size <= MAX_REPORT_ENTRIES) return undefined;
  return `${holds.size} holds, and a report takes ${MAX_REPORT_ENTRIES}: nothing is reported, the node counts as silent`;
}

/** The same without the state. */
export function heartbeatOf({ holds: _, releases: __, ...head }: NodeReport): NodeHeartbeat {
  return head;
}

interface Room {
  readonly entries: number;
  readonly bytes: number;
}

/** What the aggregator takes beside the holds, which must be whole. Names and UIDs are ASCII: a character is a byte. */
function roomIn(report: NodeReport): Room {
  const entries = Math.min(MAX_REPORT_RELEASES, MAX_REPORT_ENTRIES - report.holds.length);
  return { entries, bytes: MAX_REPORT_BYTES - JSON.stringify(report).length };
}

/**
 * The newest releases that there is room for. They pile up while the aggregator is away, and a report that is too large would
 * be refused for ever; the others follow when these have been settled, and of one volume the newest end counts.
 */
function newest(releases: readonly Release[], { entries, bytes }: Room): Release[] {
  let room = bytes;
  let first = releases.length;
  for (; first > 0 && releases.length - first < entries; first -= 1) {
    room -= JSON.stringify(releases[first - 1]).length + 1;
    if (room < 0) break;
  }
  return releases.slice(first);
}
