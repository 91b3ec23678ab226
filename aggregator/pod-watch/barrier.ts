import type { Volume } from "../core/cluster-objects.ts";
import type { AgentState, AgentStateLimits } from "../core/nodes/agent-state.ts";
import { reachOf } from "../core/pod-watch/gap.ts";
import type { Cluster, SharedParts } from "../sources/cluster.ts";

interface BarrierParts extends Pick<SharedParts, "clock"> {
  readonly cluster: Pick<Cluster, "node" | "arePodsCurrent">;
  readonly agentStates: { readonly of: (node: string) => Pick<AgentState, "kind"> };
  /** Waiting claims and volumes may be decided now. */
  readonly onMoved: () => void;
}

interface BarrierLimits extends Pick<AgentStateLimits, "nodeStaleAfterMs"> {
  /** The leader session: an answer to a scan request of another session proves nothing. */
  readonly session: string;
}

/** While more nodes than this are pending, they are so for every volume: finding those of each would take too long. */
const FEW = 64;

/**
 * A new leader, or one that lists pods anew, does not know which uses began or ended before. A node's mount table does not depend on
 * that, if the scan began afterwards. So no claim becomes unused before the nodes where its volume can be used have scanned, or have had
 * their time to. Nor does any claim while the leader's own watch of pods is interrupted.
 */
export class Barrier {
  readonly #parts: BarrierParts;
  readonly #limits: BarrierLimits;
  /** Nodes that have to begin a scan after the last event, and their time, milliseconds on the monotonic clock. */
  readonly #pending = new Set<string>();
  #untilMs = 0;
  #event = 0;
  /** Claims may have waited for a node no longer pending, or for the watch of pods, and are to be decided again. */
  #hasMoved = false;

  constructor(parts: BarrierParts, limits: BarrierLimits) {
    this.#parts = parts;
    this.#limits = limits;
  }

  /** Asks these nodes to scan. A node that joins later is not asked: the leader sees its pods. */
  begin(nodes: readonly string[]): void {
    this.#event += 1;
    this.#untilMs = this.#parts.clock.monotonicMs() + this.#limits.nodeStaleAfterMs;
    for (const node of nodes) this.#pending.add(node);
  }

  /** A claim waits because the watch of pods is interrupted. */
  onUnwatched(): void {
    this.#hasMoved = true;
  }

  /** The scan request that an agent repeats in its next report with a scan. */
  get question(): string {
    return `${this.#limits.session}/${this.#event}`;
  }

  /** The node has not answered yet, and still has time. */
  isPending(node: string): boolean {
    const { clock, agentStates } = this.#parts;
    const hasTime = clock.monotonicMs() < this.#untilMs;
    return hasTime && this.#pending.has(node) && agentStates.of(node).kind === "Reporting";
  }

  nodes(): readonly string[] {
    return [...this.#pending].filter((node) => this.isPending(node));
  }

  onReport(node: string, scanRequest?: string): void {
    if (scanRequest === this.question) this.#drop(node);
  }

  /** A node that the volume has to wait for, if there is one. A read: it changes nothing. */
  pendingNode({ nodeAffinity }: Pick<Volume, "nodeAffinity">): string | undefined {
    const { size } = this.#pending;
    const mayBeOn = size === 0 || size > FEW ? () => true : reachOf({ nodeAffinity }, this.#parts.cluster.node);
    return this.#pending.keys().find((node) => this.isPending(node) && mayBeOn(node));
  }

  /** Calls `onMoved` once nodes have answered or had their time since the last check, or pods are watched again. */
  check(): void {
    for (const node of this.#pending) if (!this.isPending(node)) this.#drop(node);
    if (!this.#hasMoved || this.#pending.size > FEW || !this.#parts.cluster.arePodsCurrent()) return;
    this.#hasMoved = false;
    this.#parts.onMoved();
  }

  #drop(node: string): void {
    this.#hasMoved = this.#pending.delete(node) || this.#hasMoved;
  }
}
