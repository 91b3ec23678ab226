import type { NodeReport } from "../../../common/storage/node-report.ts";
import { CENTURY_MS } from "../../../common/storage/timestamp.ts";
import { isUse, useKey, volumeKey } from "../../../common/storage/volume-identity.ts";
import type { NodeUnmountRecord, NodeView } from "./node-view.ts";
import type { ReportClock } from "./report-clock.ts";

/** A report, and the previous view of its node. */
export interface Reading {
  readonly known: NodeView | undefined;
  readonly at: ReportClock;
  /** The clock of the stamps; see `NodeUnmountRecord.timeline`. */
  readonly timeline: number;
}

/** The unmount records after a report: those in it, those that follow from what it lacks, and earlier ones that are not settled. */
export function* unmountRecordsAfter(
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

/**
 * Ends without an unmount record: the last report showed a mounted volume, and this one has neither it nor a record. An agent that was
 * replaced meanwhile saw it. It ended between the two scans.
 */
function inferred(report: NodeReport, { known, at, timeline }: Reading): readonly NodeUnmountRecord[] {
  if (known === undefined) return [];
  const present = new Set(report.mountedVolumes.map(({ volume, podUid = "" }) => useKey({ volume, podUid })));
  const reported = new Set(report.unmountRecords.filter(({ id }) => !known.unmountRecords.has(id)).map(useKey));
  const by = report.scan.endedAt;
  // Two receipts may be dated a little apart: an end is never before the scan that still showed the mounted volume.
  const byMs = Math.max(at.wall(by), known.scanEndedMs);
  const lost = new Map(
    known.mountedVolumes.filter(isUse).map((mountedVolume) => [useKey(mountedVolume), mountedVolume]),
  );
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
