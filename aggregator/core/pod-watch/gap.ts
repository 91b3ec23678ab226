import type { Gap } from "../../../common/storage/claim-status.ts";
import { mayBeMounted } from "../../../common/storage/node-selector.ts";
import { parseNodeSelector } from "../../../common/storage/node-selector-terms.ts";
import type { Node, Volume } from "../cluster-objects.ts";
import type { AgentState } from "../nodes/agent-state.ts";
import type { NodeView } from "../nodes/node-view.ts";
import { type GapTime, gapOf, isUpTo, type WatchGap } from "./history.ts";

/**
 * A time in which neither the node's agent nor a replica watched, so that a whole use may lie in it. Claims that could
 * be used on the node count as used until the agent's first scan afterwards: a pod that vanished may have left its
 * mount until then. Minus infinity: its begin is unknown. Details: docs/claim-status.md, "Unobserved time".
 */
export interface UnobservedTime extends Gap {
  /** Before a gap: counts only for what was in use when the gap began. */
  readonly isBefore: boolean;
  /** No replica is known to have watched before the gap: counts only for times before its end, which this is. */
  readonly datedBeforeMs?: number | undefined;
}

export interface GapNode {
  readonly name: string;
  /** Undefined also while it is unknown whether the Node is up to date. */
  readonly object: (Node & { readonly resourceVersion: string }) | undefined;
  readonly view: NodeView | undefined;
  readonly agentState: AgentState["kind"];
  /** Its time to answer is over. */
  readonly isOverdue: boolean;
}

/** When a use on a node may have begun unobserved in a gap; an open answer is still to come. */
export interface GapAnswer {
  readonly isOpen: boolean;
  readonly times: readonly UnobservedTime[];
}

export function answerOf(watchGap: WatchGap, { name, object, view, agentState, isOverdue }: GapNode): GapAnswer {
  if (object !== undefined && wasAway(watchGap, object)) return { isOpen: false, times: [] };
  const gap = gapOf(watchGap, name);
  const isNew = isNewer(gap, object);
  // A scan shows one moment of the time that it takes: its report covers the time up to its begin.
  if (view !== undefined && view.scanBeganMs >= gap.toMs)
    return { isOpen: false, times: unobservedBy(view, gap, isNew) };
  // Also where its object was created after the gap: the machine may be older, and no agent says that it is not.
  const isLost = agentState === "NoAgent" || agentState === "Gone";
  const isSilent = isOverdue && agentState === "Stale" && !isNew;
  return { isOpen: !isLost, times: isLost || isSilent ? [timeOf(gap)] : [] };
}

/** Its Node object was created after the gap. */
export function isNewer({ toMs }: GapTime, object: Pick<Node, "createdAtMs"> | undefined): boolean {
  return (object?.createdAtMs ?? Number.NEGATIVE_INFINITY) >= toMs;
}

/** It was unreachable before the gap, and its object has not changed since: a kubelet that is back does that in seconds. */
function wasAway({ reached = "", open }: WatchGap, node: NonNullable<GapNode["object"]>): boolean {
  // A node that the gap names has not answered for an earlier gap, in which it was up.
  return node.isUnreachable === true && !open.includes(node.key) && isUpTo(node.resourceVersion, reached);
}

function unobservedBy(view: NodeView, gap: GapTime, isNewObject: boolean): readonly UnobservedTime[] {
  const all = timeOf(gap);
  const { bootedAfterMs, bootedByMs, isFirstBoot, forgottenByMs } = view;
  // A machine that first started after the gap did not exist before. One whose Node object was created anew may have been off and on.
  const isNew = isNewObject && bootedAfterMs >= all.toMs && isFirstBoot;
  const unknown = [isNew ? undefined : bootedByMs, forgottenByMs].filter((ms) => ms !== undefined);
  const times: readonly Gap[] = [
    ...unknown.map((toMs) => ({ fromMs: Number.NEGATIVE_INFINITY, toMs })),
    ...view.agentGaps.map(({ fromMs, toMs }) => ({ fromMs: Math.max(fromMs, bootedAfterMs), toMs })),
  ];
  const during = spanOf(times.filter(({ fromMs, toMs }) => fromMs < all.toMs && toMs >= all.fromMs));
  const [before] = times.filter(({ toMs }) => toMs < all.fromMs).toSorted((one, other) => other.toMs - one.toMs);
  return [
    // Uses of that time were known from pods only, and a pod that was known may be forgotten in the gap.
    ...(before === undefined ? [] : [{ ...before, isBefore: true }]),
    ...(during === undefined ? [] : [{ ...all, fromMs: Math.max(during.fromMs, all.fromMs), toMs: during.toMs }]),
  ];
}

/** The gap itself, in which pods went unobserved. */
export function timeOf({ fromMs, toMs }: GapTime): UnobservedTime {
  if (fromMs === undefined) return { fromMs: Number.NEGATIVE_INFINITY, toMs, isBefore: false, datedBeforeMs: toMs };
  return { fromMs, toMs, isBefore: false };
}

/** Of each kind of such times the one that spans them all. */
export function spansOf(times: readonly UnobservedTime[]): readonly UnobservedTime[] {
  const kinds = Map.groupBy(times, ({ isBefore, datedBeforeMs }) => `${isBefore} ${datedBeforeMs}`);
  return [...kinds.values()].flatMap((same) => same.slice(0, 1).map((one) => ({ ...one, ...spanOf(same) })));
}

/** False for a node that the volume's affinity is proven to exclude, by the node's labels now. */
export function reachOf(
  { nodeAffinity }: Pick<Volume, "nodeAffinity">,
  nodeOf: (name: string) => Node | undefined,
): (name: string) => boolean {
  const affinity = nodeAffinity === undefined ? undefined : parseNodeSelector(JSON.parse(nodeAffinity));
  return (name) => {
    const labels = affinity && nodeOf(name)?.labels;
    return affinity === undefined || labels === undefined || mayBeMounted(affinity, labels);
  };
}

/** From the first begin to the last end; undefined without any. */
export function spanOf(times: readonly Gap[]): Gap | undefined {
  if (times.length === 0) return undefined;
  const [begins, ends] = [times.map(({ fromMs }) => fromMs), times.map(({ toMs }) => toMs)];
  return { fromMs: Math.min(...begins), toMs: Math.max(...ends) };
}
