import { formatMillisecondsUp } from "../../common/storage/timestamp.ts";
import type { Unobserved } from "../core/claims/gap.ts";
import type { Volume } from "../core/cluster-objects.ts";
import type { AgentState, AgentStateLimits } from "../core/nodes/agent-state.ts";
import type { NodeView } from "../core/nodes/node-view.ts";
import { answerOf, isNewer, reachOf, spansOf, timeOf, type UnobservedTime } from "../core/pod-watch/gap.ts";
import { isUpTo, type WatchGap } from "../core/pod-watch/history.ts";
import type { Cluster, SharedParts } from "../sources/cluster.ts";
import type { PodWatchHistory } from "./pod-watch-history.ts";

interface GapAnswersParts extends Pick<SharedParts, "clock" | "logger"> {
  readonly coverage: Pick<PodWatchHistory, "history" | "settle">;
  readonly cluster: Pick<Cluster, "node" | "nodeNames" | "nodesReached" | "ensureNodes">;
  readonly viewOf: (node: string) => NodeView | undefined;
  readonly agentStateOf: (node: string) => AgentState["kind"];
  /** Any claim may have to be decided anew. */
  readonly onChange: () => void;
}

type GapLimits = Pick<AgentStateLimits, "nodeStaleAfterMs" | "noAgentAfterMs">;

/** A node that was deleted and created again may answer so long after a gap, even after all others. Milliseconds. */
const LATE_MS = 3_600_000;
/** For so many different node affinities the unobserved times are cached. */
const MOST_KINDS = 10_000;

/**
 * What went unobserved in a gap. Each node that existed then answers once for the whole session, by its first scan
 * after the gap. Another interruption of the watch asks the nodes anew and changes no earlier answer.
 */
export class GapAnswers {
  readonly #parts: GapAnswersParts;
  readonly #limits: GapLimits;
  /** The last gap, also after it is settled. */
  #gap: WatchGap | undefined;
  #knownSince = 0;
  /** As of this resource version Node objects show which nodes were away in the gap. */
  #nodesAt = "";
  /** The nodes that existed when it became known, and those that have answered. */
  #nodes: ReadonlySet<string> = new Set();
  readonly #answered = new Set<string>();
  /** `ready`: all have answered or had their time to. `given-up`: who has not counts as unobserved, and delays no claim. */
  #stage: "waiting" | "ready" | "given-up" = "waiting";
  /** By node, and of the gaps themselves: what decisions use, of all gaps of this session. */
  readonly #times = new Map<string, readonly UnobservedTime[]>();
  #gapTimes: readonly UnobservedTime[] = [];
  readonly #ofKind = new Map<string, readonly UnobservedTime[]>();

  constructor(parts: GapAnswersParts, limits: GapLimits) {
    this.#parts = parts;
    this.#limits = limits;
  }

  /** When a claim with this volume may have been used unobserved. */
  unobservedOf(volume: Volume | undefined): Unobserved {
    const gap = this.#openGap();
    const times = this.#timesOf(volume);
    if (gap === undefined) return { times };
    const { toMs } = gap;
    const unanswered = this.#stage === "given-up" ? undefined : { toMs, nodes: () => this.#open() };
    return { times, unanswered, ...(this.#stage === "waiting" && { openUntilMs: toMs }) };
  }

  /** Nodes without an answer yet, with those seen since: they may have existed then. A gap for named nodes has no others. */
  #open(): readonly string[] {
    const present = this.#gap?.isForAll ? this.#parts.cluster.nodeNames() : [];
    return [...new Set([...this.#nodes, ...present]).difference(this.#answered)];
  }

  #timesOf({ isHostPath = false, nodeAffinity }: Partial<Volume> = {}): readonly UnobservedTime[] {
    // A node that was deleted in the gap may have used it, and only the nodes that are left are known.
    if (isHostPath) return this.#gapTimes;
    const kind = nodeAffinity ?? "";
    const known = this.#ofKind.get(kind);
    if (known !== undefined) return known;
    const mayBeOn = reachOf({ nodeAffinity }, this.#parts.cluster.node);
    const times = spansOf([...this.#times].flatMap(([node, found]) => (mayBeOn(node) ? found : [])));
    if (this.#ofKind.size >= MOST_KINDS) this.#ofKind.clear();
    this.#ofKind.set(kind, times);
    return times;
  }

  /** The gap as it is handed over. */
  #openGap(): WatchGap | undefined {
    const gap = this.#parts.coverage.history?.gap;
    if (gap !== undefined && gap.toMs !== this.#gap?.toMs) this.#begin(gap);
    return gap;
  }

  #begin(gap: WatchGap): void {
    this.#gap = gap;
    this.#knownSince = this.#parts.clock.monotonicMs();
    this.#nodesAt = this.#parts.coverage.history?.reached ?? "";
    this.#answered.clear();
    this.#nodes = new Set(gap.open);
    this.#nodes = new Set(this.#open());
    this.#stage = "waiting";
    this.#gapTimes = spansOf([...this.#gapTimes, timeOf(gap)]);
  }

  #isLongerThan(ms: number): boolean {
    return this.#parts.clock.monotonicMs() - this.#knownSince > ms;
  }

  get #hasNodes(): boolean {
    return this.#gap?.reached === undefined || isUpTo(this.#nodesAt, this.#parts.cluster.nodesReached() ?? "");
  }

  check(): void {
    const { cluster, coverage, agentStateOf } = this.#parts;
    const open = this.#openGap();
    const gap = this.#gap;
    if (gap === undefined || (open === undefined && this.#isLongerThan(LATE_MS))) return;
    const isLate = this.#isLongerThan(this.#limits.nodeStaleAfterMs);
    // Their watch may bring nothing for a minute.
    if (!this.#hasNodes && !isLate) return void cluster.ensureNodes(this.#nodesAt);
    const stage = this.#isLongerThan(this.#limits.noAgentAfterMs) ? "given-up" : "ready";
    // Claims have waited for the next stage, also where no answer changes a time.
    const isDue = stage !== this.#stage;
    const hasNews = this.#takeAnswers(gap, stage === "given-up");
    const left = this.#open();
    if (this.#stage === "waiting" && !isLate && left.some((node) => agentStateOf(node) !== "Stale")) return;
    this.#stage = stage;
    if (hasNews || isDue) this.#apply(gap);
    // Once claims are decided, only nodes without an answer are to be handed over. Waits while a node may still answer soon.
    if (open === undefined || (stage === "ready" && left.length > 0)) return;
    // A node that was created after the gap and has not reported by now did not exist in it.
    coverage.settle(left.filter((node) => !isNewer(gap, cluster.node(node))));
  }

  /** True where a node has answered or a time differs. An answer stays: another machine of its name may follow. */
  #takeAnswers(gap: WatchGap, isOverdue: boolean): boolean {
    const { cluster, viewOf, agentStateOf } = this.#parts;
    let hasNews = false;
    for (const name of this.#open()) {
      // Without the nodes every one may have been up: times move later than necessary.
      const object = this.#hasNodes ? cluster.node(name) : undefined;
      const node = { name, object, view: viewOf(name), agentState: agentStateOf(name), isOverdue };
      const { isOpen, times } = answerOf(gap, node);
      const known = this.#times.get(name) ?? [];
      const found = spansOf([...known, ...times]);
      hasNews ||= !isOpen || JSON.stringify(found) !== JSON.stringify(known);
      this.#times.set(name, found);
      if (!isOpen) this.#answered.add(name);
    }
    if (hasNews) this.#ofKind.clear();
    return hasNews;
  }

  #apply(gap: WatchGap): void {
    const nodes = [...this.#times].flatMap(([node, times]) => (times.some(({ isBefore }) => !isBefore) ? [node] : []));
    this.#parts.logger.info(
      { to: formatMillisecondsUp(gap.toMs), nodes: nodes.length, examples: nodes.slice(0, 5) },
      "a time in which no replica watched pods is taken into account; nodes that did not watch either",
    );
    this.#parts.onChange();
  }
}
