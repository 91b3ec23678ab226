import type { NodeReport, Release } from "../../common/storage/node-report.ts";
import { isUseHold, useKey, volumeKey } from "../../common/storage/volume-identity.ts";
import type { NodeHold, NodeRelease, NodeView } from "./node-view.ts";
import type { ReportClock } from "./report-clock.ts";
import { widthOf } from "./use-end.ts";

/** How a report follows what is known of its node: on the same clock, in another boot, or on a clock that has gone back. */
export type Succession = "same-clock" | "other-boot" | "set-back";

/** A report, and what it is read in the light of. */
export interface Reading {
  readonly known: NodeView | undefined;
  readonly succession: Succession;
  readonly at: ReportClock;
  /** Of which clock the stamps are; see `NodeRelease.timeline`. */
  readonly timeline: number;
}

/** The releases that are known after a report: those it tells, those that it only shows by what it lacks, and those not settled yet. */
export function* releasesAfter(
  report: NodeReport,
  reading: Reading,
): Generator<undefined, ReadonlyMap<string, NodeRelease>> {
  const { known, succession } = reading;
  const begins = beginsIn(succession === "same-clock" ? (known?.holds ?? []) : []);
  const releases = new Map<string, NodeRelease>();
  // Only what is in the newest report is in the node's journal.
  for (const [id, release] of known?.releases ?? [])
    releases.set(id, release.isTold ? { ...release, isTold: false } : release);
  for (const release of report.releases) {
    add(releases, toNodeRelease(release, { node: report.node, begins, reading }));
  }
  yield;
  const lost = inferred(report, reading);
  yield;
  for (const release of lost) add(releases, release);
  return releases;
}

/** By when each use that the holds show had begun. */
function beginsIn(holds: readonly NodeHold[]): ReadonlyMap<string, number> {
  const begins = new Map<string, number>();
  for (const hold of holds.filter(isUseHold)) {
    const key = useKey(hold);
    begins.set(key, Math.min(hold.beganByMs, begins.get(key) ?? Number.POSITIVE_INFINITY));
  }
  return begins;
}

function toNodeRelease(
  { id, volume, podUid, pod, after, by }: Release,
  {
    node,
    begins,
    reading: { at, timeline },
  }: { readonly node: string; readonly begins: ReadonlyMap<string, number>; readonly reading: Reading },
): NodeRelease {
  const byMs = at.wall(by);
  const beganByMs = Math.min(byMs, begins.get(useKey({ volume, podUid })) ?? byMs);
  const widthMs = widthBetween(after === undefined ? undefined : at.least(after), byMs);
  return { id, node, volume, podUid, pod, beganByMs, byMs, widthMs, by, timeline, isTold: true };
}

/** By how much an end may be earlier that was not before `fromMs`; nothing where that is not known. */
function widthBetween(fromMs: number | undefined, byMs: number): number | undefined {
  return fromMs === undefined ? undefined : widthOf(byMs - fromMs);
}

/**
 * Ends that no release tells of: a hold that the last report showed and this one does not, without a release for it, belongs
 * to an agent that was replaced meanwhile. It ended between the two reads; in another boot, before that boot began.
 */
function inferred(report: NodeReport, { known, succession, at, timeline }: Reading): readonly NodeRelease[] {
  if (known === undefined) return [];
  const isOtherBoot = succession === "other-boot";
  const present = new Set(isOtherBoot ? [] : report.holds.flatMap((hold) => useKeyOf(hold)));
  const told = new Set(report.releases.filter(({ id }) => !known.releases.has(id)).map(useKey));
  const by = isOtherBoot ? 0 : report.read.endedAt;
  // Two receipts may be dated a little apart: an end is never before the read that still showed the hold.
  const byMs = Math.max(at.wall(by), known.readEndedMs);
  const lost = new Map(known.holds.filter(isUseHold).map((hold) => [useKey(hold), hold]));
  return [...lost]
    .filter(([key]) => !present.has(key) && !told.has(key))
    .map(([, { volume, podUid, pod, beganByMs, suspended }]) => ({
      id: `${report.bootId}/${Math.round(by * 1000)}/${podUid}/${volumeKey(volume)}`,
      node: report.node,
      ...{ volume, podUid, pod, beganByMs, byMs, by, timeline },
      // A hold whose pod is not over is kept for long after the last read that showed it.
      widthMs: widthBetween(suspended === undefined ? known.readFromMs : suspended.seenMs, byMs),
      isTold: false,
    }));
}

function useKeyOf({ kind, volume, podUid }: NodeReport["holds"][number]): readonly string[] {
  return isUseHold({ kind, volume, podUid }) && podUid !== undefined ? [useKey({ volume, podUid })] : [];
}

/** Of one release told twice the earlier time is as true as the later: both are at or after the truth. */
function add(releases: Map<string, NodeRelease>, release: NodeRelease): void {
  const known = releases.get(release.id);
  if (known === undefined) {
    releases.set(release.id, release);
    return;
  }
  const [{ byMs, widthMs, pod }, later] = release.byMs < known.byMs ? [release, known] : [known, release];
  const beganByMs = Math.min(release.beganByMs, known.beganByMs);
  const isTold = release.isTold || known.isTold;
  const told = { pod, byMs, widthMs: widthMs ?? widthBetween(fromOf(later), byMs), beganByMs, isTold };
  releases.set(release.id, { ...known, ...told });
}

function fromOf({ byMs, widthMs }: NodeRelease): number | undefined {
  return widthMs === undefined ? undefined : byMs - widthMs;
}
