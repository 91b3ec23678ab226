import { follow } from "../../common/runtime/deadline.ts";
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

interface Pending {
  /** The event after which the node has to begin a scan. */
  readonly event: number;
  /** Milliseconds on the monotonic clock. */
  readonly untilMs: number;
}

/** Nodes that answer within this time release their claims together. Milliseconds. */
const GATHER_MS = 1_000;
/** How often the barrier checks whether pods are watched again. Milliseconds. */
const WATCHED_MS = 500;
/** While more nodes than this are pending, they are pending for every volume: to find those of each volume would take too long. */
const FEW = 64;

/**
 * A new leader, or one that lists pods anew, does not know which uses began or ended before. A node's mount table does not depend on
 * that, if the scan began afterwards. So no claim becomes unused before the nodes where its volume can be used have scanned, or have had
 * their time to. Nor does any claim while the leader's own watch of pods is interrupted.
 */
export class Barrier {
  readonly #parts: BarrierParts;
  readonly #limits: BarrierLimits;
  readonly #pending = new Map<string, Pending>();
  #event = 0;
  /** How many nodes were pending when `onMoved` was called last. */
  #announced = 0;
  /** Claims wait until pods are watched again. */
  #isUnwatched = false;
  #news = new AbortController();

  constructor(parts: BarrierParts, limits: BarrierLimits) {
    this.#parts = parts;
    this.#limits = limits;
  }

  /** Asks these nodes to scan. A node that joins later is not asked: the leader sees its pods. */
  begin(nodes: readonly string[]): void {
    this.#event += 1;
    const pending = { event: this.#event, untilMs: this.#parts.clock.monotonicMs() + this.#limits.nodeStaleAfterMs };
    for (const node of nodes) {
      // Keeps the map in the order of its deadlines.
      this.#pending.delete(node);
      this.#pending.set(node, pending);
    }
    this.#news.abort("nodes are asked");
  }

  /** A claim waits because the watch of pods is interrupted. */
  onUnwatched(): void {
    // Every claim may call this at once: the first one wakes the loop.
    if (this.#isUnwatched) return;
    this.#isUnwatched = true;
    this.#news.abort("pods are not watched");
  }

  /** The scan request that an agent repeats in its next report with a scan. */
  get question(): string {
    return `${this.#limits.session}/${this.#event}`;
  }

  /** The node has not answered yet, and still has time. */
  isPending(node: string): boolean {
    const untilMs = this.#pending.get(node)?.untilMs ?? 0;
    return this.#parts.clock.monotonicMs() < untilMs && this.#parts.agentStates.of(node).kind === "Reporting";
  }

  /** The nodes that are pending. */
  nodes(): readonly string[] {
    return [...this.#pending.keys()].filter((node) => this.isPending(node));
  }

  /** A report was accepted. */
  onReport(node: string, scanRequest: string | undefined): void {
    const { event } = this.#pending.get(node) ?? {};
    if (event === undefined || !(this.#answered(scanRequest) >= event)) return;
    const isFirst = this.#pending.size === this.#announced;
    this.#pending.delete(node);
    // Thousands may answer at once: only the first one and the last ones wake the loop.
    if (isFirst || this.#pending.size === FEW || this.#pending.size === 0) this.#news.abort("a node has scanned");
  }

  /** A node that the volume has to wait for, if there is one. A read: it changes nothing. */
  pendingNode({ nodeAffinity }: Pick<Volume, "nodeAffinity">): string | undefined {
    if (this.#pending.size === 0) return undefined;
    const mayBeOn = this.#pending.size > FEW ? () => true : reachOf({ nodeAffinity }, this.#parts.cluster.node);
    for (const node of this.#pending.keys()) if (this.isPending(node) && mayBeOn(node)) return node;
    return undefined;
  }

  /** Calls `onMoved` until the signal is aborted: at once when the last node has scanned, else now and then. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, onMoved } = this.#parts;
    let movedMs = Number.NEGATIVE_INFINITY;
    while (!signal.aborted) {
      this.#news = new AbortController();
      const unfollow = follow(this.#news, signal);
      this.#sweep();
      const { size } = this.#pending;
      const waitMs = movedMs + GATHER_MS - clock.monotonicMs();
      const isDue = this.#isWatchedAgain() || (size < this.#announced && (size === 0 || (size <= FEW && waitMs <= 0)));
      if (isDue) {
        movedMs = clock.monotonicMs();
        onMoved();
      }
      if (isDue || size > this.#announced) this.#announced = size;
      const isOpen = size < this.#announced && size <= FEW;
      await clock.sleep(isOpen ? Math.max(1, waitMs) : this.#restMs(), this.#news.signal);
      unfollow();
    }
  }

  /** True once. */
  #isWatchedAgain(): boolean {
    if (!this.#isUnwatched || !this.#parts.cluster.arePodsCurrent()) return false;
    this.#isUnwatched = false;
    return true;
  }

  /** Drops nodes whose time is over, and those that no longer count as Reporting. */
  #sweep(): void {
    for (const node of this.#pending.keys()) if (!this.isPending(node)) this.#pending.delete(node);
  }

  #restMs(): number {
    if (this.#isUnwatched) return WATCHED_MS;
    const [first] = this.#pending.values();
    return first === undefined ? 3_600_000 : Math.max(1, first.untilMs - this.#parts.clock.monotonicMs());
  }

  /** The event of this session after which the scan began; NaN or 0 where the scan answers none. */
  #answered(scanRequest = ""): number {
    const [session, event] = scanRequest.split("/");
    return session === this.#limits.session ? Number(event) : 0;
  }
}
