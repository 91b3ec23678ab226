import { describe, expect, it } from "vitest";
import { FleetState } from "../../../aggregator/nodes/fleet-state.ts";
import type { NodeReport, UnmountRecord } from "../../../common/storage/node-report.ts";
import { createFakeClock } from "../../fakes/clock.ts";
import { NOON, reportWith, unmountRecordOf } from "./world.ts";

const MIB = 1024 * 1024;
const RECEIPT = { atMs: NOON, widthMs: 0, nodeBootId: "boot-1" };

/** The report of a round, with so many ends of use that no other round tells. */
function round(number: number, ends: number, volumeOf: (end: number) => string): NodeReport {
  const unmountRecords = Array.from({ length: ends }, (_, index): UnmountRecord => {
    const end = number * ends + index;
    const podUid = `3b1c1d9e-1c5b-4e7e-8f0a-${String(end).padStart(12, "0")}`;
    return { ...unmountRecordOf(podUid, { after: 10, by: 20 + number }), volume: { by: "name", name: volumeOf(end) } };
  });
  const scan = { beganAt: 1_000 + number, endedAt: 1_000 + number };
  return reportWith({ generation: number + 1, scan, observedSince: 500, unmountRecords });
}

function take(fleet: FleetState, reports: readonly NodeReport[]): readonly string[] {
  return reports.map((report) => fleet.accept(report, RECEIPT).kind);
}

describe("what is remembered of a node", () => {
  it("is bounded where each report tells thousands of new ends of new volumes: the node is refused, and others are not", () => {
    const fleet = new FleetState(createFakeClock());

    const kinds = take(
      fleet,
      Array.from({ length: 4 }, (_, number) => round(number, 3_000, (end) => `pvc-${end}`)),
    );
    const other = fleet.accept(reportWith({ node: "n2" }), RECEIPT);

    expect(new Set(kinds)).toEqual(new Set(["accepted", "too-much"]));
    expect(kinds.slice(0, 2)).toEqual(["accepted", "accepted"]);
    expect(fleet.bytes).toBeLessThan(3 * MIB);
    expect(other.kind).toBe("accepted");
  });

  it("is merged first: of a volume whose ends nobody tells any more the latest is enough, and no report is refused", () => {
    const fleet = new FleetState(createFakeClock());

    const kinds = take(
      fleet,
      Array.from({ length: 4 }, (_, number) => round(number, 3_000, () => "pv-1")),
    );

    expect(new Set(kinds)).toEqual(new Set(["accepted"]));
    expect(fleet.bytes).toBeLessThan(3 * MIB);
  });

  it("leaves room once what was told is settled", () => {
    const fleet = new FleetState(createFakeClock());
    const reports = Array.from({ length: 4 }, (_, number) => round(number, 3_000, (end) => `pvc-${end}`));
    const kinds = take(fleet, reports);

    fleet.settle("n1", [...(fleet.view("n1")?.unmountRecords.keys() ?? [])]);
    const later = fleet.accept(
      round(4, 3_000, (end) => `pvc-${end}`),
      RECEIPT,
    );

    expect([kinds.at(-1), later.kind]).toEqual(["too-much", "accepted"]);
  });

  it("is nothing once the node is dropped", () => {
    const fleet = new FleetState(createFakeClock());
    take(fleet, [round(0, 100, (end) => `pvc-${end}`)]);
    const before = fleet.bytes;

    fleet.drop("n1");

    expect([before > 0, fleet.bytes]).toEqual([true, 0]);
  });

  it("is bounded for all nodes together, and whoever has little is always taken", () => {
    const fleet = new FleetState(createFakeClock());
    const { unmountRecords, ...head } = round(0, 3_000, (end) => `pvc-${end}`);
    const long = unmountRecords.map((unmountRecord) => ({ ...unmountRecord, id: unmountRecord.id.padEnd(512, "x") }));

    const kinds = Array.from({ length: 60 }, (_, index) => {
      const report = { ...head, node: `n${index}`, unmountRecords: long };
      return fleet.accept(report, RECEIPT).kind;
    });
    const little = fleet.accept({ ...round(0, 500, (end) => `pvc-${end}`), node: "little" }, RECEIPT);

    expect([kinds.at(0), kinds.at(-1), little.kind]).toEqual(["accepted", "too-much", "accepted"]);
    expect(fleet.bytes).toBeLessThanOrEqual(129 * MIB);
  });
});
