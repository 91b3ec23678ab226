import type { NodeMessage } from "../../common/storage/node-report.ts";
import { mayBeMounted } from "../../common/storage/node-selector.ts";
import { parseNodeSelector } from "../../common/storage/node-selector-terms.ts";
import type { AgentState } from "./agent-state.ts";
import type { Node, Volume } from "./cluster-objects.ts";
import type { Receipt } from "./fleet.ts";
import { reportClock } from "./report-clock.ts";
import type { WatchGap } from "./watch-history.ts";

/**
 * What nobody saw. A use is seen by the agent of its node, which reads the mount table, or by a replica, which watches pods. Where both
 * were away for a time a whole use may lie in it: the claims that could be used there count as used until the agent's first read
 * after it, because a pod that vanished meanwhile may have left its mount behind until then.
 *
 * What is promised:
 * - Where an agent watched, or a replica watched pods, nothing is moved: a use is told by its unmount record, or by its pod. Of a claim that was
 *   in use when the gap began a pod may be forgotten in it: what an agent with a gap cannot tell of the time before counts, too.
 * - Where a gap of the pod watch and a gap of a node's agent overlap, claims that could be used on that node are unused since the end
 *   of the agent's gap at the earliest. It may be later than that of the pod watch: see above.
 * - The time before a node's boot is a gap where nothing of it was told before: uses of it had ended when the boot began.
 * - Of volumes that show no mount (hostPath), wherever they can be used, and on nodes without an agent, pods are all there is: until the
 *   end of the gap.
 * - A node that has not told ten minutes after the gap (`--no-agent-after`), or is gone, counts until the end of the gap; when it
 *   tells after all, until the end of its gap.
 * - No node counts whose kubelet has not renewed its Lease since before the gap, that was made after it, or that the volume's node
 *   affinity excludes.
 * - Not covered: a node that was deleted, or made and deleted, within a gap and does not come back within an hour, or comes back with an
 *   empty disk, takes with it what its agent had not told; a use that lies within a gap and between two reads of the mount table (a tenth
 *   of a second apart, or ten times what a slow read takes); whoever edits labels of nodes or the Lease;
 *   before the first replica ever, a use of a claim of which nothing was written, by a pod that was gone by then, while its agent did not
 *   read: all claims would have to wait for agents that come later.
 */
export interface AgentGapTime {
  /** Never too late; minus infinity where it is not known. Milliseconds of the API server's wall clock. */
  readonly fromMs: number;
  /** Never too early. */
  readonly toMs: number;
}

/** What a node's agent can tell of the past, by its last accepted report. */
export interface AgentCoverage {
  /** When the boot began: this is never too late, */
  readonly bootedAfterMs: number;
  /** and this is never too early. */
  readonly bootedByMs: number;
  /** No agent had a journal on the machine before; false also where that is not known. */
  readonly isFirstBoot: boolean;
  /** In this boot it did not watch. */
  readonly agentGaps: readonly AgentGapTime[];
  /** When its last complete read began, never too late: up to then it can tell, since a read shows one moment of the time that it takes. */
  readonly readBeganMs: number;
}

/** Dates what a report says of its agent's gaps. */
export function agentCoverage(message: NodeMessage, receipt: Pick<Receipt, "atMs" | "widthMs">): AgentCoverage {
  const at = reportClock(message, receipt);
  return {
    bootedAfterMs: at.earliest(0),
    bootedByMs: at.wall(0),
    isFirstBoot: message.firstBoot ?? false,
    agentGaps: message.agentGaps.map(({ from = 0, to }) => ({ fromMs: at.earliest(from), toMs: at.wall(to) })),
    readBeganMs: at.earliest(message.read.beganAt),
  };
}

/** A node in view of a gap. */
export interface GapNode {
  readonly sight: AgentCoverage | undefined;
  readonly agentState: AgentState["kind"];
  readonly createdAtMs: number | undefined;
  /** Its kubelet has not renewed its Lease since before the gap. */
  readonly isKubeletAway: boolean;
  /** It should have told long ago. */
  readonly isOverdue: boolean;
}

/** In which times a use on a node can have begun in a gap without anybody seeing it; an open word may still change. */
export interface NodeWord {
  readonly isOpen: boolean;
  readonly agentGaps: readonly AgentGapTime[];
  /**
   * The last time before the gap in which its agent did not watch: what was used there then was known from pods only, and those who
   * knew may have forgotten it in the gap.
   */
  readonly before?: AgentGapTime | undefined;
}

const NOTHING_UNSEEN: NodeWord = { isOpen: false, agentGaps: [] };

/** What is known of uses on a node in a gap. */
export function wordOn(gap: WatchGap, node: GapNode): NodeWord {
  const { sight, agentState, createdAtMs, isKubeletAway, isOverdue } = node;
  if (isKubeletAway) return NOTHING_UNSEEN;
  if (sight !== undefined && sight.readBeganMs >= gap.toMs) return told(gap, sight, isNewerThan(gap, createdAtMs));
  if (isNewerThan(gap, createdAtMs)) return NOTHING_UNSEEN;
  const isLost = agentState === "NoAgent" || agentState === "Gone";
  return { isOpen: !isLost, agentGaps: isLost || (isOverdue && agentState === "Stale") ? [timeOf(gap)] : [] };
}

function isNewerThan({ toMs }: WatchGap, createdAtMs: number | undefined): boolean {
  return createdAtMs !== undefined && createdAtMs >= toMs;
}

function told(gap: WatchGap, sight: AgentCoverage, isNewObject: boolean): NodeWord {
  const { fromMs, toMs } = timeOf(gap);
  const { bootedAfterMs, bootedByMs, isFirstBoot, agentGaps } = sight;
  // A machine that first came up after the gap had no life before. One whose Node object was made anew may have been off and on again.
  const isNew = isNewObject && bootedAfterMs >= toMs && isFirstBoot;
  const before = { fromMs: Number.NEGATIVE_INFINITY, toMs: bootedByMs };
  const times = isNew ? agentGaps : [before, ...agentGaps];
  return {
    isOpen: false,
    agentGaps: times
      .filter((time) => time.fromMs < toMs && time.toMs >= fromMs)
      .map((time) => ({ fromMs: Math.max(time.fromMs, fromMs), toMs: time.toMs })),
    before: times.filter((time) => time.toMs < fromMs).toSorted((one, other) => other.toMs - one.toMs)[0],
  };
}

/** The gap itself: what pods did in it is not known. */
export function timeOf({ fromMs = Number.NEGATIVE_INFINITY, toMs }: WatchGap): AgentGapTime {
  return { fromMs, toMs };
}

/** What all nodes have told of a gap so far. */
export interface GapWord {
  readonly gap: WatchGap;
  /** By the name of the node; only those with a time in which nobody saw. */
  readonly agentGaps: ReadonlyMap<string, readonly AgentGapTime[]>;
  /** By the name of the node: the last time before the gap in which its agent did not watch. */
  readonly before: ReadonlyMap<string, AgentGapTime>;
}

/** A time in which a claim may have been used unseen. */
export interface UnobservedTime extends AgentGapTime {
  /** Before a gap: counts only for what was in use when the gap began. */
  readonly isBefore: boolean;
  readonly gapEndedMs: number;
  /** Somebody is known to have watched before the gap. */
  readonly hasBegin: boolean;
}

/** Where a volume can be used, and whether that can be seen. */
export type VolumeReach = Pick<Volume, "isHostPath" | "nodeAffinity">;

/** The times in which such a volume may have been used unseen: in each gap and before it the one that spans them all. */
export function unobservedTimes(
  reach: VolumeReach,
  words: readonly GapWord[],
  nodeOf: (name: string) => Node | undefined,
): readonly UnobservedTime[] {
  const mayBeOn = reachOf(reach, nodeOf);
  return words.flatMap((word) => {
    const { gap, agentGaps, before } = word;
    const about = { gapEndedMs: gap.toMs, hasBegin: gap.fromMs !== undefined };
    // A node that was deleted in the gap may have had it: which nodes there were is known of those that are left only.
    if (reach.isHostPath) return [{ ...timeOf(gap), isBefore: false, ...about }];
    const ofReach = <T>(found: ReadonlyMap<string, T>): readonly T[] =>
      [...found].filter(([name]) => mayBeOn(name)).map(([, value]) => value);
    const [during, earlier] = [spanOf(ofReach(agentGaps).flat()), spanOf(ofReach(before))];
    return [
      ...(earlier === undefined ? [] : [{ ...earlier, isBefore: true, ...about }]),
      ...(during === undefined ? [] : [{ ...during, isBefore: false, ...about }]),
    ];
  });
}

/** False for a node that the volume's affinity is proven to exclude, by the labels that the node has now. */
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

/** From the first begin to the last end; nothing of none. */
export function spanOf(times: readonly AgentGapTime[]): AgentGapTime | undefined {
  return times.reduce<AgentGapTime | undefined>(
    (span, { fromMs, toMs }) =>
      span === undefined
        ? { fromMs, toMs }
        : { fromMs: Math.min(span.fromMs, fromMs), toMs: Math.max(span.toMs, toMs) },
    undefined,
  );
}
