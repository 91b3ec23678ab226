import type { NodeReport, UnmountRecord } from "../../../common/storage/node-report.ts";
import { isUse, useKey, volumeKey } from "../../../common/storage/volume-identity.ts";
import { widthOf } from "../claims/use-end.ts";
import type { NodeMountedVolume, NodeUnmountRecord, NodeView } from "./node-view.ts";
import type { ReportClock } from "./report-clock.ts";

/** A report, and the previous view of its node. */
export interface Reading {
  readonly known: NodeView | undefined;
  /** The previous view, where its stamps can be compared with the report's. */
  readonly sameClock: NodeView | undefined;
  readonly at: ReportClock;
  /** The clock of the stamps; see `NodeUnmountRecord.timeline`. */
  readonly timeline: number;
}

/** The unmount records after a report: those in it, those that follow from what it lacks, and earlier ones that are not settled. */
export function* unmountRecordsAfter(
  report: NodeReport,
  reading: Reading,
): Generator<undefined, ReadonlyMap<string, NodeUnmountRecord>> {
  const { known, sameClock } = reading;
  const begins = beginsIn(sameClock?.mountedVolumes ?? []);
  const unmountRecords = new Map<string, NodeUnmountRecord>();
  // Only what the newest report contains is in the node's journal.
  for (const [id, unmountRecord] of known?.unmountRecords ?? [])
    unmountRecords.set(id, unmountRecord.isReported ? { ...unmountRecord, isReported: false } : unmountRecord);
  for (const unmountRecord of report.unmountRecords) {
    add(unmountRecords, toNodeUnmountRecord(unmountRecord, { node: report.node, begins, reading }));
  }
  yield;
  const lost = inferred(report, reading);
  yield;
  for (const unmountRecord of lost) add(unmountRecords, unmountRecord);
  return unmountRecords;
}

/** By when each use in the mounted volumes had begun. */
function beginsIn(mountedVolumes: readonly NodeMountedVolume[]): ReadonlyMap<string, number> {
  const begins = new Map<string, number>();
  for (const mountedVolume of mountedVolumes.filter(isUse)) {
    const key = useKey(mountedVolume);
    begins.set(key, Math.min(mountedVolume.beganByMs, begins.get(key) ?? Number.POSITIVE_INFINITY));
  }
  return begins;
}

function toNodeUnmountRecord(
  { id, volume, podUid, pod, after, by }: UnmountRecord,
  {
    node,
    begins,
    reading: { at, timeline },
  }: { readonly node: string; readonly begins: ReadonlyMap<string, number>; readonly reading: Reading },
): NodeUnmountRecord {
  const byMs = at.wall(by);
  const beganByMs = Math.min(byMs, begins.get(useKey({ volume, podUid })) ?? byMs);
  const widthMs = widthBetween(after === undefined ? undefined : at.least(after), byMs);
  return { id, node, volume, podUid, pod, beganByMs, byMs, widthMs, by, timeline, isReported: true };
}

/** By how much an end that was not before `fromMs` may be earlier; undefined where that is unknown. */
function widthBetween(fromMs: number | undefined, byMs: number): number | undefined {
  return fromMs === undefined ? undefined : widthOf(byMs - fromMs);
}

/**
 * Ends without an unmount record: the last report showed a mounted volume, and this one has neither it nor a record. An agent that was
 * replaced meanwhile saw it. It ended between the two scans.
 */
function inferred(report: NodeReport, { known, at, timeline }: Reading): readonly NodeUnmountRecord[] {
  if (known === undefined) return [];
  const present = new Set(report.mountedVolumes.flatMap((mountedVolume) => useKeyOf(mountedVolume)));
  const reported = new Set(report.unmountRecords.filter(({ id }) => !known.unmountRecords.has(id)).map(useKey));
  const by = report.scan.endedAt;
  // Two receipts may be dated a little apart: an end is never before the scan that still showed the mounted volume.
  const byMs = Math.max(at.wall(by), known.scanEndedMs);
  const lost = new Map(
    known.mountedVolumes.filter(isUse).map((mountedVolume) => [useKey(mountedVolume), mountedVolume]),
  );
  return [...lost]
    .filter(([key]) => !present.has(key) && !reported.has(key))
    .map(([, { volume, podUid, pod, beganByMs, suspended }]) => ({
      id: `${report.bootId}/${Math.round(by * 1000)}/${podUid}/${volumeKey(volume)}`,
      node: report.node,
      ...{ volume, podUid, pod, beganByMs, byMs, by, timeline },
      // A mounted volume whose pod is not over stays for long after the last scan that showed it.
      widthMs: widthBetween(suspended === undefined ? known.scanFromMs : suspended.seenMs, byMs),
      isReported: false,
    }));
}

function useKeyOf({ kind, volume, podUid }: NodeReport["mountedVolumes"][number]): readonly string[] {
  return isUse({ kind, volume, podUid }) && podUid !== undefined ? [useKey({ volume, podUid })] : [];
}

/** Of one unmount record in two reports the earlier time counts: both are at or after the truth. */
function add(unmountRecords: Map<string, NodeUnmountRecord>, unmountRecord: NodeUnmountRecord): void {
  const known = unmountRecords.get(unmountRecord.id);
  if (known === undefined) {
    unmountRecords.set(unmountRecord.id, unmountRecord);
    return;
  }
  const [{ byMs, widthMs, pod }, later] =
    unmountRecord.byMs < known.byMs ? [unmountRecord, known] : [known, unmountRecord];
  const beganByMs = Math.min(unmountRecord.beganByMs, known.beganByMs);
  const isReported = unmountRecord.isReported || known.isReported;
  const reported = { pod, byMs, widthMs: widthMs ?? widthBetween(fromOf(later), byMs), beganByMs, isReported };
  unmountRecords.set(unmountRecord.id, { ...known, ...reported });
}

function fromOf({ byMs, widthMs }: NodeUnmountRecord): number | undefined {
  return widthMs === undefined ? undefined : byMs - widthMs;
}
