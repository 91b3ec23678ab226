import { describe, expect, it } from "vitest";
import type { Receipt } from "../../../../aggregator/core/nodes/fleet.ts";
import { type FleetChange, FleetState } from "../../../../aggregator/nodes/fleet-state.ts";
import { finish } from "../../../../common/runtime/steps.ts";
import type { NodeReport } from "../../../../common/storage/node-report.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { mountedVolumeOf, NOON, reportWith, unmountRecordOf } from "../world.ts";

const receipt = { atMs: NOON, widthMs: 0, nodeBootId: "boot-1" };

function accept(fleet: FleetState, report: NodeReport, at: Receipt = receipt): FleetChange {
  const change = finish(fleet.weigh(report, at));
  if (change.kind === "accepted") fleet.take(change.view);
  return change;
}

describe("the last report of a node", () => {
  const gone = { mountedVolumes: [mountedVolumeOf("pod-2")] };
  it.each<readonly [name: string, news: Partial<NodeReport>, readAt: number, touched: readonly string[]]>([
    ["nothing when it is sent again", { generation: 1, sentAt: 1_500 }, 1_000, []],
    ["what is no longer there, and not what still is", gone, 2_000, ["pod-1"]],
    ["everything when its agent runs anew", { instance: "run-2" }, 2_000, ["pod-1", "pod-2"]],
  ])("touches %s", (...[, news, readAt, touched]) => {
    const fleet = new FleetState(createFakeClock());
    const both = { mountedVolumes: [mountedVolumeOf("pod-1"), mountedVolumeOf("pod-2")] };
    accept(fleet, reportWith(both));
    const scan = { beganAt: readAt, endedAt: readAt + 1 };

    const later = { ...receipt, atMs: NOON + 1_000 };
    const change = accept(fleet, reportWith({ generation: 2, scan, ...both, ...news }), later);

    // What is inferred of a mounted volume that is gone is an unmount record of its own.
    const pods = change.kind === "accepted" ? change.touched.map(({ podUid }) => podUid) : [];
    expect([...new Set(pods)].toSorted()).toEqual(touched);
  });
});

it("what is known of a node loses the settled unmount records and keeps the others", () => {
  const fleet = new FleetState(createFakeClock());
  const unmountRecords = ["a", "b"].map((id) => ({ ...unmountRecordOf(id, { after: 10, by: 20 }), id }));
  accept(fleet, reportWith({ unmountRecords }));

  fleet.settle("n1", ["a", "unknown"]);

  expect([...(fleet.view("n1")?.unmountRecords.keys() ?? [])]).toEqual(["b"]);
});

it("shows nodes by name, whichever reported first", () => {
  const fleet = new FleetState(createFakeClock());
  for (const node of ["n2", "n1"]) accept(fleet, reportWith({ node, mountedVolumes: [mountedVolumeOf("pod-1")] }));

  expect(fleet.shownOf([{ by: "name", name: "pv-1" }], () => true).map(({ view }) => view.node)).toEqual(["n1", "n2"]);
});

describe("a report that looks older than the known one", () => {
  const at = (endedAt: number): NodeReport => reportWith({ scan: { beganAt: endedAt, endedAt }, sentAt: endedAt });

  it("counts two minutes after the last accepted one, whatever came between", () => {
    const clock = createFakeClock();
    const fleet = new FleetState(clock);
    accept(fleet, at(900_000));
    clock.pass(119_000);
    accept(fleet, at(901_000));

    const kinds = [60_000, 59_999, 1].map((ms) => {
      clock.pass(ms);
      return accept(fleet, at(2_000)).kind;
    });

    expect(kinds).toEqual(["stale", "stale", "accepted"]);
    expect(fleet.view("n1")?.timeline).toBe(1);
  });
});

describe("a node with more than its state may hold", () => {
  const round = (number: number): NodeReport => {
    const unmountRecords = Array.from({ length: 4_000 }, (_, at) =>
      unmountRecordOf(`pod-${number}-${at}`, { after: 10, by: 20 }),
    );
    const scan = { beganAt: 1_000 + number, endedAt: 1_000 + number };
    return reportWith({ generation: number + 1, scan, sentAt: 2_000 + number, unmountRecords });
  };

  it("is refused, keeps what was known of it, and counts again once records are settled", () => {
    const fleet = new FleetState(createFakeClock());
    const ids = (): readonly string[] => [...(fleet.view("n1")?.unmountRecords.keys() ?? [])];

    const kinds = [0, 1, 2, 3].map((number) => accept(fleet, round(number)).kind);

    expect([...kinds, ids().length]).toEqual(["accepted", "accepted", "accepted", "too-much", 12_000]);
    fleet.settle("n1", ids().slice(0, 4_000));
    expect(accept(fleet, round(3)).kind).toBe("accepted");
  });
});
