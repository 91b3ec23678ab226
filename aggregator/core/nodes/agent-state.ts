import type { Node } from "../cluster-objects.ts";
import type { NodeView } from "./node-view.ts";

/**
 * Whether decisions wait for a node's reports. `Reporting`: they arrive or are about to. `Stale`: they are expected and
 * do not arrive. `NoAgent`: no agent runs there, only pod statuses are known. `Gone`: assumed to be off.
 */
export interface AgentState {
  readonly kind: "Reporting" | "Stale" | "NoAgent" | "Gone";
  /** For people to read. */
  readonly why: string;
}

/** What is known of a node at a moment. Ages are milliseconds on the monotonic clock. */
export interface NodeObservation {
  readonly object: Node | undefined;
  readonly view: NodeView | undefined;
  /** Since its last report was accepted; undefined before the first. */
  readonly reportAgeMs: number | undefined;
  /** For how long it has had its Node object, or has had none, as far as this session has seen. */
  readonly objectAgeMs: number;
  /** For how long it has had no agent pod; undefined while it has one. */
  readonly agentAwayMs: number | undefined;
  /** Its state at the last check; undefined at the first one. */
  readonly known: AgentState["kind"] | undefined;
}

export interface AgentStateLimits {
  readonly nodeStaleAfterMs: number;
  readonly noAgentAfterMs: number;
  readonly nodeGoneAfterMs: number;
}

/** Without a complete scan for so long an agent's reports do not count; its readiness fails after the same time. */
const BLIND_AFTER_MS = 180_000;

/** Decides a node's state; the first rule that applies counts. */
export function agentStateOf(observed: NodeObservation, limits: AgentStateLimits): AgentState {
  const { object, known } = observed;
  const silence = silenceOf(observed, limits);
  if (silence === undefined && observed.reportAgeMs !== undefined) return { kind: "Reporting", why: "it reports" };
  const gone = silence !== undefined || known === "Gone" ? goneness(observed, limits) : undefined;
  if (gone !== undefined) return { kind: "Gone", why: gone };
  if (object?.os !== undefined && object.os !== "linux") {
    return { kind: "NoAgent", why: `no agent belongs on ${object.os}` };
  }
  const isQuiet = object !== undefined && quietMs(observed) >= limits.noAgentAfterMs;
  if (isQuiet && (object.isReady || known === "NoAgent")) {
    return { kind: "NoAgent", why: "no report has come and no agent pod been there for long, while its kubelet lives" };
  }
  return silence === undefined
    ? { kind: "Reporting", why: "its first report is awaited" }
    : { kind: "Stale", why: silence };
}

/** Why a node is Stale; undefined while its last report is fresh, or its first one may still arrive. */
function silenceOf(
  { reportAgeMs, objectAgeMs, view }: NodeObservation,
  { nodeStaleAfterMs }: AgentStateLimits,
): string | undefined {
  if (reportAgeMs === undefined || view === undefined) {
    return objectAgeMs > nodeStaleAfterMs ? "no report since the aggregator or the node came up" : undefined;
  }
  if (reportAgeMs > nodeStaleAfterMs) return "its reports have stopped";
  // Since its last reported complete scan ended, never longer than in truth.
  const readAgeMs = reportAgeMs + Math.max(0, view.sentAt - view.scan.endedAt);
  return readAgeMs > BLIND_AFTER_MS ? "its agent cannot read the mount table completely" : undefined;
}

/** Never while its agent reports: its mounts count, even when it cannot read the table completely. */
function goneness(
  { object, objectAgeMs, known, reportAgeMs = Number.POSITIVE_INFINITY }: NodeObservation,
  { nodeGoneAfterMs, nodeStaleAfterMs }: AgentStateLimits,
): string | undefined {
  if (reportAgeMs <= nodeStaleAfterMs) return undefined;
  if (object === undefined) {
    return known === "Gone" || objectAgeMs >= nodeGoneAfterMs ? "its Node object is deleted" : undefined;
  }
  const isOff = object.isOutOfService === true && object.isReady !== true;
  return isOff ? "it is tainted out-of-service and not ready" : undefined;
}

/** For how long neither a report nor an agent pod has shown an agent. */
function quietMs({ reportAgeMs, objectAgeMs, agentAwayMs }: NodeObservation): number {
  return Math.min(reportAgeMs ?? Number.POSITIVE_INFINITY, objectAgeMs, agentAwayMs ?? 0);
}
