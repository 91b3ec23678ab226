import { describe, expect, it } from "vitest";
import { FleetState } from "../../../../aggregator/nodes/fleet-state.ts";
import type { NodeReport } from "../../../../common/storage/node-report.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { mountedVolumeOf, NOON, reportWith, unmountRecordOf } from "../world.ts";

const MIB = 1024 * 1024;
const receipt = { atMs: NOON, widthMs: 0, nodeBootId: "boot-1" };
const volume = { by: "name", name: "pv-1" } as const;
const ended = unmountRecordOf("pod-1", { after: 1_000, by: 2_001 });

function newFleet() {
  const clock = createFakeClock();
  return { clock, fleet: new FleetState(clock) };
}

describe("the last report of a node", () => {
  it("has an age, and so has the scan that it tells; a stale report does not count", () => {
    const { clock, fleet } = newFleet();
    fleet.accept(reportWith({ sentAt: 1_001 + 7_000 }), receipt);
    clock.pass(60_000);
    fleet.accept(reportWith({ scan: { beganAt: 1, endedAt: 2 } }), receipt);

    clock.pass(30_000);

    expect([fleet.lastReportAgeMs("n1"), fleet.lastReadAgeMs("n1"), fleet.nodes()]).toEqual([90_000, 97_000, ["n1"]]);
    expect([fleet.lastReportAgeMs("n2"), fleet.lastReadAgeMs("n2")]).toEqual([undefined, undefined]);
  });

  it.each([
    { name: "nothing when it is sent again", news: { generation: 1, sentAt: 1_500 }, readAt: 1_000, touched: [] },
    {
      name: "what is no longer there, and not what still is",
      news: { mountedVolumes: [mountedVolumeOf("pod-2")] },
      touched: ["pod-1"],
    },
    { name: "everything when its agent runs anew", news: { instance: "run-2" }, touched: ["pod-1", "pod-2"] },
    {
      name: "what is proven to have begun earlier: it may belong to an earlier claim",
      news: {},
      readAt: 1_000,
      atMs: NOON,
      firstMs: NOON + 500,
      touched: ["pod-1", "pod-2"],
    },
  ])("touches $name", ({ news, readAt = 2_000, atMs = NOON + 1_000, firstMs = NOON, touched }) => {
    const { fleet } = newFleet();
    const both = { mountedVolumes: [mountedVolumeOf("pod-1"), mountedVolumeOf("pod-2")] };
    fleet.accept(reportWith(both), { ...receipt, atMs: firstMs });
    const scan = { beganAt: readAt, endedAt: readAt + 1 };

    const change = fleet.accept(reportWith({ generation: 2, scan, ...both, ...news }), { ...receipt, atMs });

    // What is inferred of a mounted volume that is gone is an unmount record of its own.
    const pods = change.kind === "accepted" ? change.touched.map(({ podUid }) => podUid) : [];
    expect([...new Set(pods)].toSorted()).toEqual(touched);
  });

  it("is found by a volume while a mounted volume or an unmount record of it is there, and forgotten with its node", () => {
    const { fleet } = newFleet();
    const found: (readonly string[])[] = [];
    const look = (): unknown => found.push(fleet.viewsOf([volume]).map(({ node }) => node));
    const scan = { beganAt: 2_000, endedAt: 2_001 };

    fleet.accept(reportWith({ mountedVolumes: [mountedVolumeOf("pod-1")] }), receipt);
    look();
    fleet.accept(reportWith({ generation: 2, scan, unmountRecords: [ended] }), receipt);
    look();
    fleet.settle("n1", [ended.id]);
    look();
    fleet.accept(
      reportWith({ generation: 3, scan, mountedVolumes: [mountedVolumeOf("pod-2")], sentAt: 2_002 }),
      receipt,
    );
    look();
    const before = fleet.bytes;
    fleet.drop("n1");
    look();

    expect(found).toEqual([["n1"], ["n1"], [], ["n1"], []]);
    expect(before).toBeGreaterThan(0);
    expect([fleet.view("n1"), fleet.lastReportAgeMs("n1"), fleet.size, fleet.bytes]).toEqual([
      undefined,
      undefined,
      0,
      0,
    ]);
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
  it("is bounded: a report with thousands of new ends is refused until earlier ones are settled, and other nodes' are not", () => {
    const { fleet } = newFleet();

    const kinds = [0, 1, 2, 3].map((number) => fleet.accept(round(number), receipt).kind);
    const other = fleet.accept(reportWith({ node: "n2" }), receipt).kind;
    const { bytes } = fleet;
    fleet.settle("n1", [...(fleet.view("n1")?.unmountRecords.keys() ?? [])]);

    expect([...kinds.slice(0, 2), kinds.at(-1), other]).toEqual(["accepted", "accepted", "too-much", "accepted"]);
    expect(fleet.accept(round(4), receipt).kind).toBe("accepted");
    expect(bytes).toBeLessThan(3 * MIB);
  });

  it("has room for the latest end of each volume: no report is refused", () => {
    const { fleet } = newFleet();
    const report = (number: number): NodeReport => round(number, () => "pv-1");

    const kinds = [0, 1, 2, 3].map((number) => fleet.accept(report(number), receipt).kind);

    expect(new Set(kinds)).toEqual(new Set(["accepted"]));
    expect(fleet.bytes).toBeLessThan(3 * MIB);
  });

  it("is bounded for all nodes together, and a node with little is always accepted", () => {
    const { fleet } = newFleet();
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
