import type { NodeMessage } from "../../common/storage/node-report.ts";
import { mayBeMounted } from "../../common/storage/node-selector.ts";
import { parseNodeSelector } from "../../common/storage/node-selector-terms.ts";
import type { AgentState } from "./agent-state.ts";
import type { Node, Volume } from "./cluster-objects.ts";
import type { Receipt } from "./fleet.ts";
import { reportClock } from "./report-clock.ts";
import type { GapTime } from "./watch-history.ts";

/**
 * What neither side observed. A use is observed by the agent of its node, which reads the mount table, or by a replica, which watches pods.
 * Where both were away for a time a whole use may lie in it: the claims that could be used there count as used until the agent's first
 * read after it, because a pod that vanished meanwhile may have left its mount behind until then.
 *
 * What is promised:
 * - Where an agent watched, or a replica watched pods, nothing is moved: a use is told by its unmount record, or by its pod. Of a claim that
 *   was in use when the gap began a pod may be forgotten in it: what an agent with a gap cannot tell of the time before counts, too.
 * - Where a gap of the pod watch and a gap of a node's agent overlap, claims that could be used on that node are unused since the end
 *   of the agent's gap at the earliest. It may be later than that of the pod watch: see above.
 * - The time before a node's boot is a gap where nothing of it was told before: uses of it had ended when the boot began.
 * - Of volumes that show no mount (hostPath), wherever they can be used, and on nodes without an agent, pods are all there is: until the
 *   end of the gap.
 * - A node that has not answered ten minutes after the gap (`--no-agent-after`), or is gone, counts until the end of the gap; when it
 *   answers after all, until the end of its agent's gap.
 * - No node counts whose kubelet has not renewed its Lease since before the gap, that was made after it, or that the volume's node
 *   affinity excludes.
 * - A gap that begins before a node has answered of the one before is one gap for that node, with what was watched in between.
 * - Not covered: a node that was deleted, or made and deleted, within a gap and does not come back within an hour, or comes back with an
 *   empty disk, takes with it what its agent had not told; a use that lies within a gap and between two scans of the mount table (a tenth
 *   of a second apart, or ten times what a slow read takes); who edits labels of nodes or the Lease;
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
  /** When its last complete scan began, never too late: up to then it can tell, since a scan shows one moment of the time that it takes. */
  readonly scanBeganMs: number;
}

/** Dates what a report says of its agent's gaps. */
export function agentCoverage(message: NodeMessage, receipt: Pick<Receipt, "atMs" | "widthMs">): AgentCoverage {
  const at = reportClock(message, receipt);
  return {
    bootedAfterMs: at.earliest(0),
    bootedByMs: at.wall(0),
    isFirstBoot: message.firstBoot ?? false,
    agentGaps: message.agentGaps.map(({ from = 0, to }) => ({ fromMs: at.earliest(from), toMs: at.wall(to) })),
    scanBeganMs: at.earliest(message.scan.beganAt),
  };
}

/** A time in which a claim may have been used unobserved. */
export interface UnobservedTime extends AgentGapTime {
  /** Before a gap: counts only for what was in use when the gap began. */
  readonly isBefore: boolean;
  /** No replica is known to have watched before the gap: counts only for what is dated before its end, which is this. */
  readonly datedBeforeMs?: number | undefined;
}

/** A node in view of a gap. */
export interface GapNode {
  readonly coverage: AgentCoverage | undefined;
  readonly agentState: AgentState["kind"];
  readonly createdAtMs: number | undefined;
  /** It should have answered long ago. */
  readonly isOverdue: boolean;
}

/** In which times a use on a node can have begun in a gap unobserved; an open answer is still to come. */
export interface GapAnswer {
  readonly isOpen: boolean;
  readonly times: readonly UnobservedTime[];
}

/** What is known of uses on a node in a gap. */
export function answerOf(gap: GapTime, node: GapNode): GapAnswer {
  const { coverage, agentState, createdAtMs, isOverdue } = node;
  const isNew = isNewerThan(gap, createdAtMs);
  if (coverage !== undefined && coverage.scanBeganMs >= gap.toMs)
    return { isOpen: false, times: unobservedBy(coverage, gap, isNew) };
  // What was made after the gap had no life before, unless its agent says that it is an older machine.
  if (isNew) return { isOpen: true, times: [] };
  const isLost = agentState === "NoAgent" || agentState === "Gone";
  return { isOpen: !isLost, times: isLost || (isOverdue && agentState === "Stale") ? [timeOf(gap)] : [] };
}

export function isNewerThan({ toMs }: GapTime, createdAtMs: number | undefined): boolean {
  return createdAtMs !== undefined && createdAtMs >= toMs;
}

function unobservedBy(coverage: AgentCoverage, gap: GapTime, isNewObject: boolean): readonly UnobservedTime[] {
  const all = timeOf(gap);
  const { bootedAfterMs, bootedByMs, isFirstBoot, agentGaps } = coverage;
  // A machine that first came up after the gap had no life before. One whose Node object was made anew may have been off and on again.
  const isNew = isNewObject && bootedAfterMs >= all.toMs && isFirstBoot;
  const times = isNew ? agentGaps : [{ fromMs: Number.NEGATIVE_INFINITY, toMs: bootedByMs }, ...agentGaps];
  const during = spanOf(times.filter(({ fromMs, toMs }) => fromMs < all.toMs && toMs >= all.fromMs));
  const [before] = times.filter(({ toMs }) => toMs < all.fromMs).toSorted((one, other) => other.toMs - one.toMs);
  return [
    // What was used then was known from pods only, and those who knew may have forgotten it in the gap.
    ...(before === undefined ? [] : [{ ...before, isBefore: true }]),
    ...(during === undefined ? [] : [{ ...all, fromMs: Math.max(during.fromMs, all.fromMs), toMs: during.toMs }]),
  ];
}

/** The gap itself: what pods did in it is not known. */
export function timeOf({ fromMs, toMs }: GapTime): UnobservedTime {
  if (fromMs === undefined) return { fromMs: Number.NEGATIVE_INFINITY, toMs, isBefore: false, datedBeforeMs: toMs };
  return { fromMs, toMs, isBefore: false };
}

/** Of each kind of such times the one that spans them all. */
export function spansOf(times: readonly UnobservedTime[]): readonly UnobservedTime[] {
  const kinds = Map.groupBy(times, ({ isBefore, datedBeforeMs }) => `${isBefore} ${datedBeforeMs}`);
  return [...kinds.values()].flatMap((same) => same.slice(0, 1).map((one) => ({ ...one, ...spanOf(same) })));
}

/** Where a volume can be used, and whether that can be seen. */
export type VolumeReach = Pick<Volume, "isHostPath" | "nodeAffinity">;

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
