import type { Node, Pod, Volume } from "../../../aggregator/core/cluster-objects.ts";
import type { NodeMountedVolume, NodeUnmountRecord, NodeView } from "../../../aggregator/core/nodes/node-view.ts";
import type { Claim } from "../../../common/storage/claim.ts";
import type { ClaimStatus } from "../../../common/storage/claim-status.ts";
import type { NodeReport, UnmountRecord } from "../../../common/storage/node-report.ts";

/** Values that tests of the aggregator start from: one claim `shop/data` on the volume `pv-1`, one node `n1`. */

/** Where the fake clock's wall time begins: a whole second. */
export const NOON = 1_789_000_000_000;

export function claimWith(fields: Partial<Claim> = {}): Claim {
  const name = fields.name ?? "data";
  return {
    key: `shop/${name}`,
    uid: "claim-1",
    namespace: "shop",
    name,
    resourceVersion: "100",
    phase: "Bound",
    isDeleting: false,
    volume: "pv-1",
    storageClass: "fast",
    capacity: "10Gi",
    status: undefined,
    upstream: undefined,
    ...fields,
  };
}

export function statusWith(fields: Partial<ClaimStatus> = {}): ClaimStatus {
  return {
    unused: false,
    reason: "Referenced",
    message: "",
    sinceMs: NOON,
    mountedOn: undefined,
    lastUse: undefined,
    ...fields,
  };
}

export function mountedStatus(nodes: readonly string[], fields: Partial<ClaimStatus> = {}): ClaimStatus {
  return statusWith({ reason: "Mounted", mountedOn: { nodes, more: false }, ...fields });
}

export function podWith(fields: Partial<Pod> = {}): Pod {
  return {
    key: "shop/web-0",
    uid: "pod-1",
    resourceVersion: "200",
    node: "n1",
    claims: ["shop/data"],
    isTerminal: false,
    hasStarted: true,
    ...fields,
  };
}

export function volumeWith(fields: Partial<Volume> = {}): Volume {
  return {
    key: "pv-1",
    uid: "volume-1",
    claim: { key: "shop/data", uid: "claim-1" },
    phase: "Bound",
    phaseSinceMs: undefined,
    storageClass: "fast",
    capacity: "10Gi",
    reclaimPolicy: "Delete",
    csi: undefined,
    isHostPath: false,
    ...fields,
  };
}

export function nodeWith(name: string, bootId: string | undefined = "boot-1"): Node {
  return { key: name, uid: `uid-${name}`, bootId };
}

export function mountedVolumeOf(podUid: string | undefined, volume = "pv-1"): NodeReport["mountedVolumes"][number] {
  const of = { volume: { by: "name", name: volume }, since: 0 } as const;
  return podUid === undefined ? { kind: "staging", ...of } : { kind: "pod", podUid, ...of };
}

export function unmountRecordOf(podUid: string, span: { readonly after: number; readonly by: number }): UnmountRecord {
  return {
    id: `boot-1/${span.by}/${podUid}`,
    volume: { by: "name", name: "pv-1" },
    podUid,
    pod: `shop/${podUid}`,
    ...span,
  };
}

/** A report of `n1` whose one scan took from 1,000 to 1,001 of the boot clock, sent at once. */
export function reportWith(fields: Partial<NodeReport> = {}): NodeReport {
  const scan = fields.scan ?? { beganAt: 1_000, endedAt: 1_001 };
  const observedSince = fields.observedSince ?? Math.min(500, scan.endedAt);
  return {
    version: 1,
    node: "n1",
    bootId: "boot-1",
    podUid: "agent-1",
    instance: "run-1",
    generation: 1,
    driftPpm: 0,
    sentAt: scan.endedAt,
    observedSince,
    agentGaps: [{ to: observedSince }],
    podsResourceVersion: "200",
    mountedVolumes: [],
    unmountRecords: [],
    ...fields,
    scan,
  };
}

/** The boot clock of `n1` at a time, whose read of `viewWith` ended at noon. */
export function stampAt(ms: number): number {
  return 1_001 + ms - NOON;
}

/** The gaps of an agent whose coverage begins with its first scan. */
export function unobservedUntil(toMs: number): NodeView["agentGaps"] {
  return [{ fromMs: Number.NEGATIVE_INFINITY, toMs, to: stampAt(toMs) }];
}

export function viewWith(fields: Partial<NodeView> = {}): NodeView {
  return {
    node: "n1",
    bootId: "boot-1",
    instance: "run-1",
    generation: 1,
    timeline: 0,
    timelineFrom: 0,
    mountedVolumes: [],
    unmountRecords: new Map(),
    scanBeganMs: NOON - 1,
    scanFromMs: NOON - 1,
    scanEndedMs: NOON,
    agentGaps: unobservedUntil(NOON - 3_600_000),
    podsResourceVersion: "200",
    scan: { beganAt: 1_000, endedAt: 1_001 },
    sentAt: 1_001,
    ...{ bootedAfterMs: NOON - 3_600_001, bootedByMs: NOON - 3_600_000, isFirstBoot: false },
    ...fields,
  };
}

export function nodeMountedVolume(podUid: string, volume = "pv-1"): NodeMountedVolume {
  return {
    kind: "pod",
    volume: { by: "name", name: volume },
    podUid,
    pod: undefined,
    since: 900,
  };
}

export function nodeUnmountRecord(fields: Partial<NodeUnmountRecord> = {}): NodeUnmountRecord {
  return {
    id: "record-1",
    node: "n1",
    volume: { by: "name", name: "pv-1" },
    podUid: "pod-1",
    pod: "shop/web-0",
    byMs: NOON,
    widthMs: 20,
    by: 1_000 + (fields.byMs ?? NOON) - NOON,
    timeline: 0,
    isReported: true,
    ...fields,
  };
}
