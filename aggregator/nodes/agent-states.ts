import { createYield } from "../../common/runtime/yield.ts";
import { type AgentState, type AgentStateLimits, agentStateOf } from "../core/nodes/agent-state.ts";
import { factsIn } from "../core/nodes/node-view.ts";
import type { SharedParts } from "../sources/cluster.ts";
import type { FleetState } from "./fleet-state.ts";

interface AgentStatesParts extends SharedParts {
  readonly fleet: FleetState;
  /** A node changed its state: its mounts may count as ended now, or as mounted again. */
  readonly onChange: (node: string) => void;
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
  readonly agentState: AgentState;
  /** Since when it is Gone, by the API server's clock. */
  readonly goneMs: number | undefined;
}

const AT_FIRST: AgentState = { kind: "Reporting", why: "" };

/** How often states are checked that time alone may change. Milliseconds. */
const CHECK_MS = 1_000;
/** The mounts of a node that is Gone are forgotten after this time. Milliseconds. */
const FORGET_AFTER_MS = 86_400_000;
/** The same where nothing was mounted: most nodes go after all uses on them have ended. */
const FORGET_EMPTY_AFTER_MS = 60_000;

/** Keeps each node's state. Its reports, Node object and agent pods lead to a check at once, time to the next one. */
export class AgentStates {
  readonly #parts: AgentStatesParts;
  readonly #limits: AgentStateLimits;
  readonly #tracks = new Map<string, Track>();

  constructor(parts: AgentStatesParts, limits: AgentStateLimits) {
    this.#parts = parts;
    this.#limits = limits;
  }

  expected(): readonly string[] {
    return this.#parts.cluster.nodeNames().filter((node) => this.lookFor(node).kind === "Reporting");
  }

  /** Checks all nodes again and again, and forgets those that were Gone for long. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, internalErrors } = this.#parts;
    const errors = internalErrors.in("nodes");
    const yieldIfDue = createYield(clock, signal);
    while (!signal.aborted) {
      await clock.sleep(CHECK_MS, signal);
      for (const node of this.#tracks.keys()) {
        errors.attempt(node, () => this.#checkAgain(node));
        await yieldIfDue();
      }
    }
  }

  /** A read: it changes nothing. A node that no decision has needed yet counts as Reporting. */
  of(node: string): AgentState {
    return this.#tracks.get(node)?.agentState ?? AT_FIRST;
  }

  /** The same for a decision that needs the node's report: from the first call on, the time without a report counts. */
  lookFor(node: string): AgentState {
    return (this.#tracks.get(node) ?? this.check(node)).agentState;
  }

  /** Since when the node is Gone, by the API server's clock: its mounts count as ended. Undefined while it is not. */
  assumedEnd(node: string): number | undefined {
    return this.#tracks.get(node)?.goneMs;
  }

  named(kind: AgentState["kind"]): readonly string[] {
    return [...this.#tracks].filter(([, { agentState }]) => agentState.kind === kind).map(([node]) => node);
  }

  /** What the node has or lacks counts from the first check that shows it: the watch may bring a new Node late. */
  check(node: string): Track {
    const { clock, cluster, fleet, nowMs, logger, onChange } = this.#parts;
    const [before, now, object] = [this.#tracks.get(node), clock.monotonicMs(), cluster.node(node)];
    const uid = object?.uid;
    const uidSince = before !== undefined && before.uid === uid ? before.uidSince : now;
    const agentAwaySince = cluster.hasAgentPod(node) ? undefined : (before?.agentAwaySince ?? now);
    const observed = {
      object,
      view: fleet.view(node),
      reportAgeMs: fleet.lastReportAgeMs(node),
      objectAgeMs: now - uidSince,
      agentAwayMs: agentAwaySince === undefined ? undefined : now - agentAwaySince,
      known: before?.agentState.kind,
    };
    const agentState = agentStateOf(observed, this.#limits);
    const { kind, why } = agentState;
    const goneMs = kind === "Gone" ? (before?.goneMs ?? nowMs()) : undefined;
    const track = { uid, uidSince, agentAwaySince, agentState, goneMs };
    this.#tracks.set(node, track);
    if (kind !== (before?.agentState ?? AT_FIRST).kind) {
      logger.info({ node, agentState: kind, why }, "agent state changed");
      onChange(node);
    }
    return track;
  }

  #checkAgain(node: string): void {
    const { uid, goneMs } = this.check(node);
    const { cluster, fleet, nowMs, onForgotten } = this.#parts;
    if (goneMs === undefined || uid !== undefined) return;
    const view = fleet.view(node);
    const isEmpty = view !== undefined && factsIn(view).length === 0;
    if (nowMs() < goneMs + (isEmpty ? FORGET_EMPTY_AFTER_MS : FORGET_AFTER_MS)) return;
    onForgotten(node);
    fleet.drop(node);
    // While a status names the node, it stays Gone since then: found to be Gone again, it would be the latest end of the claim.
    if (!cluster.isStoredAsMounted(node)) this.#tracks.delete(node);
  }
}
