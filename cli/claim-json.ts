import type { Gap } from "../common/storage/claim-status.ts";
import { formatMillisecondsUp, formatSecondsUp } from "../common/storage/timestamp.ts";
import type { ClaimList } from "./claim-source.ts";
import type { ClaimUse } from "./claim-use.ts";
import type { Source } from "./source.ts";

/** Version of the schema below. A new field does not change it; a renamed or removed field, or one with a new meaning, makes it v2. */
const SHAPE = { apiVersion: "cli.mooring.dev/v1", kind: "ClaimUseList" } as const;

/** The claims as JSON for programs: every field is always present, `null` means unknown. Times are RFC 3339 in UTC. */
export function jsonOf({ uses, nowMs, source }: ClaimList): string {
  const list = {
    ...SHAPE,
    serverTime: nowMs === undefined ? null : formatMillisecondsUp(nowMs),
    source: sourceOf(source),
    nodes: source.kind === "aggregator" ? source.nodes : null,
    items: uses.map(itemOf),
  };
  return `${JSON.stringify(list, undefined, 2)}\n`;
}

export function sourceOf(source: Source): object {
  if (source.kind === "aggregator") return { kind: source.kind, url: source.url, cluster: source.cluster };
  return { kind: source.kind, url: source.server, cluster: null };
}

function itemOf(use: ClaimUse): object {
  const { claim, status, sinceMs, evidence, nodes, omittedNodes, lastUse, kubernetes, unusedWhileMounted, live } = use;
  return {
    namespace: claim.namespace,
    name: claim.name,
    uid: claim.uid,
    phase: claim.phase,
    deleting: claim.isDeleting,
    deletionHeld: live === undefined ? null : use.isDeletionHeld === true,
    volume: claim.volume ?? null,
    storageClass: claim.storageClass ?? null,
    capacity: claim.capacity ?? null,
    status,
    since: secondsOf(sinceMs),
    reason: claim.status?.reason ?? null,
    message: claim.status?.message ?? null,
    evidence: evidence ?? null,
    mountedOn: status === "Mounted" ? { nodes, more: omittedNodes !== 0 } : null,
    lastUse: lastUse === undefined ? null : lastUseOf(lastUse),
    blindGap: gapOf(claim.status?.gap),
    kubernetes: kubernetes === undefined ? null : { unused: kubernetes.unused, since: secondsOf(kubernetes.sinceMs) },
    unusedWhileMounted,
    pending: live === undefined ? null : use.isPending,
    live: live ?? null,
  };
}

export function lastUseOf({ node, pod, podUid, byMs, widthMs, evidence }: NonNullable<ClaimUse["lastUse"]>): object {
  return {
    node: node ?? null,
    pod: pod ?? null,
    podUid: podUid ?? null,
    releasedAt: formatMillisecondsUp(byMs),
    uncertaintyMs: widthMs ?? null,
    evidence,
  };
}

function gapOf(gap: Gap | undefined): object | null {
  return gap === undefined ? null : { from: formatMillisecondsUp(gap.fromMs), to: formatMillisecondsUp(gap.toMs) };
}

function secondsOf(ms: number | undefined): string | null {
  return ms === undefined ? null : formatSecondsUp(ms);
}
