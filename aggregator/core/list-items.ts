import type { PhaseSince, PhaseSource } from "../../common/storage/phase-since.ts";
import { formatSecondsUp } from "../../common/storage/timestamp.ts";
import type { NodeUse, PodUse } from "./volume-use.ts";

/** What the aggregator makes of a node: see `Standing`. */
export type NodeState = "agent" | "silent" | "agentless" | "gone";

/** What the entries of lists say of nodes and pods. */
export interface NodeWords {
  readonly stateOf: (node: string) => NodeState;
  /** It has reported since the aggregator started. */
  readonly isKnown: (node: string) => boolean;
  /** `namespace/name` of a pod that is there or was not long ago. */
  readonly podName: (uid: string) => string | undefined;
  /** The API has the pod. */
  readonly isPodThere: (uid: string) => boolean;
}

/** The first of many; a volume may be mounted on thousands of nodes. */
export interface Capped<T> {
  readonly items: readonly T[];
  /** How many more there are. */
  readonly omitted: number;
}

/** No more of anything than this stands in one entry of a list. */
export const MOST_ITEMS = 32;

export function capped<S, T>(values: readonly S[], toItem: (value: S) => T): Capped<T> {
  return { items: values.slice(0, MOST_ITEMS).map(toItem), omitted: Math.max(0, values.length - MOST_ITEMS) };
}

/** Since when an object is in its phase, and what that is known from. */
export interface PhaseSinceItem {
  readonly phaseSince: string | null;
  readonly phaseSinceFrom: PhaseSource | null;
}

export function phaseSinceItem(since: PhaseSince | undefined): PhaseSinceItem {
  if (since === undefined) return { phaseSince: null, phaseSinceFrom: null };
  return { phaseSince: formatSecondsUp(since.ms), phaseSinceFrom: since.from };
}

/** A node that has a volume mounted by its last report. */
export interface HolderItem {
  readonly node: string;
  readonly state: NodeState;
  readonly pods: Capped<HolderPod>;
}

/** A pod that has a volume mounted. */
export interface HolderPod {
  readonly uid: string;
  readonly name: string | null;
  /** The API knows no such pod: the mount was left behind, or is about to end. */
  readonly gone: boolean;
}

export function holderItem({ node, pods }: NodeUse, words: NodeWords): HolderItem {
  const podItem = ({ uid, name }: PodUse): HolderPod => ({
    uid,
    name: words.podName(uid) ?? name ?? null,
    gone: !words.isPodThere(uid),
  });
  return { node, state: words.stateOf(node), pods: capped(pods, podItem) };
}
