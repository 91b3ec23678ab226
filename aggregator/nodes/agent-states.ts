import { type QueueObserver, WorkQueue } from "../../common/kube/work-queue.ts";
import { createYield } from "../../common/runtime/yield.ts";
import {
  type AgentState,
  type AgentStateLimits,
  type AssumedEnd,
  assumedEndOf,
  type NodeObservation,
  opinionOf,
} from "../core/nodes/agent-state.ts";
import type { SharedParts } from "../sources/cluster.ts";
import type { FleetState } from "./fleet-state.ts";

/** A node changed its state, or its mounts count as ended now, or as mounted again. */
export interface AgentStateChange {
  readonly node: string;
  readonly isAboutMounts: boolean;
}

interface AgentStatesParts extends SharedParts {
  readonly fleet: FleetState;
  readonly onChange: (change: AgentStateChange) => void;
  readonly queues: Readonly<Record<"nodes", QueueObserver>>;
  /** The node is Gone, and its view is about to be forgotten. */
  readonly onForgotten: (node: string) => void;
}

/** What this session remembers of a node beside its view. Times are milliseconds on the monotonic clock. */
interface Track {
  /** UID of its Node object; undefined while it has none. */
  readonly uid: string | undefined;
  /** Since when it has that UID, or none. */
  readonly uidSince: number;
  /** Since when it has had no agent pod; undefined while it has one. */
  readonly agentAwaySince: number | undefined;
  readonly quietHeartbeat: string | undefined;
  readonly agentState: AgentState;
  readonly stateSince: number;
  readonly assumed: AssumedEnd | undefined;
}

/** The mounts of a node that is Gone are forgotten after this time. Milliseconds. */
const FORGET_AFTER_MS = 86_400_000;
/** The same where nothing was mounted: most nodes go after all uses on them have ended. */
const FORGET_EMPTY_AFTER_MS = 60_000;

/**
 * Keeps the state of each node. A node waits in a queue for the moment at which its state may change; its reports, its Node object and
 * its agent pods lead to a check at once.
 */
export class AgentStates {
  /** Names of nodes. */
  readonly queue: WorkQueue;
  readonly #parts: AgentStatesParts;
  readonly #limits: AgentStateLimits;
  readonly #tracks = new Map<string, Track>();
  #hasBegun = false;

  constructor(parts: AgentStatesParts, limits: AgentStateLimits) {
    this.#parts = parts;
    this.#limits = limits;
    this.queue = new WorkQueue({ ...parts, errors: parts.internalErrors.in("nodes") }, 1, parts.queues.nodes);
  }

  /** Everything is listed: from now on a missing report counts. Looks at all nodes, with pauses, as there may be thousands. */
  async begin(signal: AbortSignal): Promise<void> {
    this.#hasBegun = true;
    const yieldIfDue = createYield(this.#parts.clock, signal);
    for (const node of this.#parts.cluster.nodeNames()) {
      this.#look(node);
      await yieldIfDue();
    }
  }

  /** The nodes of the cluster that are expected to report. */
  expected(): readonly string[] {
    return this.#parts.cluster.nodeNames().filter((node) => this.lookFor(node).kind === "Reporting");
  }

  /** Works until the signal is aborted. */
  run(signal: AbortSignal): Promise<void> {
    return this.queue.run(async (node) => this.#lookAgain(node), signal);
  }

  /** A read: it changes nothing. A node that no decision has needed yet counts as Reporting. */
  of(node: string): AgentState {
    return (this.#tracks.get(node) ?? this.#newTrack(node)).agentState;
  }

  /** The same for a decision that needs the node's report: from the first call on, the time without a report counts. */
  lookFor(node: string): AgentState {
    return (this.#tracks.get(node) ?? this.#look(node)).agentState;
  }

  /** Since when, and on which evidence, the node's mounts count as ended; undefined while they do not. */
  assumedEnd(node: string): AssumedEnd | undefined {
    return this.#tracks.get(node)?.assumed;
  }

  /** The names of the known nodes that have this state. */
  named(kind: AgentState["kind"]): readonly string[] {
    return [...this.#tracks].filter(([, { agentState }]) => agentState.kind === kind).map(([node]) => node);
  }

  /** A report of the node was accepted: its mounts no longer count as ended. */
  onReport(node: string): void {
    this.#look(node, { assumed: undefined });
  }

  /** The Node object came, changed or went. */
  onNode(node: string): void {
    if (!this.#hasBegun) return;
    const uid = this.#parts.cluster.node(node)?.uid;
    const isSame = this.#tracks.get(node)?.uid === uid;
    this.#look(node, isSame ? {} : { uid, uidSince: this.#now });
  }

  /** An agent pod came to the node or left it. */
  onAgentPod(node: string): void {
    if (!this.#hasBegun) return;
    const isThere = this.#parts.cluster.hasAgentPod(node);
    this.#look(node, { agentAwaySince: isThere ? undefined : this.#now });
  }

  get #now(): number {
    return this.#parts.clock.monotonicMs();
  }

  #look(node: string, change: Partial<Track> = {}): Track {
    const before = this.#tracks.get(node) ?? this.#newTrack(node);
    const track = { ...before, ...change };
    const observed = this.#observationOf(node, track);
    const { agentState, nextMs, quietHeartbeat } = opinionOf(observed, this.#limits);
    const isOther = agentState.kind !== before.agentState.kind;
    const assumed = assumedEndOf(track.assumed, observed, { agentState, nowMs: this.#parts.nowMs() });
    const stateSince = isOther ? this.#now : before.stateSince;
    const after = { ...track, quietHeartbeat, agentState, stateSince, assumed };
    this.#tracks.set(node, after);
    for (const waitMs of [nextMs, this.#restOf(node, after)]) {
      // A wait below a millisecond comes from rounding: it would end before any time has passed.
      if (waitMs !== undefined && waitMs > 0) this.queue.addAfter(node, Math.ceil(waitMs));
    }
    const isAboutMounts = assumed?.atMs !== before.assumed?.atMs;
    const { kind, why } = agentState;
    if (isOther) this.#parts.logger.info({ node, agentState: kind, why }, "agent state changed");
    if (isOther || isAboutMounts) this.#parts.onChange({ node, isAboutMounts });
    return after;
  }

  /**
   * A node counts as Reporting at first. Its absence counts from this moment: while the watch of Nodes hangs, a node that has just
   * joined has no object here, however long this session has lasted.
   */
  #newTrack(node: string): Track {
    const since = this.#now;
    return {
      uid: this.#parts.cluster.node(node)?.uid,
      uidSince: since,
      agentAwaySince: this.#parts.cluster.hasAgentPod(node) ? undefined : since,
      quietHeartbeat: undefined,
      agentState: { kind: "Reporting", why: "" },
      stateSince: since,
      assumed: undefined,
    };
  }

  #observationOf(node: string, { uidSince, agentAwaySince, quietHeartbeat }: Track): NodeObservation {
    const { cluster, fleet } = this.#parts;
    const view = fleet.view(node);
    return {
      object: cluster.node(node),
      view,
      reportAgeMs: fleet.lastReportAgeMs(node),
      readAgeMs: fleet.lastReadAgeMs(node),
      objectAgeMs: this.#now - uidSince,
      agentAwayMs: agentAwaySince === undefined ? undefined : this.#now - agentAwaySince,
      quietHeartbeat,
    };
  }

  /** For how long the view of a node that is Gone is kept; undefined for other nodes. */
  #restOf(node: string, { agentState, stateSince, uid }: Track): number | undefined {
    if (agentState.kind !== "Gone" || uid !== undefined) return undefined;
    const view = this.#parts.fleet.view(node);
    const isEmpty = view !== undefined && view.mountedVolumes.length === 0 && view.unmountRecords.size === 0;
    return stateSince + (isEmpty ? FORGET_EMPTY_AFTER_MS : FORGET_AFTER_MS) - this.#now;
  }

  #lookAgain(node: string): void {
    if (!this.#tracks.has(node)) return;
    const restMs = this.#restOf(node, this.#look(node));
    if (restMs === undefined || restMs > 0) return;
    const { cluster, fleet, onForgotten } = this.#parts;
    onForgotten(node);
    fleet.drop(node);
    // While a status names the node, its state is kept.
    if (cluster.isStoredAsMounted(node)) this.queue.addAfter(node, FORGET_AFTER_MS);
    else this.#tracks.delete(node);
  }
}
