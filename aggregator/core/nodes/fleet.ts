import type { NodeHeartbeat, NodeMessage, NodeReport } from "../../../common/storage/node-report.ts";
import { CENTURY_MS } from "../../../common/storage/timestamp.ts";
import { isUse, useKey, volumeKey } from "../../../common/storage/volume-identity.ts";
import type { NodeUnmountRecord, NodeView } from "./node-view.ts";
import { type ReportClock, reportClock } from "./report-clock.ts";

/** When a report came, by the API server's wall clock. */
export interface Receipt {
  /** The latest that the server's clock can have shown. */
  readonly atMs: number;
  /** By how much `atMs` may be too late. */
  readonly widthMs: number;
  /** The Node object's boot ID, if it is known. */
  readonly nodeBootId: string | undefined;
  /** The agent sent it after this leader had answered it. */
  readonly isOfSession?: boolean | undefined;
  /** The boot clock has gone back: the report counts although it looks older than the known one. */
  readonly isRolledBack?: boolean | undefined;
}

/** The previous view of a node, and how the stamps of its next report are read. */
interface Reading {
  readonly known: NodeView | undefined;
  readonly at: ReportClock;
  /** The clock of the stamps; see `NodeUnmountRecord.timeline`. */
  readonly timeline: number;
}

export type Acceptance =
  | { readonly kind: "accepted"; readonly view: NodeView }
  | { readonly kind: "stale"; readonly why: string }
  /** A heartbeat for a state that the aggregator does not know. */
  | { readonly kind: "unknown" };

/** Merges a report that may come late or twice into its node's view. In steps: a node may show thousands of mounts. */
export function* acceptInSteps(
  known: NodeView | undefined,
  report: NodeReport,
  receipt: Receipt,
): Generator<undefined, Acceptance> {
  const why = staleness(known, report, receipt);
  if (why !== undefined) return { kind: "stale", why };
  const at = reportClock(report, receipt);
  // Stamps of another boot, or from before the clock went back, cannot be compared with these.
  const sameClock = known?.bootId === report.bootId && receipt.isRolledBack !== true ? known : undefined;
  const timeline = sameClock?.timeline ?? (known === undefined ? 0 : known.timeline + 1);
  const timelineFrom = sameClock?.timelineFrom ?? report.sentAt;
  const mountedVolumes = report.mountedVolumes.map(({ kind, volume, podUid, pod, since, seenAt }) => {
    // All of one shape, made at once: a full node has thousands, and they are taken in one turn of the event loop.
    const seenMs = seenAt === undefined ? undefined : (at.least(seenAt) ?? Number.NEGATIVE_INFINITY);
    return { kind, volume, podUid, pod, since, seenMs };
  });
  yield;
  const unmountRecords = yield* unmountRecordsAfter(report, { known, at, timeline });
  const { node, bootId, instance, generation } = report;
  const state = { node, bootId, instance, generation, timeline, timelineFrom, mountedVolumes, unmountRecords };
  const forgottenByMs = receipt.isRolledBack === true ? receipt.atMs : known?.forgottenByMs;
  return { kind: "accepted", view: { ...state, forgottenByMs, ...observationOf(report, at) } };
}

/** Those in the report, those that follow from what it lacks, and earlier ones that are not settled. */
function* unmountRecordsAfter(
  report: NodeReport,
  reading: Reading,
): Generator<undefined, ReadonlyMap<string, NodeUnmountRecord>> {
  const { known, at, timeline } = reading;
  const { node } = report;
  const earlier: NodeView["unmountRecords"] = known?.unmountRecords ?? new Map();
  const reported = report.unmountRecords.map(({ id, volume, podUid, pod, after, by }): NodeUnmountRecord => {
    // One that is reported again keeps the time of its first report: both are at or after the truth.
    const first = earlier.get(id);
    if (first !== undefined) return first.isReported ? first : { ...first, isReported: true };
    const byMs = at.wall(by);
    const widthMs = widthFrom(after === undefined ? undefined : at.least(after), byMs);
    return { id, node, volume, podUid, pod, byMs, widthMs, by, timeline, isReported: true };
  });
  yield;
  const lost = inferred(report, reading);
  yield;
  // Only what the newest report contains is in the node's journal.
  const left = [...earlier.values()].map((one) => (one.isReported ? { ...one, isReported: false } : one));
  return new Map([...left, ...lost, ...reported].map((one) => [one.id, one]));
}

/** Rounded up with its time it is still less than a century: the stored form could not express more. */
const LONGEST_WIDTH_MS = CENTURY_MS - 2;

/** By how much an end that was not before `fromMs` may be earlier; undefined where that is practically unknown. */
function widthFrom(fromMs = Number.NEGATIVE_INFINITY, byMs: number): number | undefined {
  return byMs - fromMs < LONGEST_WIDTH_MS ? Math.max(0, byMs - fromMs) : undefined;
}

/** Uses that ended between two scans without a record: the agent that saw the mount was replaced meanwhile. */
function inferred(report: NodeReport, { known, at, timeline }: Reading): readonly NodeUnmountRecord[] {
  if (known === undefined) return [];
  const present = new Set(report.mountedVolumes.map(({ volume, podUid = "" }) => useKey({ volume, podUid })));
  const reported = new Set(report.unmountRecords.filter(({ id }) => !known.unmountRecords.has(id)).map(useKey));
  const by = report.scan.endedAt;
  // Two receipts may be dated a little apart: an end is never before the scan that still showed the mounted volume.
  const byMs = Math.max(at.wall(by), known.scanEndedMs);
  const lost = new Map(known.mountedVolumes.filter(isUse).map((use) => [useKey(use), use]));
  return [...lost]
    .filter(([key]) => !present.has(key) && !reported.has(key))
    .map(([, { volume, podUid, pod, seenMs }]) => ({
      id: `${report.bootId}/${Math.round(by * 1000)}/${podUid}/${volumeKey(volume)}`,
      node: report.node,
      ...{ volume, podUid, pod, byMs, by, timeline },
      // A mounted volume whose pod is not over stays for long after the last scan that showed it.
      widthMs: widthFrom(seenMs ?? known.scanFromMs, byMs),
      isReported: false,
    }));
}

/** A heartbeat: the known state, scanned again. Where it means another state, the whole report is needed. */
export function acceptHeartbeat(known: NodeView | undefined, heartbeat: NodeHeartbeat, receipt: Receipt): Acceptance {
  const { bootId, instance, generation } = heartbeat;
  const isKnown = known?.bootId === bootId && known.instance === instance && known.generation === generation;
  // After a rollback of its clock an agent that names a known state by number means another one.
  if (!isKnown || receipt.isRolledBack === true) return { kind: "unknown" };
  const why = staleness(known, heartbeat, receipt);
  if (why !== undefined) return { kind: "stale", why };
  const at = reportClock(heartbeat, receipt);
  return { kind: "accepted", view: { ...known, ...observationOf(heartbeat, at) } };
}

function observationOf(
  { scan, sentAt, agentGaps, podsResourceVersion, firstBoot, facts }: NodeMessage,
  at: ReportClock,
) {
  return {
    scanBeganMs: at.earliest(scan.beganAt),
    scanFromMs: at.least(scan.beganAt),
    scanEndedMs: at.wall(scan.endedAt),
    agentGaps: agentGaps.map(({ from, to }) => ({
      fromMs: from === undefined ? Number.NEGATIVE_INFINITY : at.earliest(from),
      toMs: at.wall(to),
      to,
    })),
    podsResourceVersion,
    scan,
    sentAt,
    bootedAfterMs: at.earliest(0),
    bootedByMs: at.wall(0),
    isFirstBoot: firstBoot ?? false,
    facts,
  };
}

function staleness(known: NodeView | undefined, report: NodeMessage, receipt: Receipt): string | undefined {
  // A late report of an old boot would end what is mounted now; where the Node object does not decide, the known boot stays.
  const presentBootId = receipt.nodeBootId ?? known?.bootId ?? report.bootId;
  if (report.bootId !== known?.bootId) {
    // It is newer than everything known of the node, whatever the Node object says: the watch of Nodes may lag.
    if (known === undefined && receipt.isOfSession === true) return undefined;
    return report.bootId === presentBootId ? undefined : "of another boot than the node's present one";
  }
  if (receipt.isRolledBack === true) return undefined;
  if (isOlder(known, report)) return "it is not newer than what is known already";
  // While an agent is replaced, two scan at once. Which saw the later moment is unknown: the next scan shows what has ended.
  const overlaps = report.instance !== known.instance && report.scan.beganAt < known.scan.endedAt;
  return overlaps ? "its read began before that of another agent ended, which is known already" : undefined;
}

/** The message, of the known boot, has nothing new: it is of an older scan, or of the same one and sent no later. */
function isOlder(known: NodeView, message: NodeMessage): boolean {
  const { scan, sentAt, instance, generation } = message;
  if (scan.endedAt !== known.scan.endedAt) return scan.endedAt < known.scan.endedAt;
  const isNewerState = instance === known.instance && generation > known.generation;
  // A second copy is no sign of life, and would date its content by the time that the copy took.
  return sentAt <= known.sentAt && !isNewerState;
}

/** No message comes so late: agents give up after 10 s, the report endpoint after 5 s idle or 30 s. Milliseconds. */
const LONGER_THAN_ANY_TRANSIT_MS = 120_000;

/**
 * An older message so long after the last cannot be late: the boot clock has gone back with a restored snapshot of the
 * machine. Without this no report would count until that clock catches up.
 */
export function isFromRolledBackClock(known: NodeView | undefined, message: NodeMessage, acceptedAgeMs = 0): boolean {
  if (known?.bootId !== message.bootId) return false;
  return acceptedAgeMs >= LONGER_THAN_ANY_TRANSIT_MS && isOlder(known, message);
}
