import { describe, expect, it } from "vitest";
import { acceptHeartbeat, acceptReport, settle } from "../../../../aggregator/core/fleet.ts";
import type { NodeView } from "../../../../aggregator/core/node-view.ts";
import type { NodeReport } from "../../../../common/storage/node-report.ts";
import { mountedVolumeOf, NOON, nodeUnmountRecord, reportWith, unmountRecordOf } from "../world.ts";

const receipt = { atMs: NOON, widthMs: 0, nodeBootId: "boot-1" };

function accepted(
  known: NodeView | undefined,
  fields: Partial<NodeReport>,
  over: Partial<typeof receipt> = {},
): NodeView {
  const result = acceptReport(known, reportWith(fields), { ...receipt, ...over });
  if (result.kind === "stale") throw new Error(result.why);
  return result.view;
}

function readAt(endedAt: number): Pick<NodeReport, "scan"> {
  return { scan: { beganAt: endedAt - 1, endedAt } };
}

describe("acceptHeartbeat", () => {
  const known = accepted(undefined, { ...readAt(2_000), mountedVolumes: [mountedVolumeOf("pod-1")] });

  it("moves what is known of the state's freshness and keeps the state", () => {
    const {
      mountedVolumes: _,
      unmountRecords: __,
      ...heartbeat
    } = reportWith({ ...readAt(3_000), podsResourceVersion: "300" });

    const result = acceptHeartbeat(known, heartbeat, { ...receipt, atMs: NOON + 5_000 });

    const view = { ...known, podsResourceVersion: "300", sentAt: 3_000, scan: { beganAt: 2_999, endedAt: 3_000 } };
    expect(result).toMatchObject({
      kind: "accepted",
      view: {
        ...view,
        scanEndedMs: expect.any(Number),
        scanBeganMs: expect.any(Number),
        agentGaps: expect.any(Array),
      },
    });
    expect(result.kind === "accepted" && result.view.scanEndedMs).toBeGreaterThan(known.scanEndedMs);
  });

  it.each<{
    readonly name: string;
    readonly fields: Partial<NodeReport>;
    readonly kind: string;
    readonly known?: NodeView;
  }>([
    { name: "an earlier scan is stale", fields: readAt(1_999), kind: "stale" },
    { name: "a second copy of what is known is stale", fields: readAt(2_000), kind: "stale" },
    {
      name: "the same scan told anew is accepted",
      fields: { ...readAt(2_000), sentAt: 2_001 },
      kind: "accepted",
    },
    {
      name: "another generation means a state that is not known",
      fields: { ...readAt(3_000), generation: 2 },
      kind: "unknown",
    },
    {
      name: "another run of the agent means a state that is not known",
      fields: { ...readAt(3_000), instance: "run-2" },
      kind: "unknown",
    },
    {
      name: "another boot means a state that is not known",
      fields: { ...readAt(3_000), bootId: "boot-2" },
      kind: "unknown",
    },
  ])("$name", ({ fields, kind }) => {
    const { mountedVolumes: _, unmountRecords: __, ...heartbeat } = reportWith(fields);

    expect(acceptHeartbeat(known, heartbeat, receipt).kind).toBe(kind);
  });

  it("brings what its agent has found out about the node since the last report", () => {
    const {
      mountedVolumes: _,
      unmountRecords: __,
      ...heartbeat
    } = reportWith({ ...readAt(3_000), facts: { kernel: "6.18.4" } });

    const result = acceptHeartbeat(known, heartbeat, receipt);

    expect(result).toMatchObject({ kind: "accepted", view: { facts: { kernel: "6.18.4" } } });
  });

  it("of a node that is not known means a state that is not known", () => {
    const { mountedVolumes: _, unmountRecords: __, ...heartbeat } = reportWith();

    expect(acceptHeartbeat(undefined, heartbeat, receipt).kind).toBe("unknown");
  });
});

describe("acceptReport", () => {
  it.each<{
    readonly name: string;
    readonly report: Partial<NodeReport>;
    readonly nodeBootId?: string | undefined;
    readonly kind: "accepted" | "stale";
  }>([
    { name: "a later scan is accepted", report: readAt(2_001), kind: "accepted" },
    { name: "the same scan sent again is accepted", report: { ...readAt(2_000), sentAt: 9_000 }, kind: "accepted" },
    { name: "a second copy of what is known is stale", report: readAt(2_000), kind: "stale" },
    {
      name: "a second copy that names another run is stale",
      report: { ...readAt(2_000), instance: "run-2" },
      kind: "stale",
    },
    { name: "an earlier scan is stale", report: readAt(1_999), kind: "stale" },
    {
      name: "another instance's read that began before the known one ended is stale, though it ended later",
      report: { ...readAt(2_500), scan: { beganAt: 1_999, endedAt: 2_500 }, instance: "run-2" },
      kind: "stale",
    },
    {
      name: "one that began when the known one had ended is accepted",
      report: { ...readAt(2_500), scan: { beganAt: 2_000, endedAt: 2_500 }, instance: "run-2" },
      kind: "accepted",
    },
    {
      name: "an older instance's late retry is stale, however high its generation",
      report: { ...readAt(1_999), instance: "run-0", generation: 99 },
      kind: "stale",
    },
    {
      name: "a younger instance's later scan is accepted, however low its generation",
      report: { ...readAt(2_001), instance: "run-2", generation: 0 },
      kind: "accepted",
    },
    {
      name: "the boot that the Node object names is accepted, though its clock began anew",
      report: { ...readAt(5), bootId: "boot-2" },
      nodeBootId: "boot-2",
      kind: "accepted",
    },
    {
      name: "a boot that the Node object does not name is stale, however late its read",
      report: { ...readAt(9_000), bootId: "boot-0" },
      nodeBootId: "boot-1",
      kind: "stale",
    },
    {
      name: "another boot is stale as long as the Node object does not tell which is the present one",
      report: { ...readAt(9_000), bootId: "boot-0" },
      nodeBootId: undefined,
      kind: "stale",
    },
  ])("$name", ({ report, nodeBootId, kind }) => {
    const known = accepted(undefined, readAt(2_000));

    const result = acceptReport(known, reportWith(report), { ...receipt, nodeBootId });

    expect(result.kind).toBe(kind);
  });

  it.each([
    { name: "of the boot that the Node object names", nodeBootId: "boot-1", kind: "accepted" },
    { name: "of a node whose Node object names no boot", nodeBootId: undefined, kind: "accepted" },
    // Else a late report of the boot that is named would come after it and end what it shows.
    { name: "of another boot than the Node object names", nodeBootId: "boot-0", kind: "stale" },
  ])("the first report $name is $kind", ({ nodeBootId, kind }) => {
    expect(acceptReport(undefined, reportWith(), { ...receipt, nodeBootId }).kind).toBe(kind);
  });

  it("the first report that was sent to this leader counts, though the Node object names another boot: its watch may lag", () => {
    const sent = { ...receipt, nodeBootId: "boot-0", isOfSession: true };

    expect(acceptReport(undefined, reportWith(), sent).kind).toBe("accepted");
  });

  it("a later one of another boot does not as long as the Node object names the known one", () => {
    const sent = { ...receipt, nodeBootId: "boot-1", isOfSession: true };
    const known = accepted(undefined, readAt(2_000));

    expect(acceptReport(known, reportWith({ ...readAt(9_000), bootId: "boot-2" }), sent).kind).toBe("stale");
  });

  it("makes ages to wall time: the receipt less the age, shortened by the drift", () => {
    const view = accepted(undefined, {
      ...readAt(2_000),
      observedSince: 1_000,
      sentAt: 11_000,
      driftPpm: 100_000,
      unmountRecords: [unmountRecordOf("pod-1", { after: 1_500, by: 2_000 })],
    });

    expect(view.scanEndedMs).toBe(NOON - 9_000 * 0.9);
    expect(view.agentGaps).toEqual([{ fromMs: Number.NEGATIVE_INFINITY, toMs: NOON - 10_000 * 0.9, to: 1_000 }]);
    expect([...view.unmountRecords.values()].map(({ byMs }) => byMs)).toEqual([NOON - 9_000 * 0.9]);
  });

  it("the width of an unmount record spans the scan's interval, the receipt's width and the drift of its age", () => {
    const unmountRecords = [unmountRecordOf("pod-1", { after: 1_500, by: 2_000 })];

    const exact = accepted(undefined, {
      ...readAt(2_000),
      unmountRecords,
      clockSamples: [{ at: 1_500, ms: NOON - 500 }],
    });
    const wide = accepted(
      undefined,
      { ...readAt(2_000), unmountRecords, clockSamples: [{ at: 1_500, ms: NOON - 500 }] },
      { widthMs: 300 },
    );
    const clockSamples = [{ at: 1_500, ms: NOON - 100_500 }];
    const old = accepted(undefined, {
      ...readAt(2_000),
      sentAt: 102_000,
      driftPpm: 1_000,
      unmountRecords,
      clockSamples,
    });

    expect(exact.unmountRecords.get("boot-1/2000/pod-1")?.widthMs).toBe(500);
    expect(wide.unmountRecords.get("boot-1/2000/pod-1")?.widthMs).toBe(800);
    expect(old.unmountRecords.get("boot-1/2000/pod-1")?.widthMs).toBeCloseTo(500 + 100 + 100 + 0.6);
  });

  it.each([
    { name: "since when it was on its way", transitMs: 7_000, sleptMs: 0 },
    { name: "that its machine slept after the unmount", transitMs: 0, sleptMs: 3_600_000 },
  ])("the width of an unmount record spans what its report does not say: $name", ({ transitMs, sleptMs }) => {
    const unmountRecords = [unmountRecordOf("pod-1", { after: 1_500, by: 2_000 })];
    const clockSamples = [{ at: 1_500, ms: NOON - 500 }];

    const view = accepted(
      undefined,
      { ...readAt(2_000), unmountRecords, clockSamples },
      { atMs: NOON + transitMs + sleptMs },
    );

    const [unmountRecord] = view.unmountRecords.values();
    expect(unmountRecord).toMatchObject({ byMs: NOON + transitMs + sleptMs, widthMs: 500 + transitMs + sleptMs });
  });

  it("how uncertain an unmount record is nobody knows whose agent had never been answered before it", () => {
    const unmountRecords = [unmountRecordOf("pod-1", { after: 1_500, by: 2_000 })];

    const view = accepted(undefined, {
      ...readAt(2_000),
      unmountRecords,
      clockSamples: [{ at: 1_501, ms: NOON - 499 }],
    });

    expect([...view.unmountRecords.values()]).toMatchObject([{ byMs: NOON, widthMs: undefined }]);
  });

  it("an uncertainty that is learnt when an unmount record is told again counts for the earlier time", () => {
    const unmountRecords = [unmountRecordOf("pod-1", { after: 1_500, by: 2_000 })];
    const first = accepted(undefined, { ...readAt(2_000), unmountRecords });

    const clockSamples = [{ at: 1_500, ms: NOON - 600 }];
    const again = accepted(first, { ...readAt(2_001), unmountRecords, clockSamples }, { atMs: NOON + 701 });

    expect([...again.unmountRecords.values()]).toMatchObject([{ byMs: NOON, widthMs: 600 }]);
  });

  it.each([
    {
      name: "ended after it was last seen",
      seenAt: 1_200,
      clockSamples: [{ at: 1_200, ms: NOON - 800 }],
      widthMs: 3_800,
    },
    { name: "ended nobody knows when", seenAt: 1_200, clockSamples: [{ at: 1_999, ms: NOON - 1 }], widthMs: undefined },
  ])(
    "a mounted volume that its first agent only kept, and the next one does not know, $name",
    ({ seenAt, clockSamples, widthMs }) => {
      const known = accepted(undefined, {
        ...readAt(2_000),
        mountedVolumes: [{ ...mountedVolumeOf("pod-1"), seenAt }],
        clockSamples,
      });

      const view = accepted(known, { ...readAt(5_000), instance: "run-2" }, { atMs: NOON + 3_000 });

      expect([...view.unmountRecords.values()]).toMatchObject([{ byMs: NOON + 3_000, widthMs }]);
    },
  );

  it("an unmount record that is told again keeps the earlier of its times", () => {
    const unmountRecords = [unmountRecordOf("pod-1", { after: 1_500, by: 2_000 })];
    const first = accepted(undefined, { ...readAt(2_000), unmountRecords });

    const slow = accepted(first, { ...readAt(2_001), unmountRecords }, { atMs: NOON + 701 });
    const fast = accepted(first, { ...readAt(2_001), unmountRecords }, { atMs: NOON - 299 });

    expect([...slow.unmountRecords.values()].map(({ byMs }) => byMs)).toEqual([NOON]);
    expect([...fast.unmountRecords.values()].map(({ byMs }) => byMs)).toEqual([NOON - 300]);
  });

  it("a mounted volume that vanished without an unmount record, its agent replaced, ended between the two scans", () => {
    const clockSamples = [{ at: 1_999, ms: NOON - 1 }];
    const known = accepted(undefined, { ...readAt(2_000), mountedVolumes: [mountedVolumeOf("pod-1")], clockSamples });

    const view = accepted(known, { ...readAt(5_000), instance: "run-2" }, { atMs: NOON + 3_000 });

    const [unmountRecord, ...others] = view.unmountRecords.values();
    expect(others).toEqual([]);
    expect(unmountRecord).toMatchObject({ node: "n1", podUid: "pod-1", byMs: NOON + 3_000, widthMs: 3_001 });
  });

  it("a mounted volume that vanished with a reboot ended by the first scan after it", () => {
    const clockSamples = [{ at: 1_999, ms: NOON - 1 }];
    const known = accepted(undefined, { ...readAt(2_000), mountedVolumes: [mountedVolumeOf("pod-1")], clockSamples });
    const reboot = { ...readAt(5_000), bootId: "boot-2", sentAt: 5_000 };

    const view = accepted(known, reboot, { atMs: NOON + 65_000, nodeBootId: "boot-2" });

    const [unmountRecord, ...others] = view.unmountRecords.values();
    expect(others).toEqual([]);
    expect(unmountRecord).toMatchObject({ podUid: "pod-1", byMs: NOON + 65_000, widthMs: 65_001 });
  });

  it("the use of a pod that mounts again after a reboot goes on", () => {
    const known = accepted(undefined, { ...readAt(2_000), mountedVolumes: [mountedVolumeOf("pod-1")] });
    const reboot = { ...readAt(5_000), bootId: "boot-2", mountedVolumes: [mountedVolumeOf("pod-1")] };

    const view = accepted(known, reboot, { atMs: NOON + 65_000, nodeBootId: "boot-2" });

    expect(view.unmountRecords.size).toBe(0);
    expect(view.mountedVolumes).toHaveLength(1);
  });

  it("an end is never before the scan that still showed the mounted volume, though the second receipt is dated earlier", () => {
    const known = accepted(undefined, { ...readAt(2_000), mountedVolumes: [mountedVolumeOf("pod-1")] });

    const view = accepted(known, { ...readAt(2_010), instance: "run-2" }, { atMs: NOON - 500 });

    expect([...view.unmountRecords.values()].map(({ byMs }) => byMs)).toEqual([NOON]);
  });

  it("a mounted volume that vanished with an unmount record is released once", () => {
    const known = accepted(undefined, { ...readAt(2_000), mountedVolumes: [mountedVolumeOf("pod-1")] });
    const unmountRecords = [unmountRecordOf("pod-1", { after: 1_999, by: 3_000 })];

    const view = accepted(known, { ...readAt(3_000), unmountRecords });

    expect([...view.unmountRecords.keys()]).toEqual(["boot-1/3000/pod-1"]);
  });

  it("an unmount record that was known before does not explain that its pod's next mount vanished", () => {
    const unmountRecords = [unmountRecordOf("pod-1", { after: 1_000, by: 1_500 })];
    const known = accepted(undefined, { ...readAt(2_000), mountedVolumes: [mountedVolumeOf("pod-1")], unmountRecords });

    const view = accepted(known, { ...readAt(3_000), instance: "run-2", unmountRecords });

    expect(view.unmountRecords.size).toBe(2);
  });

  it("a record from before the boot is dated by its begin, and nobody says how much earlier the use ended", () => {
    const { after: _, ...unmountRecord } = unmountRecordOf("pod-1", { after: 0, by: 0 });

    const view = accepted(undefined, { ...readAt(2_000), unmountRecords: [unmountRecord] });

    expect([...view.unmountRecords.values()]).toMatchObject([{ byMs: NOON - 2_000, widthMs: undefined }]);
  });

  it("a staging mount that vanished is no end of use", () => {
    const known = accepted(undefined, { ...readAt(2_000), mountedVolumes: [mountedVolumeOf(undefined)] });

    const view = accepted(known, readAt(3_000));

    expect(view.unmountRecords.size).toBe(0);
  });

  it("unmount records that the agent no longer tells stay until they are settled", () => {
    const known = accepted(undefined, {
      ...readAt(2_000),
      unmountRecords: [unmountRecordOf("pod-1", { after: 1_500, by: 2_000 })],
    });

    const view = accepted(known, { ...readAt(3_000), instance: "run-2" });

    expect([...view.unmountRecords.keys()]).toEqual(["boot-1/2000/pod-1"]);
  });
});

describe("by when a mounted volume or a use had begun", () => {
  const begunAt = (since: number, kind: "pod" | "subpath" = "pod") => ({ ...mountedVolumeOf("pod-1"), kind, since });
  const released = { unmountRecords: [unmountRecordOf("pod-1", { after: 2_500, by: 3_000 })] };

  it("a mounted volume began by the end of the scan that showed it first", () => {
    const view = accepted(undefined, { ...readAt(2_000), mountedVolumes: [begunAt(500)] });

    expect(view.mountedVolumes).toMatchObject([{ since: 500, beganByMs: NOON - 1_500 }]);
  });

  it("a later report that took longer does not make it later", () => {
    const known = accepted(undefined, { ...readAt(2_000), mountedVolumes: [begunAt(500)] });

    const slow = accepted(known, { ...readAt(3_000), mountedVolumes: [begunAt(500)] }, { atMs: NOON + 5_000 });

    expect(slow.mountedVolumes).toMatchObject([{ beganByMs: NOON - 1_500 }]);
  });

  it.each([
    { name: "a volume that was mounted again", fields: { mountedVolumes: [begunAt(2_500)] }, beganByMs: NOON + 500 },
    {
      name: "a mount of another boot, whatever its stamp",
      fields: { bootId: "boot-2", mountedVolumes: [begunAt(500)] },
      beganByMs: NOON - 1_500,
    },
  ])("$name began anew", ({ fields, beganByMs }) => {
    const known = accepted(undefined, { ...readAt(2_000), mountedVolumes: [begunAt(500)] }, { atMs: NOON - 60_000 });

    const view = accepted(
      known,
      { ...readAt(3_000), ...fields },
      { atMs: NOON + 1_000, nodeBootId: "bootId" in fields ? "boot-2" : "boot-1" },
    );

    expect(view.mountedVolumes).toMatchObject([{ beganByMs }]);
  });

  it("a use began with the first of its mounted volumes", () => {
    const known = accepted(undefined, { ...readAt(2_000), mountedVolumes: [begunAt(700), begunAt(500, "subpath")] });

    const view = accepted(known, { ...readAt(3_000), ...released }, { atMs: NOON + 1_000 });

    expect([...view.unmountRecords.values()]).toMatchObject([{ byMs: NOON + 1_000, beganByMs: NOON - 1_500 }]);
  });

  it("a use in another boot did not begin with what the same pod had mounted before", () => {
    const known = accepted(undefined, { ...readAt(2_000), mountedVolumes: [begunAt(500)] });
    const reboot = { ...readAt(3_000), bootId: "boot-2", ...released };

    const view = accepted(known, reboot, { atMs: NOON + 60_000, nodeBootId: "boot-2" });

    expect([...view.unmountRecords.values()]).toMatchObject([{ byMs: NOON + 60_000, beganByMs: NOON + 60_000 }]);
  });

  it("a use of which no mounted volume was reported began by its end at the latest", () => {
    const view = accepted(undefined, { ...readAt(3_000), ...released });

    expect([...view.unmountRecords.values()]).toMatchObject([{ byMs: NOON, beganByMs: NOON }]);
  });

  it("an unmount record that is told again keeps when its use began", () => {
    const known = accepted(undefined, { ...readAt(2_000), mountedVolumes: [begunAt(500)] });
    const told = accepted(known, { ...readAt(3_000), ...released }, { atMs: NOON + 1_000 });

    const again = accepted(told, { ...readAt(3_500), ...released }, { atMs: NOON + 1_200 });

    expect([...again.unmountRecords.values()]).toMatchObject([{ byMs: NOON + 700, beganByMs: NOON - 1_500 }]);
  });

  it("a mounted volume that vanished without an unmount record began when it was dated", () => {
    const known = accepted(undefined, { ...readAt(2_000), mountedVolumes: [begunAt(500)] });

    const view = accepted(known, { ...readAt(5_000), instance: "run-2" }, { atMs: NOON + 3_000 });

    expect([...view.unmountRecords.values()]).toMatchObject([{ beganByMs: NOON - 1_500 }]);
  });
});

describe("settle", () => {
  it("the view loses the settled unmount records and keeps the others", () => {
    const view = accepted(undefined, {});
    const unmountRecords = new Map(["a", "b"].map((id) => [id, nodeUnmountRecord({ id })]));

    const rest = settle({ ...view, unmountRecords }, ["a", "unknown"]);

    expect([...rest.unmountRecords.keys()]).toEqual(["b"]);
  });
});
