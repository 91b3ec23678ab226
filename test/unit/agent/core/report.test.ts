import { describe, expect, it } from "vitest";
import { scanMountedVolumes } from "../../../../agent/core/mounted-volumes.ts";
import { initialState, type NodeState } from "../../../../agent/core/node-state.ts";
import { observe } from "../../../../agent/core/observe.ts";
import { reportOf, reportProblem } from "../../../../agent/core/report.ts";
import {
  decodeNodeMessage,
  MAX_REPORT_BYTES,
  MAX_REPORT_ENTRIES,
  MAX_REPORT_UNMOUNT_RECORDS,
  type UnmountRecord,
} from "../../../../common/storage/node-report.ts";
import { csiMountPoint, formatMountLine, tokenMountPoint } from "../../../fakes/mount-table.ts";

const IDENTITY = { node: "node-1", podUid: "agent-1", instance: "id-1", driftPpm: 200, session: "" };

function stateAfter(mountPoints: readonly string[], podsResourceVersion: string | undefined = "77"): NodeState {
  const text = [tokenMountPoint("agent-1"), ...mountPoints]
    .map((mountPoint) => formatMountLine({ mountPoint }))
    .join("");
  const scan = scanMountedVolumes(
    { text, beganAt: 10, endedAt: 11 },
    { by: "own-pod", podUid: "agent-1", override: undefined },
  );
  return observe(initialState("boot-1"), {
    scan,
    podsResourceVersion,
    pods: new Map([["u1", { name: "team/web", resourceVersion: "1", isRunning: false, isOver: true }]]),
  }).state;
}

function unmountRecords(count: number, size: number): readonly UnmountRecord[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `boot-1/${index}/u1/name/${"v".repeat(size)}`,
    volume: { by: "name" as const, name: "v".repeat(size) },
    podUid: "u1",
    after: index,
    by: index + 1,
  }));
}

describe("reportProblem", () => {
  it.each([
    {
      name: "is none for as many mounted volumes as a report may have",
      mountedVolumes: MAX_REPORT_ENTRIES,
      isProblem: false,
    },
    {
      name: "names the number of mounted volumes when there is one more",
      mountedVolumes: MAX_REPORT_ENTRIES + 1,
      isProblem: true,
    },
  ])("$name", ({ mountedVolumes, isProblem }) => {
    const state = stateAfter(Array.from({ length: mountedVolumes }, (_, index) => csiMountPoint("u1", `pv-${index}`)));

    const problem = `${mountedVolumes} mounted volumes, and a report takes ${MAX_REPORT_ENTRIES}: nothing is reported, the node becomes Stale`;
    expect(state.mountedVolumes.size).toBe(mountedVolumes);
    expect(reportProblem(state)).toBe(isProblem ? problem : undefined);
  });
});

describe("reportOf", () => {
  it("contains the whole state", () => {
    const state = stateAfter([
      csiMountPoint("u1", "pv-1"),
      "/var/lib/kubelet/plugins/kubernetes.io/csi/pv/pv-1/globalmount",
    ]);

    expect(reportOf(IDENTITY, state, 20)).toEqual({
      version: 1,
      ...IDENTITY,
      bootId: "boot-1",
      generation: 1,
      sentAt: 20,
      scan: { beganAt: 10, endedAt: 11 },
      observedSince: 11,
      agentGaps: [{ to: 11 }],
      podsResourceVersion: "77",
      mountedVolumes: [
        { kind: "pod", volume: { by: "name", name: "pv-1" }, podUid: "u1", pod: "team/web", since: 11 },
        { kind: "staging", volume: { by: "name", name: "pv-1" }, since: 11 },
      ],
      unmountRecords: [],
    });
  });

  it("contains the clock samples, and when a pending unmount was last seen", () => {
    const mounted = stateAfter([csiMountPoint("u1", "pv-1")]);
    const [[key, known] = ["", undefined]] = mounted.mountedVolumes;
    const end = { by: 15, podVersion: "1", isAnomaly: false };
    const mountedVolumes = new Map(known && [[key, { ...known, seenAt: 12, pendingUnmount: end }]]);

    const report = reportOf(IDENTITY, { ...mounted, mountedVolumes, clockSamples: [{ at: 9, ms: 1_000 }] }, 20);

    expect(report).toMatchObject({
      clockSamples: [{ at: 9, ms: 1_000 }],
      mountedVolumes: [{ podUid: "u1", since: 11, seenAt: 12 }],
    });
    expect(decodeNodeMessage(report)).toMatchObject({ ok: true });
  });

  it("contains when a mounted volume from another agent was seen that its own scan has not shown", () => {
    const mounted = stateAfter([csiMountPoint("u1", "pv-1")]);
    const mountedVolumes = new Map([...mounted.mountedVolumes].map(([key, known]) => [key, { ...known, seenAt: 9 }]));

    expect(reportOf(IDENTITY, mounted, 20)?.mountedVolumes).toMatchObject([{ podUid: "u1" }]);
    expect(reportOf(IDENTITY, mounted, 20)?.mountedVolumes[0]).not.toHaveProperty("seenAt");
    expect(reportOf(IDENTITY, { ...mounted, mountedVolumes }, 20)?.mountedVolumes).toMatchObject([
      { podUid: "u1", seenAt: 9 },
    ]);
  });

  it("is undefined before the first complete scan", () => {
    expect(reportOf(IDENTITY, initialState("boot-1"), 20)).toBeUndefined();
  });

  it("is undefined before this run's first complete scan, whatever an earlier run knew", () => {
    expect(reportOf(IDENTITY, { ...stateAfter([]), coverage: "none" }, 20)).toBeUndefined();
  });

  it("leaves out an unknown resource version", () => {
    expect(reportOf(IDENTITY, { ...stateAfter([]), podsResourceVersion: undefined }, 20)).not.toHaveProperty(
      "podsResourceVersion",
    );
  });

  it.each([
    {
      name: "a volume of every layout",
      mountPoints: [
        csiMountPoint("u1", "pv-1"),
        "/var/lib/kubelet/plugins/kubernetes.io~local-volume/volumeDevices/pv-2/u1",
      ],
    },
    {
      name: "a name that no volume can have",
      mountPoints: [csiMountPoint("u1", "p v"), csiMountPoint("u1", "v".repeat(255))],
    },
    {
      name: "a UID that no pod can have",
      mountPoints: [csiMountPoint("u".repeat(255), "pv-1"), csiMountPoint("\xe0", "pv-1")],
    },
    {
      name: "a driver that cannot be",
      mountPoints: [`/var/lib/kubelet/plugins/kubernetes.io/csi/${"d".repeat(255)}/${"a".repeat(64)}/globalmount`],
    },
  ])("is accepted with $name in the mount table: one odd mount must not stop the node's reports", ({ mountPoints }) => {
    const report = reportOf(IDENTITY, stateAfter(mountPoints), 20);

    expect(decodeNodeMessage(JSON.parse(JSON.stringify(report)))).toMatchObject({ ok: true });
  });

  it.each([
    { name: "more unmount records than are accepted", mountedVolumes: 1, size: 3, kept: MAX_REPORT_UNMOUNT_RECORDS },
    { name: "more entries than are accepted", mountedVolumes: MAX_REPORT_ENTRIES - 700, size: 3, kept: 700 },
    { name: "more bytes than are accepted", mountedVolumes: 3_400, size: 250, kept: 600 },
  ])(
    "keeps the newest of $name, so that a long absence of the aggregator ends in a report",
    ({ mountedVolumes, size, kept }) => {
      const all = unmountRecords(MAX_REPORT_UNMOUNT_RECORDS + 5_000, size);
      const mounts = Array.from({ length: mountedVolumes }, (_, index) =>
        csiMountPoint(`${index}`.padStart(size > 3 ? 128 : 5, "u"), `${index}`.padStart(size > 3 ? 250 : 5, "v")),
      );
      const state = { ...stateAfter(mounts), unmountRecords: all };

      const report = reportOf(IDENTITY, state, 30_000);

      const text = JSON.stringify(report);
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_REPORT_BYTES);
      expect(decodeNodeMessage(JSON.parse(text))).toMatchObject({ ok: true });
      expect(report?.unmountRecords.at(-1)).toEqual(all.at(-1));
      expect(report?.unmountRecords.length).toBeLessThanOrEqual(kept);
      expect(report?.unmountRecords.length).toBeGreaterThan(0.8 * kept);
    },
  );

  it("contains every unmount record where they fit", () => {
    const all = unmountRecords(MAX_REPORT_UNMOUNT_RECORDS, 250);

    expect(reportOf(IDENTITY, { ...stateAfter([]), unmountRecords: all }, 30_000)?.unmountRecords).toEqual(all);
  });
});
