import { describe, expect, it } from "vitest";
import {
  decodeNodeMessage,
  decodeReportAnswer,
  MAX_REPORT_ENTRIES,
  MAX_REPORT_UNMOUNT_RECORDS,
  reportPath,
} from "../../../../common/storage/node-report.ts";
import { CENTURY_MS, LATEST_MS } from "../../../../common/storage/timestamp.ts";

const HASH = "0123456789abcdef".repeat(4);
const HOLD = { kind: "pod", volume: { by: "name", name: "pv-1" }, podUid: "u1", pod: "team/web", since: 10 };
const STAGING = { kind: "staging", volume: { by: "handle", driver: "ebs.csi.aws.com", handleHash: HASH }, since: 10 };
const RELEASE = { id: "boot-1/21/u2/name/pv-2", volume: { by: "name", name: "pv-2" }, podUid: "u2", after: 10, by: 21 };
const FACTS = {
  kernel: "6.18.4",
  architecture: "x64",
  distribution: "Debian GNU/Linux 12",
  containerRuntime: "containerd",
  cgroup: "v2",
  selinux: false,
  apparmor: true,
  mountNamespace: "other",
};
const REPORT = {
  version: 1,
  node: "node-1",
  bootId: "boot-1",
  podUid: "agent-1",
  instance: "id-1",
  generation: 3,
  driftPpm: 200,
  sentAt: 30,
  scan: { beganAt: 20, endedAt: 21 },
  observedSince: 11,
  agentGaps: [{ to: 3 }, { from: 5, to: 11 }],
  podsResourceVersion: "77",
  mountedVolumes: [HOLD, STAGING],
  unmountRecords: [RELEASE],
};

function problemsOf(change: object): readonly string[] {
  const decoded = decodeNodeMessage({ ...REPORT, ...change });
  return decoded.ok ? [] : decoded.problems;
}

describe("decodeNodeMessage", () => {
  it("accepts a whole report", () => {
    expect(decodeNodeMessage(REPORT)).toEqual({ ok: true, value: REPORT });
  });

  it.each([
    { name: "without a resource version", change: { podsResourceVersion: undefined } },
    { name: "that names a session", change: { session: "s".repeat(64) } },
    { name: "without a leader session", change: { session: "" } },
    { name: "of an empty node", change: { mountedVolumes: [], unmountRecords: [] } },
    { name: "of a scan that took no time", change: { scan: { beganAt: 21, endedAt: 21 } } },
    { name: "sent at the end of its read", change: { sentAt: 21 } },
    {
      name: "of a boot that was watched from its begin on but for one span",
      change: { agentGaps: [{ from: 0, to: 11 }] },
    },
    { name: "with spans that touch", change: { agentGaps: [{ to: 5 }, { from: 5, to: 11 }] } },
    { name: "with a span of no length", change: { agentGaps: [{ from: 11, to: 11 }] } },
    { name: "that has just begun to watch", change: { observedSince: 21, agentGaps: [{ to: 21 }] } },
    {
      name: "with as many spans as are allowed",
      change: { observedSince: 15, agentGaps: Array.from({ length: 16 }, (_, at) => ({ from: at, to: at })) },
    },
    {
      name: "with an unmount record whose use another boot showed",
      change: { unmountRecords: [{ ...RELEASE, after: undefined, by: 0 }] },
    },
    { name: "with an unmount record of no width", change: { unmountRecords: [{ ...RELEASE, after: 21 }] } },
    {
      name: "with a device that an in-tree plugin mounted",
      change: { mountedVolumes: [{ ...STAGING, volume: { by: "device", plugin: "fc", path: "50060e80-lun-0" } }] },
    },
    {
      name: "with clock samples",
      change: {
        clockSamples: [
          { at: 0, ms: 0 },
          { at: 30, ms: 1_800_000_000_000 },
        ],
      },
    },
    { name: "with a mounted volume that is no longer shown", change: { mountedVolumes: [{ ...HOLD, seenAt: 15 }] } },
    { name: "with all facts about its node", change: { facts: FACTS } },
    { name: "with no fact about its node", change: { facts: {} } },
    {
      name: "with as many entries as are allowed",
      change: { mountedVolumes: Array.from({ length: MAX_REPORT_ENTRIES - 1 }, () => HOLD) },
    },
    {
      name: "with as many unmount records as are allowed",
      change: { mountedVolumes: [], unmountRecords: Array.from({ length: MAX_REPORT_UNMOUNT_RECORDS }, () => RELEASE) },
    },
  ])("accepts a report $name", ({ change }) => {
    expect(problemsOf(change)).toEqual([]);
  });

  it.each([
    { name: "of another version", change: { version: 2 }, field: "version" },
    {
      name: "with clock samples out of order",
      change: {
        clockSamples: [
          { at: 2, ms: 1 },
          { at: 1, ms: 2 },
        ],
      },
      field: "clockSamples",
    },
    {
      name: "with two clock samples at once",
      change: {
        clockSamples: [
          { at: 2, ms: 1 },
          { at: 2, ms: 2 },
        ],
      },
      field: "clockSamples",
    },
    {
      name: "with too many clock samples",
      change: { clockSamples: Array.from({ length: 9 }, (_, at) => ({ at, ms: at })) },
      field: "clockSamples",
    },
    { name: "with an empty fact", change: { facts: { kernel: "" } }, field: "facts.kernel" },
    { name: "with a fact that is too long", change: { facts: { kernel: "6".repeat(129) } }, field: "facts.kernel" },
    {
      name: "with a fact that would steer a terminal",
      change: { facts: { distribution: "\u001b[2J" } },
      field: "facts.distribution",
    },
    { name: "with an unknown fact", change: { facts: { hostname: "web" } }, field: "facts.hostname" },
    { name: "with a cgroup version that is none", change: { facts: { cgroup: "v3" } }, field: "facts.cgroup" },
    { name: "without a node", change: { node: undefined }, field: "node" },
    { name: "with an empty node", change: { node: "" }, field: "node" },
    { name: "with a node's name that is too long", change: { node: "n".repeat(254) }, field: "node" },
    { name: "without a boot ID", change: { bootId: "" }, field: "bootId" },
    { name: "without the agent's pod", change: { podUid: 7 }, field: "podUid" },
    { name: "without an instance", change: { instance: null }, field: "instance" },
    { name: "with half a generation", change: { generation: 1.5 }, field: "generation" },
    { name: "with a negative generation", change: { generation: -1 }, field: "generation" },
    { name: "with a drift that eats every age", change: { driftPpm: 1_000_000 }, field: "driftPpm" },
    { name: "with a negative drift, which would make ages too long", change: { driftPpm: -1 }, field: "driftPpm" },
    { name: "with an endless time", change: { sentAt: Number.POSITIVE_INFINITY }, field: "sentAt" },
    { name: "with a time before the boot", change: { observedSince: -1 }, field: "observedSince" },
    {
      name: "without gaps, as from an older agent",
      change: { agentGaps: undefined },
      field: "agentGaps",
    },
    { name: "with an empty list of gaps", change: { agentGaps: [] }, field: "agentGaps" },
    {
      name: "with more spans than are allowed",
      change: { observedSince: 16, agentGaps: Array.from({ length: 17 }, (_, at) => ({ from: at, to: at })) },
      field: "agentGaps",
    },
    {
      name: "with a span that ends before it began",
      change: { agentGaps: [{ from: 12, to: 11 }] },
      field: "agentGaps.0",
    },
    { name: "with a span before the boot", change: { agentGaps: [{ from: -1, to: 11 }] }, field: "agentGaps.0.from" },
    { name: "with a span that has no end", change: { agentGaps: [{ from: 5 }] }, field: "agentGaps.0.to" },
    {
      name: "with spans that overlap",
      change: { agentGaps: [{ to: 6 }, { from: 5, to: 11 }] },
      field: "agentGaps",
    },
    {
      name: "with an unknown begin of a later gap",
      change: { agentGaps: [{ to: 0 }, { to: 11 }] },
      field: "agentGaps",
    },
    {
      name: "with an unknown field in a span",
      change: { agentGaps: [{ to: 11, why: "x" }] },
      field: "agentGaps.0.why",
    },
    { name: "whose observedSince is not the end of its last gap", change: { observedSince: 3 }, field: "body" },
    { name: "with a gap after its scan", change: { observedSince: 22, agentGaps: [{ to: 22 }] }, field: "body" },
    { name: "sent after a century of its boot", change: { sentAt: CENTURY_MS }, field: "sentAt" },
    {
      name: "of a scan with an end that is no date",
      change: { scan: { beganAt: 20, endedAt: 1e17 } },
      field: "scan.endedAt",
    },
    {
      name: "with a mounted volume since then",
      change: { mountedVolumes: [{ ...HOLD, since: 9e15 }] },
      field: "mountedVolumes.0.since",
    },
    {
      name: "with a mounted volume seen then",
      change: { mountedVolumes: [{ ...HOLD, seenAt: 9e15 }] },
      field: "mountedVolumes.0.seenAt",
    },
    {
      name: "with an unmount record by then",
      change: { unmountRecords: [{ ...RELEASE, by: 9e15 }] },
      field: "unmountRecords.0.by",
    },
    {
      name: "with a clock sample of a boot clock that no boot has",
      change: { clockSamples: [{ at: 9e15, ms: 0 }] },
      field: "clockSamples.0.at",
    },
    {
      name: "with a clock sample of a time after the year 9999",
      change: { clockSamples: [{ at: 5, ms: LATEST_MS + 1 }] },
      field: "clockSamples.0.ms",
    },
    {
      name: "with a clock sample of a time before 1970",
      change: { clockSamples: [{ at: 5, ms: -1 }] },
      field: "clockSamples.0.ms",
    },
    { name: "with a time as text", change: { sentAt: "30" }, field: "sentAt" },
    { name: "without a read", change: { read: undefined }, field: "read" },
    { name: "of a scan that ended before it began", change: { scan: { beganAt: 22, endedAt: 21 } }, field: "body" },
    { name: "sent before its read had ended", change: { sentAt: 20.9 }, field: "body" },
    {
      name: "with a resource version that is no number",
      change: { podsResourceVersion: "abc" },
      field: "podsResourceVersion",
    },
    {
      name: "with an endless resource version",
      change: { podsResourceVersion: "9".repeat(21) },
      field: "podsResourceVersion",
    },
    { name: "a session with a long name", change: { session: "s".repeat(65) }, field: "session" },
    { name: "without mounted volumes", change: { mountedVolumes: undefined }, field: "mountedVolumes" },
    {
      name: "with a mounted volume of an unknown kind",
      change: { mountedVolumes: [{ ...HOLD, kind: "cache" }] },
      field: "mountedVolumes.0.kind",
    },
    {
      name: "with a device of a plugin whose name has a slash, which would make two volumes one",
      change: { mountedVolumes: [{ ...STAGING, volume: { by: "device", plugin: "a/b", path: "c" } }] },
      field: "mountedVolumes.0.volume.plugin",
    },
    {
      name: "with a device whose path is too long",
      change: { mountedVolumes: [{ ...STAGING, volume: { by: "device", plugin: "fc", path: "d".repeat(254) } }] },
      field: "mountedVolumes.0.volume.path",
    },
    {
      name: "with an unknown kind of volume name",
      change: { mountedVolumes: [{ ...HOLD, volume: { by: "path", path: "/x" } }] },
      field: "mountedVolumes.0.volume.by",
    },
    {
      name: "with a volume whose name is too long",
      change: { mountedVolumes: [{ ...HOLD, volume: { by: "name", name: "v".repeat(254) } }] },
      field: "mountedVolumes.0.volume.name",
    },
    {
      name: "with a hash that is none",
      change: { mountedVolumes: [{ ...STAGING, volume: { ...STAGING.volume, handleHash: HASH.toUpperCase() } }] },
      field: "mountedVolumes.0.volume.handleHash",
    },
    {
      name: "with a pod's name of one part",
      change: { mountedVolumes: [{ ...HOLD, pod: "web" }] },
      field: "mountedVolumes.0.pod",
    },
    {
      name: "with a pod's name of three parts",
      change: { unmountRecords: [{ ...RELEASE, pod: "a/b/c" }] },
      field: "unmountRecords.0.pod",
    },
    {
      name: "with an unmount record without an ID",
      change: { unmountRecords: [{ ...RELEASE, id: "" }] },
      field: "unmountRecords.0.id",
    },
    {
      name: "with an unmount record of no pod",
      change: { unmountRecords: [{ ...RELEASE, podUid: undefined }] },
      field: "unmountRecords.0.podUid",
    },
    {
      name: "with an unmount record that ended before it began",
      change: { unmountRecords: [{ ...RELEASE, after: 22 }] },
      field: "unmountRecords.0",
    },
    {
      name: "with more entries than are allowed",
      change: { mountedVolumes: Array.from({ length: MAX_REPORT_ENTRIES }, () => HOLD) },
      field: "body",
    },
    {
      name: "with more unmount records than are allowed",
      change: {
        mountedVolumes: [],
        unmountRecords: Array.from({ length: MAX_REPORT_UNMOUNT_RECORDS + 1 }, () => RELEASE),
      },
      field: "body",
    },
    { name: "with a field that it does not know, as of a newer agent", change: { extra: true }, field: "extra" },
    {
      name: "with an unknown field in a mounted volume",
      change: { mountedVolumes: [{ ...HOLD, extra: true }] },
      field: "mountedVolumes.0.extra",
    },
  ])("refuses a report $name, and names the field", ({ change, field }) => {
    expect(problemsOf(change).map((problem) => problem.split(":")[0])).toEqual([field]);
  });

  it.each([{ input: undefined }, { input: null }, { input: "report" }, { input: [] }, { input: 7 }])(
    "refuses $input",
    ({ input }) => {
      expect(decodeNodeMessage(input)).toMatchObject({ ok: false });
    },
  );

  it.each([
    { name: "as many entries as are allowed, at the first fault", entries: MAX_REPORT_ENTRIES, looked: 1 },
    { name: "too many of them, before it decodes any", entries: MAX_REPORT_ENTRIES + 1, looked: 0 },
  ])("refuses $name", ({ entries, looked }) => {
    let count = 0;
    const faulty = {
      get kind() {
        count += 1;
        return "none";
      },
    };

    expect(
      problemsOf({ mountedVolumes: Array.from({ length: entries }, () => faulty), unmountRecords: [] }),
    ).toHaveLength(1);
    expect(count).toBe(looked);
  });

  it.each([
    { name: "a line break", character: "\n" },
    { name: "an escape", character: "\u001b" },
    { name: "a delete", character: "\u007f" },
    { name: "a control character of the upper half", character: "\u009b" },
    { name: "a change of direction", character: "\u202e" },
    { name: "a line separator", character: "\u2028" },
    { name: "half a character", character: "\ud800" },
  ])("refuses $name in any name", ({ character }) => {
    const odd = `a${character}b`;
    const changes: readonly Readonly<Record<string, unknown>>[] = [
      ...["node", "bootId", "podUid", "instance"].map((field) => ({ [field]: odd })),
      { mountedVolumes: [{ ...HOLD, podUid: odd }] },
      { mountedVolumes: [{ ...HOLD, pod: `shop/${odd}` }] },
      { mountedVolumes: [{ ...HOLD, volume: { by: "name", name: odd } }] },
      { mountedVolumes: [{ ...STAGING, volume: { by: "device", plugin: "fc", path: odd } }] },
      { unmountRecords: [{ ...RELEASE, id: odd }] },
      { facts: { distribution: odd } },
    ];

    expect(changes.map((change) => problemsOf(change).length)).toEqual(changes.map(() => 1));
  });
});

describe("a message with half of the state", () => {
  it.each([
    { name: "unmountRecords", lacks: "mountedVolumes" },
    { name: "mountedVolumes", lacks: "unmountRecords" },
  ])("is a report without $lacks, and no heartbeat with $name too many", ({ lacks }) => {
    const half = Object.fromEntries(Object.entries(REPORT).filter(([key]) => key !== lacks));

    const decoded = decodeNodeMessage(half);

    expect(decoded.ok ? [] : decoded.problems).toEqual([expect.stringMatching(`^${lacks}: `)]);
  });
});

describe("the path of a node's reports", () => {
  it("is below that of the gateway, and has the node's name in it", () => {
    expect(reportPath("/base", "node/a")).toBe("/base/v1/nodes/node%2Fa/report");
  });
});

describe("decodeReportAnswer", () => {
  it("ignores unknown fields of a newer aggregator", () => {
    expect(decodeReportAnswer({ forget: [], later: true })).toEqual({ ok: true, value: { forget: [] } });
  });

  it.each([
    { name: "an answer", input: { forget: ["r1"] } },
    { name: "an answer with the time", input: { forget: [], nowMs: 1_789_000_000_000.5 } },
    { name: "an answer that pauses rejections", input: { forget: [], pauseRejections: "50 pods were rejected" } },
    { name: "an answer that requests a later scan", input: { forget: [], reach: "123" } },
    { name: "an answer that requests a scan at once", input: { forget: [], scanRequest: "session/1" } },
    { name: "an answer that names the leader's session", input: { forget: [], session: "s".repeat(64) } },
  ])("accepts $name", ({ input }) => {
    expect(decodeReportAnswer(input)).toEqual({ ok: true, value: input });
  });

  it("drops what an aggregator of another version says, such as an earlier one's volumes", () => {
    const volumes = [{ name: "pv-a", resourceVersion: "12" }];

    expect(decodeReportAnswer({ forget: [], volumes })).toEqual({ ok: true, value: { forget: [] } });
  });

  it.each([
    { name: "nothing", input: undefined },
    { name: "an answer without a list", input: {} },
    { name: "a list of numbers", input: { forget: [1] } },
    { name: "a version that is no number", input: { forget: [], reach: "soon" } },
    { name: "a time that is none", input: { forget: [], nowMs: -1 } },
    { name: "a time after the year 9999", input: { forget: [], nowMs: LATEST_MS + 1 } },
    { name: "a mounted volume without a word", input: { forget: [], pauseRejections: "" } },
    { name: "a session without a name", input: { forget: [], session: "" } },
    { name: "a session with a long name", input: { forget: [], session: "s".repeat(65) } },
  ])("refuses $name", ({ input }) => {
    expect(decodeReportAnswer(input)).toMatchObject({ ok: false });
  });
});
