import * as v from "valibot";
import { saidByKubernetes, type UpstreamUnused } from "../common/storage/upstream-unused.ts";
import {
  count,
  decodePage,
  heldOn,
  lastUse,
  nullableText,
  nullableTime,
  type Page,
  stagedOn,
  text,
  time,
} from "./aggregator-page.ts";
import { type ClaimUse, evidenceOf, type ListedClaim } from "./claim-use.ts";

const live = v.object({
  heldOn,
  stagedOn,
  references: v.object({ items: v.array(v.object({ pod: text, node: v.nullable(text) })), omitted: count }),
  awaited: v.object({ items: v.array(v.object({ node: text, state: text, why: text })), omitted: count }),
});

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

/** Reads an answer of `/v1/claims`. */
export function decodeClaimsPage(body: unknown): Page<ClaimUse> | undefined {
  return decodePage(body, { kind: "ClaimList", read: readItem });
}

function readItem(raw: unknown): ClaimUse | undefined {
  const result = v.safeParse(item, raw);
  return result.success ? useOfItem(result.output) : undefined;
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
