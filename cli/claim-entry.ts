import * as v from "valibot";
import { claimEntry } from "../common/storage/list-lines.ts";
import { type ClaimUse, evidenceOf, type ListedClaim } from "./claim-use.ts";
import { lastUseIn } from "./last-use.ts";

type Entry = v.InferOutput<typeof claimEntry>;

/** Decodes a line of `/v1/claims`; undefined for anything else. */
export function readClaimEntry(raw: unknown): ClaimUse | undefined {
  const result = v.safeParse(claimEntry, raw);
  return result.success ? useOfEntry(result.output) : undefined;
}

function useOfEntry(entry: Entry): ClaimUse {
  const { status, since, pending, unusedWhileMounted, deletionHeld, live } = entry;
  const claim = claimOf(entry);
  return {
    claim,
    status,
    sinceMs: since,
    evidence: evidenceOf(status, claim.status),
    ...nodesOf(entry),
    lastUse: claim.status?.lastUse,
    kubernetes: claim.upstream,
    unusedWhileMounted,
    live,
    isPending: pending,
    ...(deletionHeld && { isDeletionHeld: true }),
  };
}

function claimOf(entry: Entry): ListedClaim {
  const { namespace, name, uid, phase, deleting, volume, storageClass, capacity, condition, kubernetes } = entry;
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
    status: condition === null ? undefined : statusOf(condition, entry),
    upstream: kubernetes ? { unused: kubernetes.unused, sinceMs: kubernetes.since } : undefined,
  };
}

function statusOf(
  { status, reason, message, since }: NonNullable<Entry["condition"]>,
  entry: Entry,
): NonNullable<ListedClaim["status"]> {
  const { mountedOn, lastUse, blindGap: gap } = entry;
  return {
    unused: status === "True",
    reason,
    message,
    sinceMs: since,
    mountedOn: mountedOn ?? undefined,
    lastUse: lastUseIn(lastUse),
    ...(gap === null ? {} : { gap: { fromMs: gap.from, toMs: gap.to } }),
  };
}

/** The nodes that have it mounted now, not those of the time when the status was written; for an unmounted claim, the last node. */
function nodesOf({
  status,
  live,
  mountedOn,
  lastUse,
}: Pick<Entry, "status" | "live" | "mountedOn" | "lastUse">): Pick<ClaimUse, "nodes" | "omittedNodes"> {
  const { items, omitted } = live.mountedOn;
  if (items.length > 0) return { nodes: items.map(({ node }) => node), omittedNodes: omitted };
  if (status === "Mounted") return { nodes: mountedOn?.nodes ?? [], omittedNodes: mountedOn?.more ? "some" : 0 };
  return { nodes: lastUse?.node === undefined ? [] : [lastUse.node], omittedNodes: 0 };
}
