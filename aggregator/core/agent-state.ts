import type { Node } from "./cluster-objects.ts";
import type { NodeView } from "./node-view.ts";

/**
 * Whether a node's word is to be waited for: `Reporting`, its reports come or are about to; `Stale`, they are expected and do not
 * come; `NoAgent`, no agent belongs there, so that the status of its pods is all there is to know; `Gone`, assumed to be off.
 */
export interface AgentState {
  readonly kind: "Reporting" | "Stale" | "NoAgent" | "Gone";
  /** For people to read. */
  readonly why: string;
}

/** What is known of a node at a moment. Ages are milliseconds on the monotonic clock. */
export interface NodeSight {
  /** Its Node object, or nothing when there is none. */
  readonly object: Node | undefined;
  readonly view: NodeView | undefined;
  /** Since its last report was accepted; nothing before the first. */
  readonly reportAgeMs: number | undefined;
  /** Since its last complete scan ended. */
  readonly readAgeMs: number | undefined;
  /** For how long it has been, or has not been, an object of the API, as far as this run has seen. */
  readonly objectAgeMs: number;
  /** For how long no agent pod has been on it; nothing while one is. */
  readonly agentAwayMs: number | undefined;
  /** Its kubelet has been heard of by its Lease since no agent is there. */
  readonly isKubeletAlive: boolean;
}

/** Milliseconds. */
export interface AgentStateLimits {
  readonly nodeStaleAfterMs: number;
  readonly noAgentAfterMs: number;
  readonly nodeGoneAfterMs: number;
}

/** A state, and when to look again. */
export interface NodeOpinion {
  readonly agentState: AgentState;
  /** The state may change by time alone after so many milliseconds; nothing when time changes nothing. */
  readonly nextMs: number | undefined;
  /** Whether it is NoAgent is decided by its kubelet's Lease. */
  readonly isInQuestion: boolean;
}

/** An agent without a complete scan for so long tells nothing: the limit of its readiness, too. */
export const BLIND_AFTER_MS = 180_000;

/** What to make of a node. The first rule that fits decides. */
export function opinionOf(sight: NodeSight, limits: AgentStateLimits): NodeOpinion {
  const { object } = sight;
  const silence = silenceOf(sight, limits);
  const nextMs = nextOf(sight, limits);
  const isQuiet = object !== undefined && !showsMountedVolume(sight) && quietMs(sight) >= limits.noAgentAfterMs;
  const opinion = (kind: AgentState["kind"], why: string): NodeOpinion => ({
    agentState: { kind, why },
    nextMs,
    isInQuestion: kind === "Stale" && isQuiet,
  });
  if (silence === undefined && sight.reportAgeMs !== undefined) return opinion("Reporting", "it reports");
  const gone = silence && goneness(sight, limits);
  if (gone !== undefined) return opinion("Gone", gone);
  if (object?.os !== undefined && object.os !== "linux" && !showsMountedVolume(sight)) {
    return opinion("NoAgent", `no agent belongs on ${object.os}`);
  }
  if (isQuiet && sight.isKubeletAlive) {
    return opinion("NoAgent", "no report has come and no agent pod been there for long, while its kubelet lives");
  }
  return silence === undefined ? opinion("Reporting", "its first report is awaited") : opinion("Stale", silence);
}

/** Why a node counts as silent, or nothing while its last report is fresh or its first may still come. */
function silenceOf(sight: NodeSight, { nodeStaleAfterMs }: AgentStateLimits): string | undefined {
  const { reportAgeMs, readAgeMs, objectAgeMs } = sight;
  if (reportAgeMs === undefined) {
    return objectAgeMs > nodeStaleAfterMs ? "no report since the aggregator or the node came up" : undefined;
  }
  if (reportAgeMs > nodeStaleAfterMs) return "its reports have stopped";
  if (readAgeMs !== undefined && readAgeMs > BLIND_AFTER_MS) return "its agent cannot read the mount table completely";
  return undefined;
}

/** Never while its agent reports: what it says of its mounts counts, also when it cannot read the table completely. */
function goneness(
  { object, objectAgeMs, reportAgeMs = Number.POSITIVE_INFINITY }: NodeSight,
  { nodeGoneAfterMs, nodeStaleAfterMs }: AgentStateLimits,
): string | undefined {
  if (reportAgeMs <= nodeStaleAfterMs) return undefined;
  if (object === undefined) return objectAgeMs >= nodeGoneAfterMs ? "its Node object is deleted" : undefined;
  const isOff = object.isOutOfService === true && object.isReady !== true;
  return isOff ? "it is tainted out-of-service and not ready" : undefined;
}

/**
 * True when something may be mounted there by the last that was heard of it: until an agent is back nobody could tell how that
 * ends. What was mounted in another boot is not mounted now.
 */
function showsMountedVolume({ object, view }: NodeSight): boolean {
  return view !== undefined && isSameBoot(object, view.bootId) && view.mountedVolumes.length > 0;
}

/** A Node object that is not there, or names no boot, tells of no other one. */
function isSameBoot(object: Node | undefined, bootId: string): boolean {
  return object?.bootId === undefined || object.bootId === bootId;
}

/** For how long neither a report nor an agent's pod has told of an agent. */
function quietMs({ reportAgeMs, objectAgeMs, agentAwayMs }: NodeSight): number {
  return Math.min(reportAgeMs ?? Number.POSITIVE_INFINITY, objectAgeMs, agentAwayMs ?? 0);
}

function nextOf(sight: NodeSight, limits: AgentStateLimits): number | undefined {
  const { reportAgeMs, readAgeMs, objectAgeMs, agentAwayMs } = sight;
  // A node is Stale when it is *more* than so old: the smallest step beyond is a millisecond.
  const rests = [
    limits.nodeStaleAfterMs + 1 - (reportAgeMs ?? objectAgeMs),
    readAgeMs === undefined ? 0 : BLIND_AFTER_MS + 1 - readAgeMs,
    limits.nodeGoneAfterMs - objectAgeMs,
    agentAwayMs === undefined ? 0 : limits.noAgentAfterMs - quietMs(sight),
  ].filter((rest) => rest > 0);
  return rests.length === 0 ? undefined : Math.min(...rests);
}

/** Uses whose end nobody read: those of a boot of a node that is gone, or that has no agent since another boot. */
export interface AssumedEnd {
  /** Of the view that showed them; nothing when there was none. */
  readonly bootId: string | undefined;
  /** When that was established, by the API server's clock. */
  readonly atMs: number;
  /** Since when the node is gone, later than `atMs` where it was up in another boot in between; nothing while it is not gone. */
  readonly goneMs?: number | undefined;
  readonly evidence: "node-gone" | "pod-status";
}

/**
 * Whether what the view of a node shows counts as ended, and since when. Once assumed it stays, with its time, until a report
 * is accepted (which the caller has to say, by forgetting it) or the Node object is back in the same boot: then it may be
 * mounted still.
 */
export function assumedEndOf(
  known: AssumedEnd | undefined,
  { agentState, sight, nowMs }: { readonly agentState: AgentState; readonly sight: NodeSight; readonly nowMs: number },
): AssumedEnd | undefined {
  const { object, view } = sight;
  if (agentState.kind === "Gone") {
    const assumed = known ?? { bootId: view?.bootId, atMs: nowMs, evidence: "node-gone" };
    return { ...assumed, goneMs: assumed.goneMs ?? nowMs };
  }
  const left = known && { ...known, goneMs: undefined };
  // Agentless nodes show no mounted volume but those of another boot.
  const isLeft = agentState.kind === "NoAgent" && (view?.mountedVolumes.length ?? 0) > 0;
  if (isLeft) return left ?? { bootId: view?.bootId, atMs: nowMs, evidence: "pod-status" };
  if (left === undefined || object === undefined) return left;
  return left.bootId === undefined || left.bootId === object.bootId ? undefined : left;
}
