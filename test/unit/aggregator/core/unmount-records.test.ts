import { describe, expect, it } from "vitest";
import { unmountRecordOf as agentsRecord } from "../../../../agent/core/node-state.ts";
import { isSettledFor } from "../../../../aggregator/core/claims/history.ts";
import type { NodeUnmountRecord } from "../../../../aggregator/core/nodes/node-view.ts";
import type { ClaimStatus } from "../../../../common/storage/claim-status.ts";
import {
  claimWith,
  mountedStatus,
  mountedVolumeOf,
  NOON,
  nodeUnmountRecord,
  statusWith,
  unmountRecordOf,
} from "../world.ts";
import { lastUseWith } from "./decisions.ts";
import { type SentReport, sent, viewAfter } from "./reported.ts";

const RUN_2 = { instance: "run-2" };
const record = unmountRecordOf("pod-1", { after: 1_500, by: 2_000 });
const { after: _, ...fromBefore } = unmountRecordOf("pod-1", { after: 0, by: 0 });
const withRecords = (...unmountRecords: (typeof record)[]) => ({ unmountRecords });
const sample = (at: number, beforeNoonMs: number) => ({ clockSamples: [{ at, ms: NOON - beforeNoonMs }] });
const shows = (...mountedVolumes: ReturnType<typeof mountedVolumeOf>[]) => ({ mountedVolumes });
const subpath = { ...mountedVolumeOf("pod-1"), kind: "subpath" } as const;
const kept = { ...mountedVolumeOf("pod-1"), seenAt: 1_200 };

const first = sent(2_000, withRecords(record));
const timed = withRecords(record);
const mounted = sent(2_000, { ...shows(mountedVolumeOf("pod-1")), ...sample(1_999, 1) });
const gone = sent(5_000, RUN_2);

type Row = readonly [name: string, reports: readonly SentReport[], ends: string];

function recordsAfter(reports: readonly SentReport[]): readonly NodeUnmountRecord[] {
  return [...viewAfter(...reports).unmountRecords.values()];
}

/** The ends that are known: by when, in milliseconds past noon, and how much earlier each may have been. */
function endsAfter(reports: readonly SentReport[]): string {
  const widthText = (ms: number | undefined) => ms?.toFixed(1).replace(".0", "") ?? "?";
  const records = recordsAfter(reports).map(({ byMs, widthMs }) => `${byMs - NOON} ± ${widthText(widthMs)}`);
  return records.join(", ") || "none";
}

describe("an unmount record that a node reports", () => {
  const drifting = { sentAt: 102_000, driftPpm: 1_000 };
  it.each<Row>(
    // biome-ignore format: a row is a line
    [
      ["may be dated as early as clock drift allows", [sent(2_000, { ...drifting, ...timed, ...sample(1_500, 100_500) }, { atMs: NOON })], "-99900 ± 700.6"],
      ["is dated at the start of the boot where it is older", [sent(2_000, withRecords(fromBefore))], "-2000 ± ?"],
      ["keeps its time when a faster report repeats it", [first, sent(2_001, timed, { atMs: NOON - 299 })], "0 ± ?"],
    ],
  )("%s", (_name, reports, ends) => {
    expect(endsAfter(reports)).toBe(ends);
  });
});

describe("a mounted volume that the next report does not show", () => {
  const known = {
    ...shows(mountedVolumeOf("pod-1")),
    ...withRecords(unmountRecordOf("pod-1", { after: 1_000, by: 1_500 })),
  };
  const stillReported = sent(3_000, { ...RUN_2, unmountRecords: known.unmountRecords });
  it.each<Row>(
    // biome-ignore format: a row is a line
    [
      ["ended between the two scans", [mounted, gone], "3000 ± 3001"],
      ["did not end before the scan that showed it, by an earlier receipt", [mounted, sent(2_010, RUN_2, { atMs: NOON - 500 })], "0 ± 1"],
      ["ended beside a record that was known before", [sent(2_000, known), stillReported], "-500 ± ?, 1000 ± ?"],
      ["gives no unmount record where it was only staged", [sent(2_000, shows(mountedVolumeOf(undefined))), sent(3_000)], "none"],
      ["has not ended while another mount of the same pod stays", [mounted, sent(3_000, shows(subpath))], "none"],
      ["ended after it was last seen, where its agent only kept it", [sent(2_000, { ...shows(kept), ...sample(1_200, 800) }), gone], "3000 ± 3800"],
      ["ended at an unknown time where nothing says when that was", [sent(2_000, { ...shows(kept), ...sample(1_999, 1) }), gone], "3000 ± ?"],
    ],
  )("%s", (_name, reports, ends) => {
    expect(endsAfter(reports)).toBe(ends);
  });

  it("has the ID that the agent would have given its record", () => {
    const use = { kind: "pod", volume: record.volume, podUid: "pod-1" } as const;
    const { id } = agentsRecord("boot-1", { use, pod: undefined, after: 1_999, by: 3_000.25 });

    expect([...viewAfter(mounted, sent(3_000.25, RUN_2)).unmountRecords.keys()]).toEqual([id]);
  });
});

describe("an unmount record", () => {
  it.each<readonly [name: string, reports: readonly SentReport[], isReported: readonly boolean[]]>([
    ["that is reported again is reported", [first, sent(3_000, timed)], [true]],
    ["that is reported again after a report without it is reported", [first, sent(3_000), sent(4_000, timed)], [true]],
    ["that is no longer reported is not reported", [first, sent(3_000)], [false]],
    ["that only the lack of a mounted volume shows is not reported", [mounted, gone], [false]],
  ])("%s", (_name, reports, isReported) => {
    expect(recordsAfter(reports).map((one) => one.isReported)).toEqual(isReported);
  });

  it("has a stamp of a later time after its node's clock was set back", () => {
    const next = sent(3_000, withRecords(unmountRecordOf("pod-2", { after: 1, by: 2 })), { isRolledBack: true });

    expect(recordsAfter([first, next]).map((one) => one.timeline)).toEqual([0, 1]);
  });
});

/** Another use of `n1` that is stored as the last one; a row's record ended at noon. */
const other = lastUseWith({ id: "other", byMs: NOON - 1 });
const usedAt = (byMs: number) => ({ lastUse: { ...other, byMs } });
const own = (byMs: number) => statusWith({ lastUse: { ...other, id: "record-1", byMs } });
const unused = (fields: Partial<ClaimStatus>) => statusWith({ unused: true, reason: "Unmounted", ...fields });
const goneWith = (node: string) => unused({ lastUse: { ...usedAt(NOON + 1).lastUse, evidence: "node-gone", node } });
const stillMounted = mountedStatus(["n1"]);
const later = { id: "record-2", byMs: NOON + 1 };
const unreported = { ...later, isReported: false };

interface Settlement {
  readonly name: string;
  readonly status?: ClaimStatus | undefined;
  readonly isDeleting?: boolean;
  readonly record?: Partial<NodeUnmountRecord>;
  readonly latest?: Partial<NodeUnmountRecord>;
  readonly nowMs?: number;
  readonly settled: boolean;
}

function isSettled({ status, isDeleting = false, record = {}, latest, nowMs = NOON }: Settlement): boolean {
  const settling = { latest: latest && nodeUnmountRecord(latest), nowMs };
  return isSettledFor(claimWith({ status, isDeleting }), nodeUnmountRecord(record), settling);
}

describe("isSettledFor", () => {
  it.each<Settlement>(
    // biome-ignore format: a row is a line
    [
      { name: "a claim without a status may get one from it", settled: false },
      { name: "it is stored as the last use", status: own(NOON - 1), settled: true },
      { name: "an earlier use is stored", status: unused({ lastUse: other }), settled: false },
      { name: "a later use is stored", status: unused(usedAt(NOON)), settled: true },
      { name: "a later use is stored, but not yet that this one has ended, too", status: statusWith(usedAt(NOON)), settled: false },
      { name: "a later use is stored that ends in the future: it is forged", status: unused(usedAt(NOON + 5_001)), settled: false },
      { name: "a later use is stored, and the claim is called unused since before it: that is forged", status: unused({ sinceMs: NOON - 1, ...usedAt(NOON) }), settled: false },
      { name: "a later use is stored, and our present time is a little behind it", status: unused(usedAt(NOON + 5_000)), settled: true },
      { name: "the stored status is unused since it or later, without a last use", status: unused({}), settled: false },
      { name: "the stored end was assumed with another node's a moment ago", status: goneWith("n2"), settled: false },
      { name: "the stored end was assumed with its own node's ten minutes ago", status: goneWith("n1"), nowMs: NOON + 600_001, settled: false },
      { name: "the stored end was assumed with another node's ten minutes ago", status: goneWith("n2"), nowMs: NOON + 600_001, settled: true },
      { name: "the stored status is Mounted", status: stillMounted, settled: false },
      { name: "its node reports a later one", status: stillMounted, latest: later, settled: true },
      { name: "its node reports a later record, with any status stored", latest: later, settled: true },
      { name: "another node reports a later one, and may go first", status: stillMounted, latest: { ...later, node: "n2" }, settled: false },
      { name: "no journal has the later one", status: stillMounted, latest: unreported, settled: false },
      { name: "no journal has it, nor the later one", status: stillMounted, record: { isReported: false }, latest: unreported, settled: false },
      { name: "no journal has it, but the later one", status: stillMounted, record: { isReported: false }, latest: later, settled: true },
      { name: "its node reports an earlier one", status: stillMounted, latest: { id: "record-0", byMs: NOON - 1 }, settled: false },
      { name: "the report of the later one took longer", status: stillMounted, latest: { ...later, byMs: NOON + 5_000, by: 999 }, settled: false },
      { name: "its node reports one of a later boot", status: stillMounted, latest: { id: "record-2", timeline: 1, by: 5 }, settled: true },
      { name: "its node reports one of an earlier boot", status: stillMounted, record: { timeline: 1 }, latest: { ...later, by: 9_000 }, settled: false },
      { name: "one is later by a clock that went back and caught up", status: stillMounted, latest: { id: "record-2", byMs: NOON - 1, by: 9_000 }, settled: false },
      { name: "of two at one time the second counts", status: stillMounted, latest: { id: "record-2" }, settled: true },
      { name: "a claim that is being deleted gets a status, too", isDeleting: true, settled: false },
      { name: "a claim that is being deleted and is in use goes by it", status: stillMounted, isDeleting: true, settled: false },
    ],
  )("$name: $settled", (row) => {
    expect(isSettled(row)).toBe(row.settled);
  });
});
