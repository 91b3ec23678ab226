import type { Node } from "./cluster-objects.ts";
import type { NodeView } from "./node-view.ts";

/**
 * Whether a node's word is to be waited for: `agent`, its reports come or are about to; `silent`, they are expected and do not
 * come; `agentless`, no agent belongs there, so that the status of its pods is all there is to know; `gone`, assumed to be off.
 */
export interface Standing {
  readonly kind: "agent" | "silent" | "agentless" | "gone";
  /** For people to read. */
  readonly why: string;
}

/** What is known of a node at a moment. Ages are milliseconds on the monotonic clock. */
export interface NodeSight {
  /** Its Node object, or nothing when there is none. */
  readonly object: Node | undefined;
  readonly view: NodeView | undefined;
  /** Before its first report since the start: what is stored of some claim says that it was mounted there. */
  readonly isStoredHolder: boolean;
  /** Since its last report was accepted; nothing before the first. */
  readonly reportAgeMs: number | undefined;
  /** Since its last complete read ended. */
  readonly readAgeMs: number | undefined;
  /** For how long it has been, or has not been, an object of the API, as far as this run has seen. */
  readonly objectAgeMs: number;
  /** For how long no agent pod has been on it; nothing while one is. */
  readonly agentAwayMs: number | undefined;
  /** Its kubelet has been heard of by its Lease since no agent is there. */
  readonly isKubeletAlive: boolean;
}

/** Milliseconds. */
export interface StandingLimits {
  readonly silentAfterMs: number;
  readonly agentlessAfterMs: number;
  readonly nodeGoneAfterMs: number;
}

/** A standing, and when to look again. */
export interface NodeOpinion {
  readonly standing: Standing;
  /** The standing may change by time alone after so many milliseconds; nothing when time changes nothing. */
  readonly nextMs: number | undefined;
  /** Whether it is agentless is decided by its kubelet's Lease. */
  readonly isInQuestion: boolean;
}

/** An agent without a complete read for so long tells nothing: the limit of its readiness, too. */
export const BLIND_AFTER_MS = 180_000;

/** What to make of a node. The first rule that fits decides. */
export function opinionOf(sight: NodeSight, limits: StandingLimits): NodeOpinion {
  const { object } = sight;
  const silence = silenceOf(sight, limits);
  const nextMs = nextOf(sight, limits);
  const isQuiet = object !== undefined && !showsHold(sight) && quietMs(sight) >= limits.agentlessAfterMs;
  const opinion = (kind: Standing["kind"], why: string): NodeOpinion => ({
    standing: { kind, why },
    nextMs,
    isInQuestion: kind === "silent" && isQuiet,
  });
  if (silence === undefined && sight.reportAgeMs !== undefined) return opinion("agent", "it reports");
  const gone = silence && goneness(sight, limits);
  if (gone !== undefined) return opinion("gone", gone);
  if (object?.os !== undefined && object.os !== "linux" && !showsHold(sight)) {
    return opinion("agentless", `no agent belongs on ${object.os}`);
  }
  if (isQuiet && sight.isKubeletAlive) {
    return opinion("agentless", "no report has come and no agent pod been there for long, while its kubelet lives");
  }
  return silence === undefined ? opinion("agent", "its first report is awaited") : opinion("silent", silence);
}

/** Why a node counts as silent, or nothing while its last report is fresh or its first may still come. */
function silenceOf(sight: NodeSight, { silentAfterMs }: StandingLimits): string | undefined {
  const { reportAgeMs, readAgeMs, objectAgeMs } = sight;
  if (reportAgeMs === undefined) {
    return objectAgeMs > silentAfterMs ? "no report since the aggregator or the node came up" : undefined;
  }
  if (reportAgeMs > silentAfterMs) return "its reports have stopped";
  if (readAgeMs !== undefined && readAgeMs > BLIND_AFTER_MS) return "its agent cannot read the mount table completely";
  return undefined;
}

/** Never while its agent reports: what it says of its mounts counts, also when it cannot read the table completely. */
function goneness(
  { object, objectAgeMs, reportAgeMs = Number.POSITIVE_INFINITY }: NodeSight,
  { nodeGoneAfterMs, silentAfterMs }: StandingLimits,
): string | undefined {
  if (reportAgeMs <= silentAfterMs) return undefined;
  if (object === undefined) return objectAgeMs >= nodeGoneAfterMs ? "its Node object is deleted" : undefined;
  const isOff = object.isOutOfService === true && object.isReady !== true;
  return isOff ? "it is tainted out-of-service and not ready" : undefined;
}

/**
 * True when something may be mounted there by the last that was heard of it: until an agent is back nobody could tell how that
 * ends. What was mounted in another boot is not mounted now.
 */
function showsHold({ object, view, isStoredHolder }: NodeSight): boolean {
  if (view === undefined) return isStoredHolder;
  return isSameBoot(object, view.bootId) && view.holds.length > 0;
}

/** A Node object that is not there, or names no boot, tells of no other one. */
function isSameBoot(object: Node | undefined, bootId: string): boolean {
  return object?.bootId === undefined || object.bootId === bootId;
}

/** For how long neither a report nor an agent's pod has told of an agent. */
function quietMs({ reportAgeMs, objectAgeMs, agentAwayMs }: NodeSight): number {
  return Math.min(reportAgeMs ?? Number.POSITIVE_INFINITY, objectAgeMs, agentAwayMs ?? 0);
}

function nextOf(sight: NodeSight, limits: StandingLimits): number | undefined {
  const { reportAgeMs, readAgeMs, objectAgeMs, agentAwayMs } = sight;
  // A node is silent when it is *more* than so old: the smallest step beyond is a millisecond.
  const rests = [
    limits.silentAfterMs + 1 - (reportAgeMs ?? objectAgeMs),
    readAgeMs === undefined ? 0 : BLIND_AFTER_MS + 1 - readAgeMs,
    limits.nodeGoneAfterMs - objectAgeMs,
    agentAwayMs === undefined ? 0 : limits.agentlessAfterMs - quietMs(sight),
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
  { standing, sight, nowMs }: { readonly standing: Standing; readonly sight: NodeSight; readonly nowMs: number },
): AssumedEnd | undefined {
  const { object, view } = sight;
  if (standing.kind === "gone") {
    const assumed = known ?? { bootId: view?.bootId, atMs: nowMs, evidence: "node-gone" };
    return { ...assumed, goneMs: assumed.goneMs ?? nowMs };
  }
  const left = known && { ...known, goneMs: undefined };
  // Agentless nodes show no hold but those of another boot.
  const isLeft = standing.kind === "agentless" && (view?.holds.length ?? 0) > 0;
  if (isLeft) return left ?? { bootId: view?.bootId, atMs: nowMs, evidence: "pod-status" };
  if (left === undefined || object === undefined) return left;
  return left.bootId === undefined || left.bootId === object.bootId ? undefined : left;
}
