import { describe, expect, it } from "vitest";
import { acceptHeartbeat, isFromRolledBackClock, type Receipt } from "../../../../aggregator/core/nodes/fleet.ts";
import type { NodeReport } from "../../../../common/storage/node-report.ts";
import { mountedVolumeOf, NOON } from "../world.ts";
import { acceptReport, sent, viewAfter } from "./reported.ts";

const BOOT_2 = { bootId: "boot-2" };
const RUN_2 = { instance: "run-2" };
const LATE = { sentAt: 9_000 };
const beganAt = (ms: number, endedAt = 2_500) => ({ scan: { beganAt: ms, endedAt } });
const named = (nodeBootId: string | undefined, more: Partial<Receipt> = {}) => ({ nodeBootId, ...more });
const ofSession = { isOfSession: true };

const OLD = "it is not newer than what is known already";
const OTHER_BOOT = "of another boot than the node's present one";
const BESIDE = "its read began before that of another agent ended, which is known already";

describe("a report of a node that is known by a scan that ended at 2,000", () => {
  const known = viewAfter(sent(2_000));
  type Fields = Partial<NodeReport>;
  it.each<readonly [name: string, endedAt: number, fields: Fields, receipt: Partial<Receipt>, is: string]>([
    ["that is a second copy is stale", 2_000, {}, {}, OLD],
    ["of another run's read beside the known one is stale", 2_500, { ...RUN_2, ...beganAt(1_999) }, {}, BESIDE],
    ["of another run's read after the known one is accepted", 2_500, { ...RUN_2, ...beganAt(2_000) }, {}, "accepted"],
    ["of a younger run is accepted, however low its generation", 2_001, { ...RUN_2, generation: 0 }, {}, "accepted"],
    ["of the boot that the Node object names is accepted, though its clock began anew", 5, BOOT_2, {}, "accepted"],
    ["of another boot is stale though its agent was answered", 9_000, BOOT_2, named("boot-1", ofSession), OTHER_BOOT],
    ["of an older scan is accepted by a clock that was set back", 1_000, {}, { isRolledBack: true }, "accepted"],
  ])("%s", (...[, endedAt, fields, over, is]) => {
    const { report, receipt } = sent(endedAt, fields, over);

    const result = acceptReport(known, report, receipt);

    expect(result.kind === "stale" ? result.why : result.kind).toBe(is);
  });

  it.each<readonly [name: string, endedAt: number, fields: Fields, acceptedAgeMs: number, isRolledBack: boolean]>([
    ["an older one two minutes after the last is from a clock that went back", 1_999, { sentAt: 9_999 }, 120_000, true],
    ["an older one before that may be late", 1_999, { sentAt: 9_999 }, 119_999, false],
    ["a later state of the same run is newer, though sent no later", 2_000, { ...LATE, generation: 5 }, 120_000, false],
    ["another run's count of its states says nothing", 2_000, { ...LATE, ...RUN_2, generation: 5 }, 120_000, true],
    ["one of another boot has another clock", 1_999, BOOT_2, 120_000, false],
  ])("of which %s", (...[, endedAt, fields, acceptedAgeMs, isRolledBack]) => {
    const view = viewAfter(sent(2_000, { ...LATE, generation: 4 }));

    expect(isFromRolledBackClock(view, sent(endedAt, fields).report, acceptedAgeMs)).toBe(isRolledBack);
  });
});

describe("the first report of a node", () => {
  it.each([
    { name: "of the boot that the Node object names", receipt: named("boot-1"), kind: "accepted" },
    { name: "of a node whose Node object names no boot", receipt: named(undefined), kind: "accepted" },
    // Else a late report of the boot that is named would come after it and end what it shows.
    { name: "of another boot than the Node object names", receipt: named("boot-0"), kind: "stale" },
    { name: "whose agent this leader has answered", receipt: named("boot-0", ofSession), kind: "accepted" },
  ])("$name is $kind", ({ receipt, kind }) => {
    const { report, receipt: own } = sent(2_000);

    expect(acceptReport(undefined, report, { ...own, ...receipt }).kind).toBe(kind);
  });
});

describe("a heartbeat", () => {
  const known = viewAfter(sent(2_000, { mountedVolumes: [mountedVolumeOf("pod-1")] }));
  const beat = (endedAt: number, fields: Partial<NodeReport> = {}, over: Partial<Receipt> = {}) => {
    const { report, receipt } = sent(endedAt, fields, over);
    const { mountedVolumes: _, unmountRecords: __, ...heartbeat } = report;
    return { heartbeat, receipt };
  };

  it("moves what is known of the scan and of the node, and keeps the state", () => {
    const facts = { kernel: "6.18.4" };
    const { heartbeat, receipt } = beat(3_000, { podsResourceVersion: "300", facts });

    const result = acceptHeartbeat(known, heartbeat, { ...receipt, atMs: NOON + 5_000 });

    const scan = { scan: heartbeat.scan, sentAt: 3_000, scanEndedMs: NOON + 5_000, scanBeganMs: NOON + 4_999 };
    const agentGaps = [{ fromMs: Number.NEGATIVE_INFINITY, toMs: NOON + 2_500, to: 500 }];
    const boot = { bootedAfterMs: NOON + 2_000, bootedByMs: NOON + 2_000 };
    const view = { ...known, ...scan, ...boot, scanFromMs: undefined, agentGaps, podsResourceVersion: "300", facts };
    expect(result).toEqual({ kind: "accepted", view });
  });

  it.each([
    { name: "of an earlier scan is stale", next: beat(1_999), kind: "stale" },
    { name: "that is a second copy of what is known is stale", next: beat(2_000), kind: "stale" },
    { name: "of the same scan sent again is accepted", next: beat(2_000, { sentAt: 2_001 }), kind: "accepted" },
    { name: "of another generation means an unknown state", next: beat(3_000, { generation: 2 }), kind: "unknown" },
    { name: "of another run means an unknown state", next: beat(3_000, RUN_2), kind: "unknown" },
    { name: "of an unknown node means an unknown state", before: undefined, next: beat(3_000), kind: "unknown" },
  ])("$name", ({ next, kind, ...row }) => {
    const before = "before" in row ? row.before : known;

    expect(acceptHeartbeat(before, next.heartbeat, next.receipt).kind).toBe(kind);
  });
});

describe("by when a node has forgotten everything", () => {
  const rolledBack = sent(1_000, {}, { isRolledBack: true });

  it.each([
    {
      name: "is unknown of a clock that never went back",
      reports: [sent(2_000), sent(3_000)],
      forgottenByMs: undefined,
    },
    {
      name: "is when its clock was found to have gone back",
      reports: [sent(2_000), rolledBack],
      forgottenByMs: rolledBack.receipt.atMs,
    },
    { name: "stays known", reports: [sent(2_000), rolledBack, sent(1_500)], forgottenByMs: rolledBack.receipt.atMs },
  ])("$name", ({ reports, forgottenByMs }) => {
    expect(viewAfter(...reports).forgottenByMs).toBe(forgottenByMs);
  });
});
