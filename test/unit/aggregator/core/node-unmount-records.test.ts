import { describe, expect, it } from "vitest";
import { unmountRecordOf as agentsRecord } from "../../../../agent/core/node-state.ts";
import { mountedVolumeOf, NOON, unmountRecordOf } from "../world.ts";
import { type Told, told, viewAfter } from "./reported.ts";

const BOOT_2 = { bootId: "boot-2" };
const RUN_2 = { instance: "run-2" };
const record = unmountRecordOf("pod-1", { after: 1_500, by: 2_000 });
const { after: _, ...fromBefore } = unmountRecordOf("pod-1", { after: 0, by: 0 });
const tells = (...unmountRecords: (typeof record)[]) => ({ unmountRecords });
const sample = (at: number, beforeNoonMs: number) => ({ clockSamples: [{ at, ms: NOON - beforeNoonMs }] });
const shows = (...mountedVolumes: ReturnType<typeof mountedVolumeOf>[]) => ({ mountedVolumes });
const subpath = { ...mountedVolumeOf("pod-1"), kind: "subpath" } as const;
const begun = (since: number) => ({ ...mountedVolumeOf("pod-1"), since });
const kept = { ...mountedVolumeOf("pod-1"), seenAt: 1_200 };

const first = told(2_000, tells(record));
const timed = tells(record);
const mounted = told(2_000, { ...shows(mountedVolumeOf("pod-1")), ...sample(1_999, 1) });
const gone = told(5_000, RUN_2);
const endAt3000 = tells(unmountRecordOf("pod-1", { after: 2_500, by: 3_000 }));

type Row = readonly [name: string, reports: readonly Told[], ends: string];

/** The ends that are known: by when, in milliseconds past noon, and how much earlier each may have been. */
function endsAfter(reports: readonly Told[]): string {
  const records = [...viewAfter(...reports).unmountRecords.values()];
  return (
    records.map(({ byMs, widthMs }) => `${byMs - NOON} ± ${widthMs?.toFixed(1).replace(".0", "") ?? "?"}`).join(", ") ||
    "none"
  );
}

describe("an unmount record that is told", () => {
  const drifting = { sentAt: 102_000, driftPpm: 1_000 };
  it.each<Row>(
    // biome-ignore format: a row is a line
    [
      ["is dated by its age, shortened by the drift", [told(2_000, { sentAt: 11_000, driftPpm: 100_000, ...timed }, { atMs: NOON })], "-8100 ± ?"],
      ["may have ended as early as the scan before", [told(2_000, { ...timed, ...sample(1_500, 500) })], "0 ± 500"],
      ["may by the width of its receipt", [told(2_000, { ...timed, ...sample(1_500, 500) }, { widthMs: 300 })], "0 ± 800"],
      ["may by the drift of its age", [told(2_000, { ...drifting, ...timed, ...sample(1_500, 100_500) }, { atMs: NOON })], "-99900 ± 700.6"],
      ["may by its report's way", [told(2_000, { ...timed, ...sample(1_500, 500) }, { atMs: NOON + 7_000 })], "7000 ± 7500"],
      ["may by any time where its agent had not been answered", [told(2_000, { ...timed, ...sample(1_501, 499) })], "0 ± ?"],
      ["is dated by the begin of the boot where it is from before", [told(2_000, tells(fromBefore))], "-2000 ± ?"],
      ["keeps the earlier of its times when it is told again, slower", [first, told(2_001, timed, { atMs: NOON + 701 })], "0 ± ?"],
      ["gets an earlier one when it is told again, faster", [first, told(2_001, timed, { atMs: NOON - 299 })], "-300 ± ?"],
      ["keeps its time with a width learnt later", [first, told(2_001, { ...timed, ...sample(1_500, 600) }, { atMs: NOON + 701 })], "0 ± 600"],
      ["stays until it is settled, though its agent does not tell it", [first, told(3_000, RUN_2)], "0 ± ?"],
    ],
  )("%s", (_name, reports, ends) => {
    expect(endsAfter(reports)).toBe(ends);
  });
});

describe("a mounted volume that the next report does not show", () => {
  const minuteLater = { atMs: NOON + 65_000 };
  const rebooted = told(5_000, BOOT_2, minuteLater);
  const ended = told(3_000, tells(unmountRecordOf("pod-1", { after: 1_999, by: 3_000 })));
  const known = { ...shows(mountedVolumeOf("pod-1")), ...tells(unmountRecordOf("pod-1", { after: 1_000, by: 1_500 })) };
  const stillTold = told(3_000, { ...RUN_2, unmountRecords: known.unmountRecords });
  it.each<Row>(
    // biome-ignore format: a row is a line
    [
      ["ended between the two scans", [mounted, gone], "3000 ± 3001"],
      ["ended by the first scan after a reboot", [mounted, rebooted], "65000 ± 65001"],
      ["goes on where the pod mounts again", [mounted, told(5_000, { ...BOOT_2, ...shows(mountedVolumeOf("pod-1")) }, minuteLater)], "none"],
      ["did not end before the scan that showed it, by an earlier receipt", [mounted, told(2_010, RUN_2, { atMs: NOON - 500 })], "0 ± 1"],
      ["ended once where a record tells it", [mounted, ended], "1000 ± ?"],
      ["ended beside a record that was known before", [told(2_000, known), stillTold], "-500 ± ?, 1000 ± ?"],
      ["ended for nobody where it was staged", [told(2_000, shows(mountedVolumeOf(undefined))), told(3_000)], "none"],
      ["ended where it is staged only", [mounted, told(3_000, shows(mountedVolumeOf(undefined)))], "1000 ± 1001"],
      ["has not ended where another hold of its use goes on", [mounted, told(3_000, shows(subpath))], "none"],
      ["ended after it was last seen, where its agent only kept it", [told(2_000, { ...shows(kept), ...sample(1_200, 800) }), gone], "3000 ± 3800"],
      ["ended nobody knows when, where that is not dated", [told(2_000, { ...shows(kept), ...sample(1_999, 1) }), gone], "3000 ± ?"],
    ],
  )("%s", (_name, reports, ends) => {
    expect(endsAfter(reports)).toBe(ends);
  });

  it("has the ID that the agent would have given its record", () => {
    const use = { kind: "pod", volume: record.volume, podUid: "pod-1" } as const;
    const { id } = agentsRecord("boot-1", { use, pod: undefined, after: 1_999, by: 3_000.25 });

    expect([...viewAfter(mounted, told(3_000.25, RUN_2)).unmountRecords.keys()]).toEqual([id]);
  });
});

describe("a use whose end is known began", () => {
  const both = told(2_000, shows(begun(700), { ...subpath, since: 500 }));
  const before = told(2_000, shows(begun(500)));
  const tellsEnd = told(3_000, endAt3000);
  const rebooted = told(3_000, { ...BOOT_2, ...endAt3000 }, { atMs: NOON + 60_000 });
  it.each<readonly [name: string, reports: readonly Told[], beganByMs: number]>(
    // biome-ignore format: a row is a line
    [
      ["with the first of its mounted volumes", [both, tellsEnd], -1_500],
      ["not with what its pod had in another boot", [before, rebooted], 60_000],
      ["by its end at the latest where no mounted volume was reported", [tellsEnd], 1_000],
      ["when it did, though it is told again", [before, tellsEnd, told(3_500, endAt3000, { atMs: NOON + 1_200 })], -1_500],
      ["when its mounted volume did that vanished", [before, gone], -1_500],
    ],
  )("%s", (_name, reports, beganByMs) => {
    expect([...viewAfter(...reports).unmountRecords.values()].map((one) => one.beganByMs - NOON)).toEqual([beganByMs]);
  });
});

describe("an unmount record", () => {
  const next = tells(unmountRecordOf("pod-2", { after: 1, by: 2 }));
  it.each<readonly [name: string, reports: readonly Told[], isReported: readonly boolean[]]>([
    ["of the newest report is in the node's journal", [first], [true]],
    ["that is told again is", [first, told(3_000, timed)], [true]],
    ["that is not told any more is not", [first, told(3_000)], [false]],
    ["that only the lack of a mounted volume shows is not", [mounted, gone], [false]],
  ])("%s", (_name, reports, isReported) => {
    expect([...viewAfter(...reports).unmountRecords.values()].map((one) => one.isReported)).toEqual(isReported);
  });

  it.each(
    // biome-ignore format: a row is a line
    [
      { name: "of the same timeline as long as the clock goes on", next: told(3_000, next), timelines: [0, 0] },
      { name: "of a later one after a boot", next: told(3_000, { ...next, ...BOOT_2 }), timelines: [0, 1] },
      { name: "of a later one after a clock set back", next: told(3_000, next, { isRolledBack: true }), timelines: [0, 1] },
    ],
  )("has stamps $name", ({ next: then, timelines }) => {
    expect([...viewAfter(first, then).unmountRecords.values()].map((one) => one.timeline)).toEqual(timelines);
  });
});
