import * as v from "valibot";
import {
  readClaim,
  readCsiDriver,
  readCsiNode,
  readJob,
  readNode,
  readVolume,
} from "../../../agent/sources/affinity-objects.ts";
import { readPod } from "../../../agent/sources/affinity-pod.ts";
import { projectPod as projectNodePod } from "../../../agent/sources/node-pods.ts";
import { reachOf } from "../../../aggregator/core/pod-watch/gap.ts";
import { projectPod as project, projectNode, projectVolume } from "../../../aggregator/sources/projections.ts";
import { readCoverage, writeCoverage } from "../../../aggregator/sources/watch-history-annotation.ts";
import { readIdentity } from "../../../common/kube/identity.ts";
import { projectLease } from "../../../common/kube/lease.ts";
import { retryAfterMs } from "../../../common/kube/retry-after.ts";
import { readStatus } from "../../../common/kube/status.ts";
import { watchError } from "../../../common/kube/watch.ts";
import { MooringError } from "../../../common/runtime/errors.ts";
import { parseHttpDate } from "../../../common/runtime/http-date.ts";
import { projectClaim } from "../../../common/storage/claim.ts";
import { type ClaimStatus, readClaimStatus, writeClaimStatus } from "../../../common/storage/claim-status.ts";
import { ownersOf } from "../../../common/storage/managed-fields.ts";
import { matchVolumeAffinity } from "../../../common/storage/node-selector.ts";
import { parseVolumeAffinity } from "../../../common/storage/node-selector-terms.ts";
import {
  desiredClaimStatus,
  endWith,
  factsWith,
  type Known,
  nodeGoneWith,
} from "../../unit/aggregator/core/decisions.ts";
import { CLAIM, LEASE, NODE, POD, STATUS, VOLUME } from "../seeds.ts";
import { type FuzzTarget, inputOf, jsonOrText, promise, unless, utf8Of } from "../target.ts";

const projectPod = (object: unknown) => project(object, { namespace: "mooring-agents", account: "mooring-agent" });

const PROJECTIONS: readonly ((object: unknown) => unknown)[] = [
  ...[projectPod, projectVolume, projectNode, projectClaim, projectNodePod, projectLease],
  ...[readPod, readClaim, readVolume, readNode, readCsiNode, readCsiDriver, readJob],
];

const isRefusal = (error: unknown): boolean => error instanceof v.ValiError || error instanceof MooringError;

/** API objects: users write what Mooring reads. */
export const apiObjects: FuzzTarget = {
  name: "api-objects",
  about: "pods, claims, volumes, nodes, attachments, leases and jobs, from anyone who may write one",
  seeds: [POD, CLAIM, VOLUME, NODE, LEASE, STATUS].map((object) => inputOf(JSON.stringify(object))),
  words: [
    "metadata",
    "spec",
    "status",
    "annotations",
    "labels",
    "mooring.dev/last-use",
    "mooring.dev/rejected",
    "__proto__",
  ],
  take: (input) => {
    const object = jsonOrText(input);
    for (const project of PROJECTIONS) unless(isRefusal, () => project(object));
    readIdentity(object);
    readStatus(object);
    promise((watchError(object).retryAfterMs ?? 0) <= 300_000, "no client waits for long");
    const volume = unless(isRefusal, () => projectVolume(object));
    // The projection stores it, and the decisions read it.
    if (volume !== undefined) reachOf(volume, () => undefined)("n1");
  },
};

/** A PV's node affinity and a node's labels, one line each. */
export const selectors: FuzzTarget = {
  name: "selectors",
  about: "the node affinity of PVs and the labels of nodes",
  seeds: [inputOf(`${JSON.stringify(VOLUME.spec.nodeAffinity)}\n${JSON.stringify(NODE.metadata.labels)}`)],
  words: [
    "required",
    "nodeSelectorTerms",
    "matchExpressions",
    "matchFields",
    "NotIn",
    "Gt",
    "Lt",
    "Exists",
    "-9223372036854775808",
  ],
  take: (input) => {
    const [first = "", second = ""] = input.split("\n");
    const labels = unless(isRefusal, () => v.parse(v.record(v.string(), v.string()), jsonOrText(second))) ?? {};
    const affinity = parseVolumeAffinity(jsonOrText(first));
    const { kind } = matchVolumeAffinity(affinity, labels);
    promise(affinity.kind !== "any" || kind === "matches", "what asks for nothing is met");
  },
};

const NOW = 1_789_000_000_000;

/** What Mooring reads of annotations and of the managed fields; the first line is the condition. */
export const annotations: FuzzTarget = {
  name: "annotations",
  about: "annotations of claims, pods and leases, from anyone who may edit them",
  seeds: [
    ...Object.values(CLAIM.metadata.annotations),
    ...Object.values(LEASE.metadata.annotations),
    JSON.stringify(CLAIM.metadata.managedFields),
  ].map((text) => inputOf(`${JSON.stringify(CLAIM.status.conditions[0])}\n${text}`)),
  words: [
    "claimUID",
    "claim-1",
    "releasedAt",
    "uncertaintyMs",
    "evidence",
    "blindGap",
    "nodes",
    "more",
    "2026-11-02T10:00:00Z",
  ],
  take: (input) => {
    const [first = "", second = ""] = input.split("\n");
    const text = utf8Of(second);
    const names = ["unused-since", "last-use", "mounted-on"].map((name) => [`mooring.dev/${name}`, text]);
    takeStatus({ uid: "claim-1", condition: jsonOrText(first), annotations: Object.fromEntries(names) });
    const coverage = readCoverage(text, NOW);
    if (coverage !== undefined)
      promise(readCoverage(writeCoverage(coverage), NOW) !== undefined, "a coverage is read again");
    ownersOf(jsonOrText(second), ["f:metadata", "f:annotations"]);
    unless(isRefusal, () =>
      projectClaim({ ...CLAIM, metadata: { ...CLAIM.metadata, managedFields: jsonOrText(second) } }),
    );
  },
};

function takeStatus(fields: Parameters<typeof readClaimStatus>[0]): void {
  const status = readClaimStatus(fields);
  if (status === undefined) return;
  takeWritten(fields, status);
  for (const change of CHANGES) {
    const desired = desiredClaimStatus(factsWith({ stored: status, nowMs: NOW, ...change }));
    if (desired === undefined) continue;
    promise(
      desired.sinceMs <= Math.max(status.sinceMs, NOW + 5_000) + 1_000,
      "no claim is unused since a time to come",
    );
    takeWritten(fields, desired);
  }
}

const USE = endWith({ byMs: NOW - 60_000 });
const SILENT = { node: "n1", isSilent: true, why: "was-mounted" } as const;
/** What Mooring may learn about a claim whose status another client has written. */
const CHANGES: readonly Known[] = [
  ...[{}, { usedOn: ["n1"] }, { references: ["shop/web-0"] }, { usedOn: ["n1"], pendingNodes: [SILENT] }],
  ...[{ ends: [USE] }, { ends: [nodeGoneWith({ byMs: NOW - 1 })] }, { ends: [{ ...USE, byMs: 0 }], isNodeBack: true }],
  ...[{ isEndUnknown: true }, { pendingNodes: [SILENT] }, { earliestMs: NOW + 5_000 }],
  {
    ends: [USE],
    unobserved: {
      times: [{ toMs: NOW - 1, fromMs: NOW - 9_000, isBefore: false }],
    },
  },
];

function takeWritten(fields: Parameters<typeof readClaimStatus>[0], status: ClaimStatus): void {
  const written = writeClaimStatus(fields.uid, status);
  const again = readClaimStatus({ uid: fields.uid, ...written });
  promise(again !== undefined, "what is written is read again");
  const rewritten = again && writeClaimStatus(fields.uid, again);
  promise(JSON.stringify(rewritten) === JSON.stringify(written), "what is written twice is the same");
}

/** Response headers that ask for patience, or carry a date. */
export const headers: FuzzTarget = {
  name: "headers",
  about: "Retry-After and Date, from the API server or a proxy before it",
  seeds: ["2\nSun, 22 Nov 2026 02:00:00 GMT", "Sun, 22 Nov 2026 02:00:30 GMT\nSun, 22 Nov 2026 02:00:00 GMT"],
  words: ["Sun, ", " GMT", "99999999999", "Sunday, 22-Nov-26", "1e9", "60"],
  take: (input) => {
    const [retry = "", date = ""] = input.split("\n");
    const waited = retryAfterMs({ "retry-after": retry, date }, { nowMs: NOW }) ?? 0;
    promise(waited >= 0 && waited <= 300_000, "no client waits for long");
    promise(Number.isFinite(parseHttpDate(date) ?? 0), "a date is a time");
  },
};
