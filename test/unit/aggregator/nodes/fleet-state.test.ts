import { describe, expect, it } from "vitest";
import { FleetState } from "../../../../aggregator/nodes/fleet-state.ts";
import type { NodeReport } from "../../../../common/storage/node-report.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { mountedVolumeOf, NOON, reportWith, unmountRecordOf } from "../world.ts";

const MIB = 1024 * 1024;
const receipt = { atMs: NOON, widthMs: 0, nodeBootId: "boot-1" };

describe("the last report of a node", () => {
  const gone = { mountedVolumes: [mountedVolumeOf("pod-2")] };
  /** `lateMs`: how long after the first report. */
  it.each<
    readonly [name: string, news: Partial<NodeReport>, readAt: number, lateMs: number, touched: readonly string[]]
  >([
    ["nothing when it is sent again", { generation: 1, sentAt: 1_500 }, 1_000, 1_000, []],
    ["what is no longer there, and not what still is", gone, 2_000, 1_000, ["pod-1"]],
    ["everything when its agent runs anew", { instance: "run-2" }, 2_000, 1_000, ["pod-1", "pod-2"]],
    ["what is proven to have begun earlier: it may be an earlier claim's", {}, 1_000, -500, ["pod-1", "pod-2"]],
  ])("touches %s", (...[, news, readAt, lateMs, touched]) => {
    const fleet = new FleetState(createFakeClock());
    const both = { mountedVolumes: [mountedVolumeOf("pod-1"), mountedVolumeOf("pod-2")] };
    fleet.accept(reportWith(both), receipt);
    const scan = { beganAt: readAt, endedAt: readAt + 1 };

    const change = fleet.accept(reportWith({ generation: 2, scan, ...both, ...news }), {
      ...receipt,
      atMs: NOON + lateMs,
    });

    // What is inferred of a mounted volume that is gone is an unmount record of its own.
    const pods = change.kind === "accepted" ? change.touched.map(({ podUid }) => podUid) : [];
    expect([...new Set(pods)].toSorted()).toEqual(touched);
  });
});

/** A report of 3,000 ends of use that no other round tells. */
function round(number: number, volumeOf: (end: number) => string = (end) => `pvc-${end}`, ends = 3_000): NodeReport {
  const unmountRecords = Array.from({ length: ends }, (_, index) => {
    const end = number * ends + index;
    const podUid = `3b1c1d9e-1c5b-4e7e-8f0a-${String(end).padStart(12, "0")}`;
    const name = volumeOf(end);
    return { ...unmountRecordOf(podUid, { after: 10, by: 20 + number }), volume: { by: "name", name } as const };
  });
  const scan = { beganAt: 1_000 + number, endedAt: 1_000 + number };
  return reportWith({ generation: number + 1, scan, observedSince: 500, unmountRecords });
}

describe("the memory that a node takes", () => {
  it("has room for the latest end of each volume: no report is refused; nothing is left when the node is forgotten", () => {
    const fleet = new FleetState(createFakeClock());
    const report = (number: number): NodeReport => round(number, () => "pv-1");

    const kinds = [0, 1, 2, 3].map((number) => fleet.accept(report(number), receipt).kind);

    expect(new Set(kinds)).toEqual(new Set(["accepted"]));
    expect(fleet.bytes).toBeLessThan(3 * MIB);
    fleet.drop("n1");
    expect(fleet.bytes).toBe(0);
  });

  it("is bounded for all nodes together, and a node with little is always accepted", () => {
    const fleet = new FleetState(createFakeClock());
    const { unmountRecords, ...head } = round(0);
    const long = unmountRecords.map((unmountRecord) => ({ ...unmountRecord, id: unmountRecord.id.padEnd(512, "x") }));

    const kinds = Array.from(
      { length: 60 },
      (_, index) => fleet.accept({ ...head, node: `n${index}`, unmountRecords: long }, receipt).kind,
    );
    const little = fleet.accept({ ...round(0, undefined, 500), node: "little" }, receipt);

    expect([kinds.at(0), kinds.at(-1), little.kind]).toEqual(["accepted", "too-much", "accepted"]);
    expect(fleet.bytes).toBeLessThanOrEqual(129 * MIB);
  });
});
