import type { AgentState } from "../core/agent-state.ts";
import type { Node } from "../core/cluster-objects.ts";
import type { LeaseRenewal } from "../core/kubelet-lease.ts";
import { type AgentCoverage, type GapWord, type NodeWord, wordOn } from "../core/watch-gap.ts";
import { isUpTo, type WatchGap } from "../core/watch-history.ts";

/** What a gap is judged by, now. */
export interface GapView {
  /** Milliseconds on the monotonic clock. */
  readonly nowMs: () => number;
  readonly sightOf: (node: string) => AgentCoverage | undefined;
  readonly agentStateOf: (node: string) => AgentState["kind"];
  readonly node: (name: string) => Node | undefined;
  readonly nodeNames: () => readonly string[];
}

export interface GapLimits {
  readonly nodeStaleAfterMs: number;
  readonly noAgentAfterMs: number;
}

/** Two that became one are another one. */
export function keyOf({ fromMs, toMs }: WatchGap): string {
  return `${fromMs ?? ""}/${toMs}`;
}

/** A gap, and what nodes have told of it. */
export class GapTrack {
  readonly gap: WatchGap;
  /** The nodes that were there. */
  readonly nodes: ReadonlySet<string>;
  readonly #view: GapView;
  readonly #limits: GapLimits;
  readonly #knownSince: number;
  /** Those whose kubelets have not renewed their Leases since before; nothing until the Leases were listed. */
  #away: ReadonlySet<string> | undefined;
  /** What is said stays: a later report dates it less exactly. */
  readonly #told = new Map<string, NodeWord>();
  #isReady = false;

  constructor(gap: WatchGap, view: GapView, limits: GapLimits) {
    this.gap = gap;
    this.nodes = new Set(gap.openNodes ?? view.nodeNames());
    this.#view = view;
    this.#limits = limits;
    this.#knownSince = view.nowMs();
    this.#away = gap.leasesAt === undefined ? new Set() : undefined;
  }

  /** Milliseconds since it became known. */
  get ageMs(): number {
    return this.#view.nowMs() - this.#knownSince;
  }

  /** It can be judged: every node has told, or had its time to. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /** The Leases of its nodes would tell who was away; not for ever, it is judged without them in the end. */
  get needsLeases(): boolean {
    return this.#away === undefined && !this.#isLate;
  }

  /** As early as can be: a kubelet that comes back renews its Lease, and nothing is proven any more. */
  onLeases(renewals: ReadonlyMap<string, LeaseRenewal>): void {
    const { leasesAt = "" } = this.gap;
    const isAway = (node: string): boolean => isUpTo(renewals.get(node)?.resourceVersion ?? "", leasesAt);
    this.#away = new Set([...this.nodes].filter(isAway));
  }

  /** The node has still to tell, and its agent can by a read that begins now. */
  isAwaited(node: string): boolean {
    if (!this.nodes.has(node) || this.#told.has(node)) return false;
    const { readBeganMs = Number.POSITIVE_INFINITY } = this.#view.sightOf(node) ?? {};
    return readBeganMs < this.gap.toMs;
  }

  /** Keeps what nodes have told since. */
  hear(): void {
    if (this.#away === undefined && !this.#isLate) return;
    const { nodeNames, sightOf } = this.#view;
    // One that was deleted, and is back, may have been there: it says so itself. Who is asked by name has been told of the others.
    const back = this.gap.openNodes === undefined ? nodeNames().filter((node) => sightOf(node) !== undefined) : [];
    for (const node of new Set([...this.nodes, ...back])) {
      if (this.#told.has(node)) continue;
      const word = this.#wordOf(node);
      // What was made after it has nothing to tell, unless it turns out to be an older machine: a report from before does not say.
      const { readBeganMs = Number.NEGATIVE_INFINITY } = sightOf(node) ?? {};
      if (!word.isOpen && (readBeganMs >= this.gap.toMs || !this.#isNewer(node))) this.#told.set(node, word);
    }
    this.#isReady ||= this.#isLate || [...this.nodes].every((node) => this.#hasHadItsTime(node));
  }

  /** What is known of it so far. */
  word(): GapWord {
    const all = new Set([...this.nodes, ...this.#told.keys()]);
    const words = [...all].map((node) => [node, this.#told.get(node) ?? this.#wordOf(node)] as const);
    const agentGaps = words
      .filter(([, word]) => word.agentGaps.length > 0)
      .map(([node, word]) => [node, word.agentGaps] as const);
    const before = words.flatMap(([node, word]) => (word.before === undefined ? [] : [[node, word.before] as const]));
    return { gap: this.gap, agentGaps: new Map(agentGaps), before: new Map(before) };
  }

  /** Everybody has told who may still come soon: what came of it need not be told to a successor. */
  get isHeard(): boolean {
    return this.#isReady && (this.openNodes.length === 0 || this.#isOverdue);
  }

  /** Those that have still to tell. What was made after it has not for long: it may be an older machine, and will tell soon if it is. */
  get openNodes(): readonly string[] {
    return [...this.nodes].filter((node) => !this.#told.has(node) && !(this.#isNewer(node) && this.#isOverdue));
  }

  #hasHadItsTime(node: string): boolean {
    return this.#told.has(node) || this.#isNewer(node) || this.#view.agentStateOf(node) === "Stale";
  }

  #wordOf(node: string): NodeWord {
    const { sightOf, agentStateOf } = this.#view;
    return wordOn(this.gap, {
      sight: sightOf(node),
      agentState: agentStateOf(node),
      createdAtMs: this.#view.node(node)?.createdAtMs,
      isKubeletAway: this.#away?.has(node) === true,
      isOverdue: this.#isOverdue,
    });
  }

  #isNewer(node: string): boolean {
    const createdAtMs = this.#view.node(node)?.createdAtMs;
    return createdAtMs !== undefined && createdAtMs >= this.gap.toMs;
  }

  get #isLate(): boolean {
    return this.ageMs > this.#limits.nodeStaleAfterMs;
  }

  get #isOverdue(): boolean {
    return this.ageMs > this.#limits.noAgentAfterMs;
  }
}
