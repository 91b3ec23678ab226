import { formatMillisecondsUp } from "../../common/storage/timestamp.ts";
import type { Unobserved } from "../core/claims/gap.ts";
import type { Volume } from "../core/cluster-objects.ts";
import type { AgentState, AgentStateLimits } from "../core/nodes/agent-state.ts";
import type { NodeView } from "../core/nodes/node-view.ts";
import {
  answerOf,
  isNewerThan,
  reachOf,
  spansOf,
  timeOf,
  type UnobservedTime,
  wasAway,
} from "../core/pod-watch/gap.ts";
import { gapOf, isUpTo, type WatchGap } from "../core/pod-watch/history.ts";
import type { Cluster, SharedParts } from "../sources/cluster.ts";
import { type Backlog, Checkpoint, type PodWatchHistory } from "./pod-watch-history.ts";

interface GapAnswersParts extends Pick<SharedParts, "clock" | "logger">, Backlog {
  readonly coverage: Pick<PodWatchHistory, "gap" | "history" | "settle" | "update">;
  readonly cluster: Pick<Cluster, "node" | "nodeNames" | "nodesReached" | "ensureNodes">;
  /** The node's last accepted report. */
  readonly viewOf: (node: string) => NodeView | undefined;
  readonly agentStateOf: (node: string) => AgentState["kind"];
  /** Any claim may have to be decided anew. */
  readonly onChange: () => void;
  /** The node's answer is taken into account: claims that waited for it may be decided. */
  readonly onAnswered: (node: string) => void;
}

type GapLimits = Pick<AgentStateLimits, "nodeStaleAfterMs" | "noAgentAfterMs">;

/** How often answers are checked. Milliseconds. */
const CHECK_MS = 1_000;
/** The watch of a few nodes may bring nothing for a minute: after this time the nodes are listed. Milliseconds. */
const NODES_MS = 2_000;
/** A node whose object was deleted and created again may answer for so long after a gap, even when all others have. Milliseconds. */
const LATE_MS = 3_600_000;
/** For so many different node affinities the unobserved times are cached. */
const MOST_KINDS = 10_000;

/**
 * What went unobserved in a gap, in which no replica watched pods. Each node that existed then answers once, by its first scan after the
 * gap. Its answer counts for the whole session. Another interruption of the watch asks the nodes anew and changes no earlier answer.
 */
export class GapAnswers {
  readonly #parts: GapAnswersParts;
  readonly #limits: GapLimits;
  /** The last gap, also after it is settled. */
  #gap: WatchGap | undefined;
  #knownSince = 0;
  /** The nodes that existed in it. */
  #nodes: ReadonlySet<string> = new Set();
  readonly #answered = new Set<string>();
  /** As of this resource version Node objects show which nodes were away in the gap. */
  #nodesAt = "";
  /** Every node has answered, or had its time to: claims can be decided. */
  #isReady = false;
  /** Nodes that have not answered by now count as unobserved, and delay no claim. */
  #isGivenUp = false;
  /** By node: what is known of this session's gaps, and what decisions use of it. */
  readonly #found = new Map<string, readonly UnobservedTime[]>();
  #judged: ReadonlyMap<string, readonly UnobservedTime[]> = new Map();
  #judgedGaps: readonly UnobservedTime[] = [];
  readonly #ofKind = new Map<string, readonly UnobservedTime[]>();
  #hasNews = false;
  /** The nodes that have not answered yet. */
  readonly #checkpoint: Checkpoint<readonly string[]>;

  constructor(parts: GapAnswersParts, limits: GapLimits) {
    this.#parts = parts;
    this.#limits = limits;
    this.#checkpoint = new Checkpoint(parts);
  }

  /** Checks the answers until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#check();
      await this.#parts.clock.sleep(CHECK_MS, signal);
    }
  }

  /** The node's last scan began before the end of the gap: a scan now would be its answer. */
  isPending(node: string): boolean {
    const gap = this.#openGap();
    if (gap === undefined || !this.#nodes.has(node) || this.#answered.has(node)) return false;
    return (this.#parts.viewOf(node)?.scanBeganMs ?? Number.POSITIVE_INFINITY) < gap.toMs;
  }

  /** When a claim with this volume may have been used unobserved. */
  unobservedOf(volume: Volume | undefined): Unobserved {
    const gap = this.#openGap();
    const found = { times: this.#timesOf(volume), lastToMs: this.#gap?.toMs };
    if (gap === undefined) return found;
    const { toMs } = gap;
    const unanswered = this.#isGivenUp ? undefined : { toMs, nodes: () => this.#open() };
    return { ...found, unanswered, ...(this.#isReady ? {} : { openUntilMs: toMs }) };
  }

  /** Nodes that have not answered yet, without those that were created after the gap. */
  #open(): readonly string[] {
    return [...this.#nodes].filter((node) => !this.#answered.has(node) && !this.#isNewer(node));
  }

  #timesOf({ isHostPath = false, nodeAffinity }: Partial<Volume> = {}): readonly UnobservedTime[] {
    // A node that was deleted in the gap may have used it, and only the nodes that are left are known.
    if (isHostPath) return this.#judgedGaps;
    const kind = nodeAffinity ?? "";
    const known = this.#ofKind.get(kind);
    if (known !== undefined) return known;
    const mayBeOn = reachOf({ nodeAffinity }, this.#parts.cluster.node);
    const times = spansOf([...this.#judged].flatMap(([node, found]) => (mayBeOn(node) ? found : [])));
    if (this.#ofKind.size >= MOST_KINDS) this.#ofKind.clear();
    this.#ofKind.set(kind, times);
    return times;
  }

  /** The gap as it is handed over. */
  #openGap(): WatchGap | undefined {
    const gap = this.#parts.coverage.gap();
    if (gap !== undefined && gap.toMs !== this.#gap?.toMs) this.#begin(gap);
    return gap;
  }

  #begin(gap: WatchGap): void {
    this.#gap = gap;
    this.#knownSince = this.#parts.clock.monotonicMs();
    this.#nodes = new Set([...gap.open.keys(), ...(gap.isForAll ? this.#parts.cluster.nodeNames() : [])]);
    this.#answered.clear();
    this.#checkpoint.reset();
    this.#isReady = false;
    this.#isGivenUp = false;
    this.#nodesAt = this.#parts.coverage.history?.reached ?? "";
  }

  #isLongerThan(ms: number): boolean {
    return this.#parts.clock.monotonicMs() - this.#knownSince > ms;
  }

  get #isLate(): boolean {
    return this.#isLongerThan(this.#limits.nodeStaleAfterMs);
  }

  get #isOverdue(): boolean {
    return this.#isLongerThan(this.#limits.noAgentAfterMs);
  }

  get #hasNodes(): boolean {
    return isUpTo(this.#nodesAt, this.#parts.cluster.nodesReached() ?? "");
  }

  #check(): void {
    // Without a Lease nothing else calls this: the next gap has to begin where this watch ends, not before it began.
    this.#parts.coverage.update();
    const open = this.#openGap();
    if (this.#gap === undefined || (open === undefined && this.#isLongerThan(LATE_MS))) return;
    if (this.#gap.reached !== undefined && !this.#hasNodes && !this.#isLate) {
      if (this.#isLongerThan(NODES_MS)) this.#parts.cluster.ensureNodes(this.#nodesAt);
      return;
    }
    const [wasReady, wasGivenUp] = [this.#isReady, this.#isGivenUp];
    this.#takeAnswers(this.#gap);
    // Claims with a time from before the gap have waited for this.
    if (this.#isReady && (this.#hasNews || !wasReady || this.#isGivenUp !== wasGivenUp)) this.#judge(this.#gap);
    else if (open !== undefined) this.#settle();
  }

  /** Takes in what nodes have answered since. */
  #takeAnswers(gap: WatchGap): void {
    const { cluster, viewOf, agentStateOf, onAnswered } = this.#parts;
    this.#isGivenUp = this.#isOverdue;
    // A node whose object was created since may have existed then, too. A gap that is open for named nodes has no others.
    for (const node of new Set([...this.#nodes, ...(gap.isForAll ? cluster.nodeNames() : [])])) {
      if (this.#answered.has(node)) continue;
      const object = cluster.node(node);
      const { isOpen, times } = answerOf(gapOf(gap, node) ?? gap, {
        view: viewOf(node),
        agentState: agentStateOf(node),
        createdAtMs: object?.createdAtMs,
        // Without the nodes every one may have been up: times move later than necessary.
        isAway: object !== undefined && this.#hasNodes && wasAway(gap, object),
        isOverdue: this.#isGivenUp,
      });
      this.#keep(node, times);
      if (isOpen) continue;
      this.#answered.add(node);
      onAnswered(node);
    }
    const hasHadItsTime = (node: string): boolean =>
      this.#answered.has(node) || this.#isNewer(node) || agentStateOf(node) === "Stale";
    this.#isReady ||= this.#isLate || [...this.#nodes].every(hasHadItsTime);
  }

  #keep(node: string, times: readonly UnobservedTime[]): void {
    const known = this.#found.get(node) ?? [];
    const found = spansOf([...known, ...times]);
    if (JSON.stringify(found) === JSON.stringify(known)) return;
    this.#found.set(node, found);
    this.#hasNews = true;
  }

  #isNewer(node: string): boolean {
    return this.#gap !== undefined && isNewerThan(this.#gap, this.#parts.cluster.node(node)?.createdAtMs);
  }

  /** From now on decisions use everything that was found. */
  #judge(gap: WatchGap): void {
    this.#hasNews = false;
    this.#judged = new Map(this.#found);
    this.#judgedGaps = spansOf([...this.#judgedGaps, timeOf(gap)]);
    this.#ofKind.clear();
    const nodes = [...this.#judged].flatMap(([node, times]) => (times.some(({ isBefore }) => !isBefore) ? [node] : []));
    this.#parts.logger.info(
      { to: formatMillisecondsUp(gap.toMs), nodes: nodes.length, examples: nodes.slice(0, 5) },
      "a time in which no replica watched pods is taken into account; nodes that did not watch either",
    );
    this.#parts.onChange();
  }

  /** Drops answers that are decided and stored from the hand-over; waits while a node may still answer soon. */
  #settle(): void {
    // A node that was created after the gap and has not reported for so long did not exist in it.
    const open = [...this.#nodes].filter(
      (node) => !this.#answered.has(node) && !(this.#isNewer(node) && this.#isOverdue),
    );
    if (!this.#isReady || (open.length > 0 && !this.#isOverdue)) return;
    const settled = this.#checkpoint.newest(open);
    if (settled !== undefined) this.#parts.coverage.settle(settled);
  }
}
