import * as v from "valibot";
import { parseTimestamp } from "../common/storage/timestamp.ts";
import { saidByKubernetes, type UpstreamUnused } from "../common/storage/upstream-unused.ts";
import { type ClaimUse, evidenceOf, type ListedClaim } from "./claim-use.ts";

/** How well the aggregator knows the cluster's nodes. */
export interface NodeCounts {
  readonly total: number;
  /** Their reports have stopped. */
  readonly silent: number;
  /** Not heard of since the aggregator started. */
  readonly unheard: number;
}

/** A page of `/v1/claims`. */
export interface ClaimsPage {
  /** UID of the cluster's namespace kube-system; nothing while the aggregator does not know it. */
  readonly cluster: string | undefined;
  /** The API server's clock, at the earliest. Milliseconds since the epoch. */
  readonly serverTimeMs: number;
  readonly nodes: NodeCounts;
  readonly uses: readonly ClaimUse[];
  /** Where the next page begins; nothing behind the last. */
  readonly next: string | undefined;
}

const text = v.string();
const nullableText = v.pipe(
  v.nullable(text),
  v.transform((value) => value ?? undefined),
);
const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const time = v.pipe(
  text,
  v.transform((value) => parseTimestamp(value)),
  v.number(),
);
const nullableTime = v.pipe(
  v.nullable(time),
  v.transform((value) => value ?? undefined),
);
const pods = v.object({
  items: v.array(v.object({ uid: text, name: v.nullable(text), gone: v.boolean() })),
  omitted: count,
});

const live = v.object({
  heldOn: v.object({ items: v.array(v.object({ node: text, state: text, pods })), omitted: count }),
  stagedOn: v.object({ items: v.array(v.object({ node: text, state: text })), omitted: count }),
  references: v.object({ items: v.array(v.object({ pod: text, node: v.nullable(text) })), omitted: count }),
  awaited: v.object({ items: v.array(v.object({ node: text, state: text, why: text })), omitted: count }),
});

const lastUse = v.pipe(
  v.object({
    release: text,
    node: nullableText,
    pod: nullableText,
    podUid: nullableText,
    releasedAt: time,
    uncertaintyMs: v.nullable(v.number()),
    evidence: v.picklist(["mount-table", "pod-status", "node-gone"]),
  }),
  v.transform(({ release, releasedAt, uncertaintyMs, ...rest }) => ({
    ...rest,
    releaseId: release,
    releasedAtMs: releasedAt,
    uncertaintyMs: uncertaintyMs ?? undefined,
  })),
);

const condition = v.object({
  status: v.picklist(["True", "False"]),
  reason: v.picklist(["Mounted", "Referenced", "Unmounted", "NoPodUsing", "NodeGone", "NeverObservedInUse"]),
  message: text,
  since: time,
});

const item = v.object({
  namespace: text,
  name: text,
  uid: text,
  phase: text,
  deleting: v.boolean(),
  // An aggregator of before does not tell.
  deletionHeld: v.optional(v.boolean(), false),
  volume: nullableText,
  storageClass: nullableText,
  capacity: nullableText,
  status: v.picklist(["Mounted", "Referenced", "Unused", "NotWatched", "NotBound"]),
  since: nullableTime,
  condition: v.nullable(condition),
  lastUse: v.nullable(lastUse),
  // An aggregator of before does not tell.
  blindGap: v.optional(v.nullable(v.object({ from: time, to: time })), null),
  mountedOn: v.nullable(v.object({ nodes: v.array(text), more: v.boolean() })),
  live,
  waiting: v.boolean(),
  // An aggregator of before does not tell whose condition it is.
  kubernetes: v.nullable(
    v.object({ unused: v.boolean(), since: nullableTime, byMooring: v.optional(v.boolean(), false) }),
  ),
  disagrees: v.boolean(),
});

const page = v.object({
  apiVersion: v.literal("api.mooring.dev/v1"),
  kind: v.literal("ClaimList"),
  cluster: nullableText,
  serverTime: time,
  nodes: v.object({ total: count, silent: count, unheard: count }),
  continue: nullableText,
  items: v.array(item),
});

/** Reads an answer of `/v1/claims`; fields that are not known yet are left out. Nothing for what is no such answer. */
export function decodeClaimsPage(body: unknown): ClaimsPage | undefined {
  const result = v.safeParse(page, body);
  if (!result.success) return undefined;
  const { cluster, serverTime, nodes, continue: next, items } = result.output;
  return { cluster, serverTimeMs: serverTime, nodes, uses: items.map(useOfItem), next };
}

type Item = v.InferOutput<typeof item>;

function useOfItem(one: Item): ClaimUse {
  const { status, since, waiting, disagrees, deletionHeld, live: now } = one;
  const claim = claimOf(one);
  return {
    claim,
    status,
    sinceMs: since,
    evidence: evidenceOf(status, claim.status),
    ...nodesOf(one),
    lastUse: claim.status?.lastUse,
    kubernetes: saidByKubernetes(claim.upstream),
    disagrees,
    live: now,
    isWaiting: waiting,
    ...(deletionHeld && { isDeletionHeld: true }),
  };
}

function claimOf(one: Item): ListedClaim {
  const { namespace, name, uid, phase, deleting, volume, storageClass, capacity, condition: own, kubernetes } = one;
  return {
    key: `${namespace}/${name}`,
    namespace,
    name,
    uid,
    phase,
    isDeleting: deleting,
    volume,
    storageClass,
    capacity,
    status: own === null ? undefined : statusOf(own, one),
    upstream: kubernetes === null ? undefined : upstreamOf(kubernetes),
  };
}

function upstreamOf({ unused, since, byMooring }: NonNullable<Item["kubernetes"]>): UpstreamUnused {
  return { unused, sinceMs: since, owner: byMooring ? "mooring" : undefined };
}

function statusOf(
  { status, reason, message, since }: NonNullable<Item["condition"]>,
  { mountedOn, lastUse: last, blindGap: gap }: Item,
): NonNullable<ListedClaim["status"]> {
  return {
    unused: status === "True",
    reason,
    message,
    sinceMs: since,
    mountedOn: mountedOn ?? undefined,
    lastUse: last ?? undefined,
    ...(gap === null ? {} : { blindGap: { fromMs: gap.from, toMs: gap.to } }),
  };
}

/** Where it is mounted now, rather than where it was when that was written; for a claim that is not, where it was last. */
function nodesOf({
  status,
  live: { heldOn },
  mountedOn,
  lastUse: last,
}: Item): Pick<ClaimUse, "nodes" | "omittedNodes"> {
  if (heldOn.items.length > 0) return { nodes: heldOn.items.map(({ node }) => node), omittedNodes: heldOn.omitted };
  if (status === "Mounted") return { nodes: mountedOn?.nodes ?? [], omittedNodes: mountedOn?.more ? "some" : 0 };
  return { nodes: last?.node === undefined ? [] : [last.node], omittedNodes: 0 };
}
