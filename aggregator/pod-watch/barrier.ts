import type { Clock } from "../../common/runtime/clock.ts";
import { follow } from "../../common/runtime/deadline.ts";
import type { AgentState } from "../core/agent-state.ts";
import type { Node } from "../core/cluster-objects.ts";
import { reachOf, type VolumeReach } from "../core/watch-gap.ts";

interface BarrierParts {
  readonly clock: Clock;
  readonly cluster: {
    readonly node: (name: string) => Node | undefined;
    /** The leader's own watch of pods is not interrupted. */
    readonly arePodsCurrent: () => boolean;
  };
  readonly agentStates: { readonly of: (node: string) => Pick<AgentState, "kind"> };
  /** Claims and volumes that waited may have to wait no longer. */
  readonly onMoved: () => void;
}

interface BarrierLimits {
  /** The leader's session: what an agent was asked in another one proves nothing. */
  readonly session: string;
  readonly nodeStaleAfterMs: number;
}

interface Pending {
  /** The event after which the node has to begin a scan. */
  readonly event: number;
  /** Milliseconds on the monotonic clock. */
  readonly untilMs: number;
}

/** Nodes that answer about together move the claims together. Milliseconds. */
const GATHER_MS = 1_000;
/** How often it is looked whether pods are watched again. Milliseconds. */
const WATCHED_MS = 500;
/** As long as more nodes are pending, they are pending for every volume: to look for those of each would take too long. */
const FEW = 64;

/**
 * Whoever begins to lead, or lists pods anew, does not know which uses began or ended before. What a node's mount table shows in a scan begun
 * after that does not depend on it, so no claim newly counts as unused before the nodes on which its volume can be used have scanned, or
 * have had their time to. Nor does any while the leader's own watch of pods is interrupted.
 */
export class Barrier {
  readonly #parts: BarrierParts;
  readonly #limits: BarrierLimits;
  readonly #pending = new Map<string, Pending>();
  #event = 0;
  /** How many were pending when it was told last. */
  #told = 0;
  /** Claims wait for pods to be watched again. */
  #isUnwatched = false;
  #news = new AbortController();

  constructor(parts: BarrierParts, limits: BarrierLimits) {
    this.#parts = parts;
    this.#limits = limits;
  }

  /** From now on these nodes are asked to scan. A node that comes later is not: its pods are seen. */
  begin(nodes: readonly string[]): void {
    this.#event += 1;
    const pending = { event: this.#event, untilMs: this.#parts.clock.monotonicMs() + this.#limits.nodeStaleAfterMs };
    for (const node of nodes) {
      // In the order of their times.
      this.#pending.delete(node);
      this.#pending.set(node, pending);
    }
    this.#news.abort("nodes are asked");
  }

  /** A claim waits because the watch of pods is interrupted. */
  onUnwatched(): void {
    // All claims may come at once: the first one wakes the loop.
    if (this.#isUnwatched) return;
    this.#isUnwatched = true;
    this.#news.abort("pods are not watched");
  }

  /** What an agent is to answer with its next scan. */
  get question(): string {
    return `${this.#limits.session}/${this.#event}`;
  }

  /** The node is still to be asked. */
  isPending(node: string): boolean {
    const untilMs = this.#pending.get(node)?.untilMs ?? 0;
    return this.#parts.clock.monotonicMs() < untilMs && this.#parts.agentStates.of(node).kind === "Reporting";
  }

  /** Those that are. */
  nodes(): readonly string[] {
    return [...this.#pending.keys()].filter((node) => this.isPending(node));
  }

  /** A report was accepted. */
  onReport(node: string, scanRequest: string | undefined): void {
    const { event } = this.#pending.get(node) ?? {};
    if (event === undefined || !(this.#answered(scanRequest) >= event)) return;
    const isFirst = this.#pending.size === this.#told;
    this.#pending.delete(node);
    // Thousands may answer at once: those between the first and the last wake nobody.
    if (isFirst || this.#pending.size === FEW || this.#pending.size === 0) this.#news.abort("a node has scanned");
  }

  /** One of the nodes that such a volume has to wait for; nothing where it need not wait. A read: it changes nothing. */
  pendingNode({ nodeAffinity }: Pick<VolumeReach, "nodeAffinity">): string | undefined {
    if (this.#pending.size === 0) return undefined;
    const mayBeOn = this.#pending.size > FEW ? () => true : reachOf({ nodeAffinity }, this.#parts.cluster.node);
    for (const node of this.#pending.keys()) if (this.isPending(node) && mayBeOn(node)) return node;
    return undefined;
  }

  /** Tells whom it concerns until the signal is aborted: at once when the last node has scanned, else now and then. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, onMoved } = this.#parts;
    let movedMs = Number.NEGATIVE_INFINITY;
    while (!signal.aborted) {
      this.#news = new AbortController();
      const unfollow = follow(this.#news, signal);
      this.#sweep();
      const { size } = this.#pending;
      const waitMs = movedMs + GATHER_MS - clock.monotonicMs();
      const isDue = this.#isWatchedAgain() || (size < this.#told && (size === 0 || (size <= FEW && waitMs <= 0)));
      if (isDue) {
        movedMs = clock.monotonicMs();
        onMoved();
      }
      if (isDue || size > this.#told) this.#told = size;
      const isOpen = size < this.#told && size <= FEW;
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

  /** Lets go of nodes that have had their time, or of which no scan can be expected. */
  #sweep(): void {
    for (const node of this.#pending.keys()) if (!this.isPending(node)) this.#pending.delete(node);
  }

  #restMs(): number {
    if (this.#isUnwatched) return WATCHED_MS;
    const [first] = this.#pending.values();
    return first === undefined ? 3_600_000 : Math.max(1, first.untilMs - this.#parts.clock.monotonicMs());
  }

  /** After which event of this session the scan began; nothing comparable for what is no answer. */
  #answered(scanRequest = ""): number {
    const [session, event] = scanRequest.split("/");
    return session === this.#limits.session ? Number(event) : 0;
  }
}
