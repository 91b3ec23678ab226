import { describe, expect, it } from "vitest";
import { unmountRecordOf as agentsRelease } from "../../../../agent/core/node-state.ts";
import { acceptReport, isOlder } from "../../../../aggregator/core/fleet.ts";
import type { NodeView } from "../../../../aggregator/core/node-view.ts";
import type { NodeReport } from "../../../../common/storage/node-report.ts";
import { mountedVolumeOf, NOON, reportWith, unmountRecordOf } from "../world.ts";

function readAt(endedAt: number): Pick<NodeReport, "scan" | "sentAt"> {
  return { scan: { beganAt: endedAt - 1, endedAt }, sentAt: endedAt };
}

/** The view after these reports, each received when it was sent. */
function viewAfter(...reports: readonly Partial<NodeReport>[]): NodeView {
  let view: NodeView | undefined;
  for (const fields of reports) {
    const report = reportWith(fields);
    const receipt = { atMs: NOON + report.sentAt, widthMs: 0, nodeBootId: report.bootId };
    const result = acceptReport(view, report, receipt);
    if (result.kind === "stale") throw new Error(result.why);
    view = result.view;
  }
  if (view === undefined) throw new Error("no report");
  return view;
}

const first = unmountRecordOf("pod-1", { after: 1_500, by: 2_000 });
const lost = { ...readAt(2_000), mountedVolumes: [mountedVolumeOf("pod-1")] };

describe("whether an unmount record is in the node's journal", () => {
  it.each<{
    readonly name: string;
    readonly reports: readonly Partial<NodeReport>[];
    readonly isTold: readonly boolean[];
  }>([
    {
      name: "one that the newest report tells is",
      reports: [{ ...readAt(2_000), unmountRecords: [first] }],
      isTold: [true],
    },
    {
      name: "one that is told again still is",
      reports: [
        { ...readAt(2_000), unmountRecords: [first] },
        { ...readAt(3_000), unmountRecords: [first] },
      ],
      isTold: [true],
    },
    {
      name: "one that the newest report no longer tells is not",
      reports: [{ ...readAt(2_000), unmountRecords: [first] }, readAt(3_000)],
      isTold: [false],
    },
    {
      name: "one that only the newest report's lack of a mounted volume shows is not",
      reports: [lost, { ...readAt(3_000), instance: "run-2" }],
      isTold: [false],
    },
  ])("$name", ({ reports, isTold }) => {
    expect([...viewAfter(...reports).unmountRecords.values()].map((unmountRecord) => unmountRecord.isTold)).toEqual(
      isTold,
    );
  });
});

describe("the timeline that an unmount record's stamps are of", () => {
  const known = viewAfter({ ...readAt(2_000), unmountRecords: [first] });
  const next = (fields: Partial<NodeReport>, isRolledBack?: true) => {
    const report = reportWith({
      ...readAt(3_000),
      unmountRecords: [unmountRecordOf("pod-2", { after: 1, by: 2 })],
      ...fields,
    });
    const result = acceptReport(known, report, { atMs: NOON, widthMs: 0, nodeBootId: report.bootId, isRolledBack });
    return result.kind === "stale" ? [] : [...result.view.unmountRecords.values()].map(({ timeline }) => timeline);
  };

  it("is the same as long as the clock goes on", () => {
    expect(next({})).toEqual([0, 0]);
  });

  it("is a later one after a boot", () => {
    expect(next({ bootId: "boot-2" })).toEqual([0, 1]);
  });

  it("is a later one after the clock was set back", () => {
    expect(next({}, true)).toEqual([0, 1]);
  });
});

describe("an end that no unmount record tells of", () => {
  it("is none while the next report shows the mounted volume", () => {
    expect(viewAfter(lost, { ...lost, ...readAt(3_000) }).unmountRecords.size).toBe(0);
  });

  it("is none while the next report shows another hold of the same use", () => {
    const subpath = { ...mountedVolumeOf("pod-1"), kind: "subpath" } as const;

    expect(viewAfter(lost, { ...readAt(3_000), mountedVolumes: [subpath] }).unmountRecords.size).toBe(0);
  });

  it("is there when the next report shows the volume staged only", () => {
    expect(
      viewAfter(lost, { ...readAt(3_000), mountedVolumes: [mountedVolumeOf(undefined)] }).unmountRecords.size,
    ).toBe(1);
  });

  it("has the ID that the agent would have given it", () => {
    const { volume } = mountedVolumeOf("pod-1");
    const use = { kind: "pod", volume, podUid: "pod-1" } as const;
    const { id } = agentsRelease("boot-1", { use, pod: undefined, after: 1_999, by: 3_000.25 });

    const view = viewAfter(lost, { ...readAt(3_000.25), instance: "run-2" });

    expect([...view.unmountRecords.keys()]).toEqual([id]);
  });
});

describe("isOlder", () => {
  const known = viewAfter({ ...readAt(2_000), sentAt: 9_000, generation: 4 });

  it.each([
    { name: "a later scan is newer, though it was sent before the other was repeated", message: readAt(3_000) },
    {
      name: "a later state of the same run is newer, though it was sent no later",
      message: { ...readAt(2_000), sentAt: 9_000, generation: 5 },
    },
    { name: "the same scan sent later is newer", message: { ...readAt(2_000), sentAt: 9_001, generation: 4 } },
  ])("$name", ({ message }) => {
    expect(isOlder(known, reportWith(message))).toBe(false);
  });

  it.each([
    { name: "an earlier scan is older, however late it was sent", message: { ...readAt(1_999), sentAt: 9_999 } },
    { name: "the same scan sent no later is older", message: { ...readAt(2_000), sentAt: 9_000, generation: 4 } },
    {
      name: "another run's count of its states says nothing",
      message: { ...readAt(2_000), sentAt: 9_000, generation: 5, instance: "run-2" },
    },
  ])("$name", ({ message }) => {
    expect(isOlder(known, reportWith(message))).toBe(true);
  });
});

describe("why a report is not taken", () => {
  const known = viewAfter(readAt(2_000));
  const receipt = { atMs: NOON, widthMs: 0, nodeBootId: "boot-1" };

  it.each([
    { report: readAt(1_999), why: "it is not newer than what is known already" },
    { report: { ...readAt(5), bootId: "boot-0" }, why: "of another boot than the node's present one" },
  ])("says: $why", ({ report, why }) => {
    expect(acceptReport(known, reportWith(report), receipt)).toEqual({ kind: "stale", why });
  });

  it("is nothing for an older scan of a clock that was set back", () => {
    expect(acceptReport(known, reportWith(readAt(1_000)), { ...receipt, isRolledBack: true }).kind).toBe("accepted");
  });
});
