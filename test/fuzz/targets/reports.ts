import { readClaimStatus, writeClaimStatus } from "../../../common/storage/claim-status.ts";
import {
  decodeNodeMessage,
  decodeReportAnswer,
  isReport,
  type NodeMessage,
  type NodeReport,
} from "../../../common/storage/node-report.ts";
import { Scene } from "../../program/aggregator/scene.ts";
import { closeHouses } from "../../program/house.ts";
import { addNode } from "../../program/objects.ts";
import { mountedVolumeOf, reportWith, unmountRecordOf } from "../../unit/aggregator/world.ts";
import { type FuzzTarget, inputOf, jsonOrText, promise } from "../target.ts";

const FULL: NodeReport = reportWith({
  mountedVolumes: [
    mountedVolumeOf("pod-1"),
    mountedVolumeOf(undefined),
    { ...mountedVolumeOf("pod-2", "pv-2"), pod: "shop/web-1", seenAt: 900 },
  ],
  unmountRecords: [unmountRecordOf("pod-3", { after: 900, by: 950 })],
  agentGaps: [{ to: 100 }, { from: 200, to: 500 }],
  clockSamples: [{ at: 400, ms: 1_788_999_999_000 }],
  facts: { kernel: "6.1.0", architecture: "x64", selinux: false },
});
const { mountedVolumes: _, unmountRecords: __, ...BEAT } = FULL;
const DEVICE = { by: "device", plugin: "iscsi", path: "10.0.0.1:3260-iqn.2026-11.dev:disk-lun-0" } as const;
const HANDLE = { by: "handle", driver: "csi.mooring.dev", handleHash: "0".repeat(64) } as const;

const ODD_PLACES: NodeReport = reportWith({
  ...{ bootId: "boot-2", instance: "run-2", generation: 7, driftPpm: 200 },
  mountedVolumes: [
    { kind: "staging", volume: HANDLE, since: 800 },
    { kind: "block", volume: DEVICE, podUid: "pod-4", since: 800 },
  ],
  unmountRecords: [{ id: "other-boot/0/pod-5", volume: { by: "name", name: "pv-1" }, podUid: "pod-5", by: 0 }],
});

const WORDS = [
  "mountedVolumes",
  "unmountRecords",
  "agentGaps",
  "clockSamples",
  "by",
  "after",
  "seenAt",
  "handle",
  "device",
  "n1",
  "pv-1",
  "boot-1",
  "pod-1",
];

/** The body of `PUT /v1/nodes/<node>/report`, and the effect of a valid report. */
export const reports: FuzzTarget = {
  name: "reports",
  about: "the body of a report, from anyone who has an agent's token",
  seeds: [FULL, BEAT, ODD_PLACES].map((report) => inputOf(JSON.stringify(report))),
  words: WORDS,
  take: (input) => {
    const decoded = decodeNodeMessage(jsonOrText(input));
    if (!decoded.ok) {
      promise(decoded.problems.length > 0 && decoded.problems.length <= 10, "a refusal says why, and not at length");
      return;
    }
    const again = decodeNodeMessage(JSON.parse(JSON.stringify(decoded.value)));
    promise(again.ok, "what is understood is understood again");
  },
};

/** A sequence of reports, one line each, to an aggregator with a claim, its volume and two nodes. */
export const fleet: FuzzTarget = {
  name: "fleet",
  about: "what a leading aggregator makes of reports that it understands, up to the status that it writes",
  seeds: [
    [
      FULL,
      BEAT,
      {
        ...FULL,
        generation: 2,
        mountedVolumes: [],
        unmountRecords: [unmountRecordOf("pod-1", { after: 1_000, by: 1_001 })],
      },
    ],
    [ODD_PLACES, FULL, { ...BEAT, instance: "run-3" }],
    [{ ...FULL, node: "n2" }, { ...ODD_PLACES, node: "n3" }, FULL],
  ].map((lines) => inputOf(lines.map((line) => JSON.stringify(line)).join("\n"))),
  words: WORDS,
  take: async (input) => {
    const messages = input.split("\n").slice(0, 8).flatMap(messageIn);
    if (messages.length > 0) await play(messages);
  },
};

function messageIn(line: string): readonly NodeMessage[] {
  const decoded = decodeNodeMessage(jsonOrText(line));
  return decoded.ok ? [decoded.value] : [];
}

async function play(messages: readonly NodeMessage[]): Promise<void> {
  const scene = new Scene({ nodes: [], claims: [{ volume: "pv-1" }] });
  for (const name of ["n1", "n2"]) addNode(scene.house, name, { bootId: "boot-1" });
  scene.addPod("web", { metadata: { uid: "pod-1" } });
  await scene.lead();
  const statuses = scene.watchStatuses();
  const reported = new Set(
    messages.filter(isReport).flatMap(({ unmountRecords }) => unmountRecords.map(({ id }) => id)),
  );
  for (const message of messages) {
    const { status, body } = await scene.leader.put(message);
    const answer = decodeReportAnswer(status === 200 ? JSON.parse(body) : { forget: [] });
    promise(
      answer.ok && answer.value.forget.every((id) => reported.has(id)),
      "the aggregator acknowledges only reported records",
    );
    await scene.pass(1);
  }
  scene.deletePod("web");
  await scene.pass(200);
  const { nowMs } = scene.house;
  for (const status of statuses) {
    const { sinceMs, lastUse } = status;
    const again = readClaimStatus({ uid: "claim-1", ...writeClaimStatus("claim-1", status) });
    promise(
      again !== undefined && (lastUse === undefined) === (again.lastUse === undefined),
      "what is written is read again",
    );
    promise(sinceMs <= nowMs + 1_000, "no claim is unused since a time to come");
    promise((lastUse?.byMs ?? 0) <= nowMs + 1_000, "no use ends in a time to come");
  }
  // Rejects when the aggregator hit a bug.
  await closeHouses();
}

/** The aggregator's answer, as an agent reads it. */
export const reportAnswers: FuzzTarget = {
  name: "report-answers",
  about: "the answer to a report, from whatever answers at the aggregator's address",
  seeds: [
    { forget: ["boot-1/5/pod-1"], nowMs: 1_789_000_000_000, reach: "7" },
    { forget: [], whole: true, scanRequest: "session/1", pauseRejections: "too many nodes at once" },
  ].map((answer) => inputOf(JSON.stringify(answer))),
  words: ["forget", "look", "whole", "nowMs", "reach", "pauseRejections"],
  take: (input) => {
    const decoded = decodeReportAnswer(jsonOrText(input));
    if (decoded.ok) promise(decodeReportAnswer(JSON.parse(JSON.stringify(decoded.value))).ok, "it is understood again");
  },
};
