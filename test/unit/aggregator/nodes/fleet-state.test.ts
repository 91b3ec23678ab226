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

/** A fleet that was told of pods 1 and 2 at noon, and what a scan of a second later touches. */
function touchedBy(news: Partial<NodeReport>, { readAt = 2_000, atMs = NOON + 1_000, firstMs = NOON } = {}) {
  const { fleet } = newFleet();
  const both = { mountedVolumes: [mountedVolumeOf("pod-1"), mountedVolumeOf("pod-2")] };
  fleet.accept(reportWith(both), { ...receipt, atMs: firstMs });
  const scan = { beganAt: readAt, endedAt: readAt + 1 };
  const change = fleet.accept(reportWith({ generation: 2, scan, ...both, ...news }), { ...receipt, atMs });
  return change.kind === "accepted" ? change.touched.map(({ podUid }) => podUid) : [];
}

describe("FleetState", () => {
  it("knows how long ago a node reported, and how old the scan is that it told; a stale report does not count", () => {
    const { clock, fleet } = newFleet();
    fleet.accept(reportWith({ sentAt: 1_001 + 7_000 }), receipt);
    clock.pass(60_000);
    fleet.accept(reportWith({ scan: { beganAt: 1, endedAt: 2 } }), receipt);

    clock.pass(30_000);

    expect([fleet.lastReportAgeMs("n1"), fleet.lastReadAgeMs("n1"), fleet.nodes()]).toEqual([90_000, 97_000, ["n1"]]);
    expect([fleet.lastReportAgeMs("n2"), fleet.lastReadAgeMs("n2")]).toEqual([undefined, undefined]);
  });

  it.each([
    {
      name: "that is the same, sent again, nothing",
      news: { generation: 1, sentAt: 1_500 },
      at: { readAt: 1_000 },
      touched: [],
    },
    {
      name: "what is no longer there, and not what still is",
      news: { mountedVolumes: [mountedVolumeOf("pod-2")] },
      touched: ["pod-1"],
    },
    { name: "of another run of the agent everything", news: { instance: "run-2" }, touched: ["pod-1", "pod-2"] },
    {
      name: "what is proven to have begun earlier: it may belong to an earlier claim",
      news: {},
      at: { readAt: 1_000, atMs: NOON, firstMs: NOON + 500 },
      touched: ["pod-1", "pod-2"],
    },
  ])("a report touches $name", ({ news, at, touched }) => {
    // What is inferred of a mounted volume that is gone is an unmount record of its own.
    expect([...new Set(touchedBy(news, at))].toSorted()).toEqual(touched);
  });

  it("finds views by volume as long as they have a mounted volume or an unmount record of it", () => {
    const { fleet } = newFleet();
    const found = () => fleet.viewsOf([volume]).map(({ node }) => node);

    fleet.accept(reportWith({ mountedVolumes: [mountedVolumeOf("pod-1")] }), receipt);
    const held = found();
    const scan = { beganAt: 2_000, endedAt: 2_001 };
    fleet.accept(reportWith({ generation: 2, scan, unmountRecords: [ended] }), receipt);
    const released = found();
    fleet.settle("n1", [ended.id]);

    expect([held, released, found()]).toEqual([["n1"], ["n1"], []]);
  });

  it("knows nothing of a node that was dropped", () => {
    const { fleet } = newFleet();
    fleet.accept(reportWith({ mountedVolumes: [mountedVolumeOf("pod-1")], unmountRecords: [ended] }), receipt);
    const before = fleet.bytes;

    fleet.drop("n1");

    expect(before).toBeGreaterThan(0);
    expect([fleet.view("n1"), fleet.lastReportAgeMs("n1"), fleet.viewsOf([volume])]).toEqual([
      undefined,
      undefined,
      [],
    ]);
    expect([fleet.size, fleet.bytes]).toEqual([0, 0]);
  });
});

/** The report of a round, with 3,000 ends of use that no other round tells. */
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

describe("what is remembered of a node", () => {
  it("is bounded where each report tells thousands of new ends: it is refused until they are settled, and others are not", () => {
    const { fleet } = newFleet();

    const kinds = [0, 1, 2, 3].map((number) => fleet.accept(round(number), receipt).kind);
    const other = fleet.accept(reportWith({ node: "n2" }), receipt).kind;
    const { bytes } = fleet;
    fleet.settle("n1", [...(fleet.view("n1")?.unmountRecords.keys() ?? [])]);
    const later = fleet.accept(round(4), receipt).kind;

    expect([...kinds.slice(0, 2), kinds.at(-1)]).toEqual(["accepted", "accepted", "too-much"]);
    expect([other, later]).toEqual(["accepted", "accepted"]);
    expect(bytes).toBeLessThan(3 * MIB);
  });

  it("is merged first: of a volume whose ends nobody tells any more the latest is enough, and no report is refused", () => {
    const { fleet } = newFleet();

    const kinds = [0, 1, 2, 3].map(
      (number) =>
        fleet.accept(
          round(number, () => "pv-1"),
          receipt,
        ).kind,
    );

    expect(new Set(kinds)).toEqual(new Set(["accepted"]));
    expect(fleet.bytes).toBeLessThan(3 * MIB);
  });

  it("is bounded for all nodes together, and whoever has little is always taken", () => {
    const { fleet } = newFleet();
    const { unmountRecords, ...head } = round(0);
    const long = unmountRecords.map((unmountRecord) => ({ ...unmountRecord, id: unmountRecord.id.padEnd(512, "x") }));

    const kinds = Array.from({ length: 60 }, (_, index) => {
      const report = { ...head, node: `n${index}`, unmountRecords: long };
      return fleet.accept(report, receipt).kind;
    });
    const little = fleet.accept({ ...round(0, undefined, 500), node: "little" }, receipt);

    expect([kinds.at(0), kinds.at(-1), little.kind]).toEqual(["accepted", "too-much", "accepted"]);
    expect(fleet.bytes).toBeLessThanOrEqual(129 * MIB);
  });
});
