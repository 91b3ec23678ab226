import { describe, expect, it } from "vitest";
import { FleetState } from "../../../../aggregator/nodes/fleet-state.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { mountedVolumeOf, NOON, reportWith, unmountRecordOf } from "../world.ts";

const receipt = { atMs: NOON, widthMs: 0, nodeBootId: "boot-1" };
const volume = { by: "name", name: "pv-1" } as const;

function newFleet() {
  const clock = createFakeClock();
  const fleet = new FleetState(clock);
  return { clock, fleet };
}

describe("FleetState", () => {
  it("knows how old the last scan is that was told, however late it was told; a stale report does not count", () => {
    const { clock, fleet } = newFleet();
    fleet.accept(reportWith({ sentAt: 1_001 + 7_000 }), receipt);
    clock.pass(60_000);
    fleet.accept(reportWith({ scan: { beganAt: 1, endedAt: 2 } }), receipt);

    clock.pass(30_000);

    expect([fleet.lastReportAgeMs("n1"), fleet.lastReadAgeMs("n1"), fleet.size]).toEqual([90_000, 97_000, 1]);
    expect(fleet.lastReadAgeMs("n2")).toBeUndefined();
  });

  it("knows how long ago a node's last report was accepted", () => {
    const { clock, fleet } = newFleet();
    fleet.accept(reportWith(), receipt);

    clock.pass(5_000);

    expect([fleet.lastReportAgeMs("n1"), fleet.lastReportAgeMs("n2"), fleet.nodes()]).toEqual([
      5_000,
      undefined,
      ["n1"],
    ]);
  });

  it("a report with news touches what was there and what is there, one without touches nothing", () => {
    const { fleet } = newFleet();
    const mounted = reportWith({ mountedVolumes: [mountedVolumeOf("pod-1")] });
    const released = reportWith({
      generation: 2,
      scan: { beganAt: 2_000, endedAt: 2_001 },
      unmountRecords: [unmountRecordOf("pod-1", { after: 1_000, by: 2_001 })],
    });

    const again = { ...mounted, sentAt: 1_500 };
    const changes = [mounted, again, released].map((report) =>
      fleet.accept(report, { ...receipt, atMs: NOON + report.sentAt - 1_001 }),
    );

    const touched = changes.map((change) => (change.kind === "accepted" ? change.touched.length : -1));
    expect(touched).toEqual([1, 0, 2]);
  });

  it.each([
    { name: "touches what is no longer there, and not what still is", news: {}, touched: ["pod-1"] },
    {
      name: "of another run of the agent touches everything",
      news: { instance: "run-2" },
      touched: ["pod-1", "pod-2"],
    },
  ])("a report with news $name", ({ news, touched }) => {
    const { fleet } = newFleet();
    fleet.accept(reportWith({ mountedVolumes: [mountedVolumeOf("pod-1"), mountedVolumeOf("pod-2")] }), receipt);
    const scan = { beganAt: 2_000, endedAt: 2_001 };

    const later = { ...receipt, atMs: NOON + 1_000 };
    const change = fleet.accept(
      reportWith({ generation: 2, scan, mountedVolumes: [mountedVolumeOf("pod-2")], ...news }),
      later,
    );

    // What is inferred of the mounted volume that is gone is an unmount record of its own.
    const pods = change.kind === "accepted" ? change.touched.map(({ podUid }) => podUid) : [];
    expect([...new Set(pods)].toSorted()).toEqual(touched);
  });

  it("a mounted volume that is now proven to have begun earlier is touched: it may belong to an earlier claim", () => {
    const { fleet } = newFleet();
    fleet.accept(reportWith({ mountedVolumes: [mountedVolumeOf("pod-1"), mountedVolumeOf("pod-2")] }), {
      ...receipt,
      atMs: NOON + 500,
    });
    const scan = { beganAt: 1_000, endedAt: 1_001 };

    const change = fleet.accept(
      reportWith({ generation: 2, scan, mountedVolumes: [mountedVolumeOf("pod-1"), mountedVolumeOf("pod-2")] }),
      receipt,
    );

    expect(change.kind === "accepted" && change.touched.map(({ podUid }) => podUid)).toEqual([
      "pod-1",
      "pod-2",
      "pod-1",
      "pod-2",
    ]);
  });

  it("views are found by volume as long as they have a mounted volume or an unmount record of it", () => {
    const { fleet } = newFleet();
    const found = () => fleet.viewsOf([volume]).map(({ node }) => node);

    fleet.accept(reportWith({ mountedVolumes: [mountedVolumeOf("pod-1")] }), receipt);
    const held = found();
    const unmountRecord = unmountRecordOf("pod-1", { after: 1_000, by: 2_001 });
    const scan = { beganAt: 2_000, endedAt: 2_001 };
    fleet.accept(reportWith({ generation: 2, scan, unmountRecords: [unmountRecord] }), receipt);
    const released = found();
    fleet.settle("n1", [unmountRecord.id]);

    expect([held, released, found()]).toEqual([["n1"], ["n1"], []]);
  });

  it("a node that is dropped is as if it had never reported", () => {
    const { fleet } = newFleet();
    fleet.accept(reportWith({ mountedVolumes: [mountedVolumeOf("pod-1")] }), receipt);

    fleet.drop("n1");

    expect([fleet.view("n1"), fleet.lastReportAgeMs("n1"), fleet.viewsOf([volume]), fleet.size]).toEqual([
      undefined,
      undefined,
      [],
      0,
    ]);
  });
});
