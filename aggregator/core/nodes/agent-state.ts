import type { Node } from "../cluster-objects.ts";
import type { NodeView } from "./node-view.ts";

/**
 * Whether decisions wait for a node's reports. `Reporting`: its reports arrive or are about to. `Stale`: they are expected and do not
 * arrive. `NoAgent`: no agent runs there, so the status of its pods is all there is to know. `Gone`: assumed to be off.
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
  /** The kubelet's heartbeat when the node had had no agent for long; undefined before that. */
  readonly quietHeartbeat: string | undefined;
}

/** Milliseconds. */
export interface AgentStateLimits {
  readonly nodeStaleAfterMs: number;
  readonly noAgentAfterMs: number;
  readonly nodeGoneAfterMs: number;
}

/** The reports of an agent without a complete scan for so long do not count; its readiness fails after the same time. */
const BLIND_AFTER_MS = 180_000;

/** Decides a node's state; the first rule that applies counts. `quietHeartbeat` is to be observed with the node from now on. */
export function opinionOf(observed: NodeObservation, limits: AgentStateLimits) {
  const { object } = observed;
  const silence = silenceOf(observed, limits);
  const isQuiet = object !== undefined && !showsMountedVolume(observed) && quietMs(observed) >= limits.noAgentAfterMs;
  const quietHeartbeat = isQuiet ? (observed.quietHeartbeat ?? object.heartbeat) : undefined;
  const opinion = (kind: AgentState["kind"], why: string) => ({ agentState: { kind, why }, quietHeartbeat });
  if (silence === undefined && observed.reportAgeMs !== undefined) return opinion("Reporting", "it reports");
  const gone = silence && goneness(observed, limits);
  if (gone !== undefined) return opinion("Gone", gone);
  if (object?.os !== undefined && object.os !== "linux" && !showsMountedVolume(observed)) {
    return opinion("NoAgent", `no agent belongs on ${object.os}`);
  }
  // An earlier heartbeat proves nothing: the kubelet may have been cut off since.
  if (isQuiet && object.heartbeat !== quietHeartbeat) {
    return opinion("NoAgent", "no report has come and no agent pod been there for long, while its kubelet lives");
  }
  return silence === undefined ? opinion("Reporting", "its first report is awaited") : opinion("Stale", silence);
}

/** Why a node is Stale; undefined while its last report is fresh, or its first one may still arrive. */
function silenceOf(observed: NodeObservation, { nodeStaleAfterMs }: AgentStateLimits): string | undefined {
  const { reportAgeMs, objectAgeMs } = observed;
  if (reportAgeMs === undefined) {
    return objectAgeMs > nodeStaleAfterMs ? "no report since the aggregator or the node came up" : undefined;
  }
  if (reportAgeMs > nodeStaleAfterMs) return "its reports have stopped";
  return readAgeMs(observed) > BLIND_AFTER_MS ? "its agent cannot read the mount table completely" : undefined;
}

/** How long ago its last reported complete scan ended, never longer than in truth; 0 before the first report. */
function readAgeMs({ view, reportAgeMs = 0 }: NodeObservation): number {
  return view === undefined ? 0 : reportAgeMs + Math.max(0, view.sentAt - view.scan.endedAt);
}

/** Never while its agent reports: its mounts count, even when it cannot read the table completely. */
function goneness(
  { object, objectAgeMs, reportAgeMs = Number.POSITIVE_INFINITY }: NodeObservation,
  { nodeGoneAfterMs, nodeStaleAfterMs }: AgentStateLimits,
): string | undefined {
  if (reportAgeMs <= nodeStaleAfterMs) return undefined;
  if (object === undefined) return objectAgeMs >= nodeGoneAfterMs ? "its Node object is deleted" : undefined;
  const isOff = object.isOutOfService === true && object.isReady !== true;
  return isOff ? "it is tainted out-of-service and not ready" : undefined;
}

/**
 * True when the last report shows something mounted there: until an agent is back, its end would stay unknown. What was mounted in
 * another boot no longer is.
 */
function showsMountedVolume({ object, view }: NodeObservation): boolean {
  if (view === undefined || view.mountedVolumes.length === 0) return false;
  // A missing Node object, or one without a boot ID, proves no other boot.
  return object?.bootId === undefined || object.bootId === view.bootId;
}

/** For how long neither a report nor an agent pod has shown an agent. */
function quietMs({ reportAgeMs, objectAgeMs, agentAwayMs }: NodeObservation): number {
  return Math.min(reportAgeMs ?? Number.POSITIVE_INFINITY, objectAgeMs, agentAwayMs ?? 0);
}

/** The end of uses that no scan showed: those of an earlier boot of a node that is Gone, or that has had no agent since. */
export interface AssumedEnd {
  /** The boot of the view that showed them; undefined without one. */
  readonly bootId: string | undefined;
  /** When the end was established, by the API server's clock. */
  readonly atMs: number;
  /** Since when the node is Gone; later than `atMs` where it was up in another boot in between. Undefined while it is not Gone. */
  readonly goneMs?: number | undefined;
  readonly evidence: "node-gone" | "pod-status";
}

/**
 * Whether the mounts in a node's view count as ended, and since when. An assumed end stays, with its time, until a report is accepted
 * (the caller then drops it) or the Node object is back in the same boot, where they may still be mounted.
 */
export function assumedEndOf(
  known: AssumedEnd | undefined,
  { object, view }: Pick<NodeObservation, "object" | "view">,
  { agentState, nowMs }: { readonly agentState: AgentState; readonly nowMs: number },
): AssumedEnd | undefined {
  if (agentState.kind === "Gone") {
    const assumed = known ?? { bootId: view?.bootId, atMs: nowMs, evidence: "node-gone" };
    return { ...assumed, goneMs: assumed.goneMs ?? nowMs };
  }
  const left = known && { ...known, goneMs: undefined };
  // The view of a NoAgent node shows mounts of another boot only.
  const isLeft = agentState.kind === "NoAgent" && (view?.mountedVolumes.length ?? 0) > 0;
  if (isLeft) return left ?? { bootId: view?.bootId, atMs: nowMs, evidence: "pod-status" };
  if (left === undefined || object === undefined) return left;
  return left.bootId === undefined || left.bootId === object.bootId ? undefined : left;
}
