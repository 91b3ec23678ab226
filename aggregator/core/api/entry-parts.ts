import type { ClaimStatus } from "../../../common/storage/claim-status.ts";
import type { ClaimEntry } from "../../../common/storage/list-lines.ts";
import type { PhaseSince } from "../../../common/storage/phase-since.ts";
import { formatMillisecondsUp, formatSecondsUp } from "../../../common/storage/timestamp.ts";
import type { AgentState } from "../nodes/agent-state.ts";
import type { NodeUse } from "../volumes/use.ts";

/** What the entries of lists say of nodes and pods. */
export interface EntryLookup {
  readonly stateOf: (node: string) => AgentState["kind"];
  /** It has reported since the aggregator began to lead. */
  readonly isKnown: (node: string) => boolean;
  /** `namespace/name` of a pod that exists, or did until recently. */
  readonly podName: (uid: string) => string | undefined;
  /** The API has the pod. */
  readonly isPodThere: (uid: string) => boolean;
}

/** One entry of a list contains at most so many of anything. */
const MOST_ITEMS = 32;

export function capped<S, T>(values: readonly S[], toItem: (value: S) => T): { items: T[]; omitted: number } {
  return { items: values.slice(0, MOST_ITEMS).map(toItem), omitted: Math.max(0, values.length - MOST_ITEMS) };
}

/** Where a volume is mounted by the nodes' last reports, and by which pods. */
export function mountedOnOf(uses: readonly NodeUse[], lookup: EntryLookup): ClaimEntry["live"]["mountedOn"] {
  return capped(uses, ({ node, pods }) => ({
    node,
    state: lookup.stateOf(node),
    pods: capped(pods, ({ uid, name }) => ({
      uid,
      name: lookup.podName(uid) ?? name ?? null,
      gone: !lookup.isPodThere(uid),
    })),
  }));
}

/** Since when an object is in its phase, and how that is known. */
export function phaseSinceOf(since: PhaseSince | undefined): Pick<ClaimEntry, "phaseSince" | "phaseSinceFrom"> {
  if (since === undefined) return { phaseSince: null, phaseSinceFrom: null };
  return { phaseSince: formatSecondsUp(since.ms), phaseSinceFrom: since.from };
}

/** The last use, and an unobserved time after it, as stored on a claim or its volume. */
export function lastUseOf({
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

/** The nodes of an annotation. */
export function storedNodesOf(stored: ClaimStatus["mountedOn"]): ClaimEntry["mountedOn"] {
  return stored === undefined ? null : { nodes: [...stored.nodes], more: stored.more };
}
