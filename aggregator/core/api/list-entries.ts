import type { Claim } from "../../../common/storage/claim.ts";
import type { ClaimStatus } from "../../../common/storage/claim-status.ts";
import type { ClaimEntry, VolumeEntry } from "../../../common/storage/list-lines.ts";
import type { PhaseSince } from "../../../common/storage/phase-since.ts";
import { formatMillisecondsUp, formatSecondsUp } from "../../../common/storage/timestamp.ts";
import { readCopiedUse, readVolumeMark } from "../../../common/storage/volume-annotations.ts";
import { type ClaimFacts, type PendingNode, UNWATCHED, waitsToBeUnused } from "../claims/decide.ts";
import { isEligible } from "../claims/evidence.ts";
import type { Pod, Volume } from "../cluster-objects.ts";
import type { AgentState } from "../nodes/agent-state.ts";
import { isStillMounted } from "../volumes/annotations.ts";
import type { NodeUse, VolumeUse } from "../volumes/use.ts";

export interface EntryLookup {
  readonly agentStates: { readonly of: (node: string) => Pick<AgentState, "kind"> };
  /** What nodes have reported since the aggregator began to lead. */
  readonly fleet: { readonly view: (node: string) => object | undefined };
  readonly cluster: {
    /** A pod that exists, or did until recently. */
    readonly podByUid: (uid: string) => Pick<Pod, "key"> | undefined;
    readonly isPodThere: (uid: string) => boolean;
  };
}

/** One entry of a list contains at most so many of anything. */
const MOST_ITEMS = 32;

function capped<S, T>(values: readonly S[], toItem: (value: S) => T): { items: T[]; omitted: number } {
  return { items: values.slice(0, MOST_ITEMS).map(toItem), omitted: Math.max(0, values.length - MOST_ITEMS) };
}

function mountedOnOf(uses: readonly NodeUse[], { agentStates, cluster }: EntryLookup): ClaimEntry["live"]["mountedOn"] {
  return capped(uses, ({ node, pods }) => ({
    node,
    state: agentStates.of(node).kind,
    pods: capped(pods, ({ uid, name }) => ({
      uid,
      name: cluster.podByUid(uid)?.key ?? name ?? null,
      gone: !cluster.isPodThere(uid),
    })),
  }));
}

function phaseSinceOf(since: PhaseSince | undefined): Pick<ClaimEntry, "phaseSince" | "phaseSinceFrom"> {
  if (since === undefined) return { phaseSince: null, phaseSinceFrom: null };
  return { phaseSince: formatSecondsUp(since.ms), phaseSinceFrom: since.from };
}

/** The last use, and an unobserved time after it, as stored on a claim or its volume. */
function lastUseOf({
  lastUse: use,
  gap,
}: Partial<Pick<ClaimStatus, "lastUse" | "gap">> = {}): Pick<ClaimEntry, "lastUse" | "blindGap"> {
  return {
    lastUse: use
      ? {
          release: use.id,
          node: use.node ?? null,
          pod: use.pod ?? null,
          podUid: use.podUid ?? null,
          releasedAt: formatMillisecondsUp(use.byMs),
          uncertaintyMs: use.widthMs ?? null,
          evidence: use.evidence,
        }
      : null,
    blindGap: gap ? { from: formatMillisecondsUp(gap.fromMs), to: formatMillisecondsUp(gap.toMs) } : null,
  };
}

function storedNodesOf(stored: ClaimStatus["mountedOn"]): ClaimEntry["mountedOn"] {
  return stored === undefined ? null : { nodes: [...stored.nodes], more: stored.more };
}

/** How a claim is used, by all that is known. `NotWatched`: bound, no status yet. `NotBound`: without a volume. */
export type UseStatus = ClaimEntry["status"];

export interface ClaimObservation extends Pick<ClaimFacts, "claim" | "pendingNodes"> {
  readonly use: VolumeUse;
  /** Pods that refer to the claim and are not over. */
  readonly references: readonly Pod[];
  /** The claim is being deleted, and protection alone keeps it. */
  readonly isDeletionHeld?: boolean | undefined;
  readonly phaseSince?: PhaseSince | undefined;
}

/** How a claim is used, by its stored status alone. */
export function writtenStatus({ status, phase }: Claim): UseStatus {
  if (status === undefined) return phase === "Bound" ? "NotWatched" : "NotBound";
  if (status.unused) return "Unused";
  return status.reason === "Mounted" ? "Mounted" : "Referenced";
}

/** In use when either side says so: the stored status may be behind, and a Stale node shows nothing. */
export function useStatusOf({ claim, use, references }: Omit<ClaimObservation, "pendingNodes">): UseStatus {
  const written = writtenStatus(claim);
  if (use.used.length > 0 || written === "Mounted") return "Mounted";
  return references.length > 0 ? "Referenced" : written;
}

export function claimEntryOf(observed: ClaimObservation, lookup: EntryLookup): ClaimEntry {
  const { claim, use, references, pendingNodes } = observed;
  const { namespace, name, uid, phase, isDeleting, storageClass, capacity, volume, status, upstream } = claim;
  const known = useStatusOf(observed);
  const usedOn = use.used.map(({ node }) => node);
  return {
    namespace,
    name,
    uid,
    phase,
    ...phaseSinceOf(observed.phaseSince),
    deleting: isDeleting,
    deletionHeld: observed.isDeletionHeld === true,
    storageClass: storageClass ?? null,
    capacity: capacity ?? null,
    volume: volume ?? null,
    status: known,
    since: sinceOf(claim, known),
    condition: conditionOf(claim),
    ...lastUseOf(status),
    mountedOn: storedNodesOf(status?.mountedOn),
    live: {
      mountedOn: mountedOnOf(use.used, lookup),
      stagedOn: capped(use.staged, (node) => ({ node, state: lookup.agentStates.of(node).kind })),
      references: capped(references, ({ key, node }) => ({ pod: key, node: node ?? null })),
      pendingNodes: capped(oncePerNode(pendingNodes), (one) => pendingNodeOf(one, lookup)),
      podsUnwatched: pendingNodes.some(({ node }) => node === UNWATCHED),
    },
    pending: waitsToBeUnused({ isEligible: isEligible(claim), usedOn, references, pendingNodes }),
    kubernetes: kubernetesOf(upstream),
    unusedWhileMounted: known === "Mounted" && upstream?.unused === true,
  };
}

/** The stored time belongs to the stored state. It stays when only the reason of a use changes. */
function sinceOf({ status }: Claim, known: UseStatus): string | null {
  const isUnused = known === "Unused";
  return status === undefined || status.unused !== isUnused ? null : formatSecondsUp(status.sinceMs);
}

function conditionOf({ status }: Claim): ClaimEntry["condition"] {
  if (status === undefined) return null;
  const { unused, reason, message, sinceMs } = status;
  return { status: unused ? "True" : "False", reason, message, since: formatSecondsUp(sinceMs) };
}

/** A node may be pending for several reasons; the first one counts. */
function oncePerNode(pendingNodes: readonly PendingNode[]): readonly PendingNode[] {
  const nodes = new Map(pendingNodes.toReversed().map((one) => [one.node, one]));
  nodes.delete(UNWATCHED);
  return [...nodes.values()].toReversed();
}

const WHY = { "pod-ended": "pod-ended", "was-mounted": "was-mounted", attached: "attached", unwatched: "unobserved" };

function pendingNodeOf({ node, isSilent, why }: PendingNode, { fleet }: EntryLookup) {
  const due = fleet.view(node) === undefined ? "Unreported" : "ScanDue";
  return { node, state: isSilent ? "Stale" : due, why: why === undefined ? "start" : WHY[why] };
}

function kubernetesOf(upstream: Claim["upstream"]): ClaimEntry["kubernetes"] {
  if (upstream === undefined) return null;
  const { unused, sinceMs } = upstream;
  return { unused, since: sinceMs === undefined ? null : formatSecondsUp(sinceMs) };
}

/** The kubelet unstages a volume seconds after its last use. Later it does not go by itself. Milliseconds. */
const LEAKED_AFTER_MS = 300_000;

export interface VolumeObservation {
  readonly volume: Volume;
  readonly use: VolumeUse;
  /** Pods that name its claim and are not over. */
  readonly references: readonly Pod[];
  /** Nodes that the API shows it attached to, about to be, or in use on. */
  readonly attached: readonly string[];
  /** Since when it is staged on a node and known to be unused there. Milliseconds since the epoch. */
  readonly idleSince: (node: string) => number | undefined;
  /** The last use in the status of its claim; undefined where that claim is gone. */
  readonly claimUse?: Pick<ClaimStatus, "lastUse" | "gap"> | undefined;
  readonly phaseSince?: PhaseSince | undefined;
  readonly nowMs: number;
}

/** It has been staged there for long although no pod uses it there. */
function isLeakedOn(node: string, { idleSince, references, nowMs }: VolumeObservation): boolean {
  const sinceMs = idleSince(node);
  // A pod that has just been bound to the node may be about to use it.
  const isWanted = references.some((pod) => pod.node === node);
  return sinceMs !== undefined && nowMs - sinceMs >= LEAKED_AFTER_MS && !isWanted;
}

export function volumeEntryOf(observed: VolumeObservation, lookup: EntryLookup): VolumeEntry {
  const { volume, use, attached, idleSince } = observed;
  const { key, uid, phase, storageClass, capacity, reclaimPolicy, csi, claim, annotations } = volume;
  const stagedOn = capped(use.staged, (node) => {
    const sinceMs = idleSince(node);
    const unusedSince = sinceMs === undefined ? null : formatMillisecondsUp(sinceMs);
    return { node, state: lookup.agentStates.of(node).kind, unusedSince, leaked: isLeakedOn(node, observed) };
  });
  return {
    name: key,
    uid,
    phase,
    ...phaseSinceOf(observed.phaseSince),
    storageClass: storageClass ?? null,
    capacity: capacity ?? null,
    reclaimPolicy: reclaimPolicy ?? null,
    driver: csi?.driver ?? null,
    claim: claimOf(volume),
    live: { mountedOn: mountedOnOf(use.used, lookup), stagedOn, attachedTo: capped(attached, (node) => node) },
    leaked: use.staged.some((node) => isLeakedOn(node, observed)),
    stillMounted: isStillMounted(volume, [...use.used.map(({ node }) => node), ...use.staged]),
    mountedOn: storedNodesOf(readVolumeMark(uid, annotations?.mountedOn)),
    ...lastUseOf(observed.claimUse ?? (claim && readCopiedUse(claim.uid, annotations?.lastUse))),
  };
}

function claimOf({ claim }: Volume): VolumeEntry["claim"] {
  if (claim === undefined) return null;
  const slash = claim.key.indexOf("/");
  return { namespace: claim.key.slice(0, slash), name: claim.key.slice(slash + 1), uid: claim.uid };
}
