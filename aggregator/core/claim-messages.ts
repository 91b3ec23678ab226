import type { BlindGap, MountedOn, UnusedReason } from "../../common/storage/claim-status.ts";
import { formatSecondsUp } from "../../common/storage/timestamp.ts";

/**
 * What people read in `kubectl describe pvc`. A message tells what stays true until the next transition: no ages, no counts of
 * pods, nothing that would have to be written anew at rest.
 */

/** What a message tells of the end of a use. */
export interface ToldEnd {
  readonly reason: UnusedReason;
  readonly node: string | undefined;
  readonly pod: string | undefined;
  readonly podUid: string | undefined;
  readonly widthMs: number | undefined;
  readonly wasUse: boolean;
}

/** What a message tells of a node whose word is missing. */
export interface ToldNode {
  readonly node: string;
  readonly why?: (typeof REASONS)[number] | undefined;
  readonly pod?: string | undefined;
}

/** An idle claim at first sight. */
export const NEVER_OBSERVED = "Not seen in use since Mooring first saw the claim; it may have been unused for longer";

/** A use that ended without a trace. */
export const END_UNKNOWN =
  "No pod uses the claim any more; nobody saw the last use end, so the time is when that was noticed";

/** True for a hostPath volume and on nodes without an agent, too, where no mount can be seen. */
export const REFERENCED = "Not seen mounted on any node, but at least one pod that is not finished names the claim";

/** An uncertainty up to this goes without saying: two whole seconds of the API's clock. */
const TOLD_WIDTH_MS = 2_000;

/** The nodes, and what is odd where no pod tells of them. */
export function mountedMessage({ nodes, more }: MountedOn, isReferenced: boolean): string {
  const where = more ? `more than ${nodes.length} nodes, among them ${firstOf(nodes)}` : nodesText(nodes);
  return isReferenced
    ? `Mounted on ${where}`
    : `Mounted on ${where} although no unfinished pod names the claim: it is still to be unmounted there`;
}

/** Which nodes have to answer, and why they of all. */
export function silentMessage(nodes: readonly ToldNode[]): string {
  return `Not known to be unused: no report from ${listed(told(nodes))}`;
}

/** The same while their answers may still come in time. */
export function awaitedMessage(nodes: readonly ToldNode[]): string {
  return `Not known to be unused: awaiting the next report from ${listed(told(nodes))}`;
}

/** How the last use ended, what that is known from, and by how much it may be wrong. */
export function endMessage(end: ToldEnd): string {
  if (end.reason === "NodeGone") {
    const user = end.pod === undefined ? "" : `, last used by ${podText(end)}`;
    return `Last mounted${onNode(end)}${user} (evidence: the node is gone; the unmount is assumed, nobody saw it)`;
  }
  return end.reason === "Unmounted" ? unmountedMessage(end) : podEndMessage(end);
}

/** What is added for a claim that may have been used while nobody watched; `isMoved`: it counts as used until then. */
export function gapMessage({ fromMs, toMs }: BlindGap, isMoved: boolean): string {
  const between = `between ${formatSecondsUp(Math.floor(fromMs / 1000) * 1000)} and ${formatSecondsUp(toMs)}`;
  const result = isMoved ? "so it counts as used until then" : "when it may have been used";
  return `; nobody watched ${between}, ${result}`;
}

function unmountedMessage(end: ToldEnd): string {
  const { pod, widthMs } = end;
  if (pod === undefined) {
    const since = widthMs === undefined ? "some time" : `up to ${durationText(widthMs)}`;
    return `Unmounted${onNode(end)} while nobody watched (evidence: mount table; it may have been ${since} earlier)`;
  }
  if (widthMs === undefined) {
    return `Not mounted${onNode(end)} after ${podText(end)} had ended there (evidence: mount table; its unmount was not seen, it may have been earlier)`;
  }
  const doubt = widthMs > TOLD_WIDTH_MS ? `; it may have been up to ${durationText(widthMs)} earlier` : "";
  return `Unmounted${onNode(end)}, last used by ${podText(end)} (evidence: mount table${doubt})`;
}

function podEndMessage(end: ToldEnd): string {
  return end.wasUse
    ? `Last used by ${podText(end)}${onNode(end)}, which has ended (evidence: pod status; no mount can be seen there, so the unmount may have been earlier or later)`
    : `${capital(podText(end))} ended without having used the volume (evidence: pod status)`;
}

function podText({ pod, podUid }: ToldEnd): string {
  if (pod === undefined) return "a pod";
  return pod === podUid ? `a pod with the UID ${pod}` : `pod ${pod}`;
}

function onNode({ node }: ToldEnd): string {
  return node === undefined ? "" : ` on ${node}`;
}

function told(nodes: readonly ToldNode[]): readonly string[] {
  // By name, whatever the order in which they are awaited: a message that is made again is the same.
  const sorted = nodes.toSorted((one, other) => compare(keyOf(one), keyOf(other)));
  const first = new Map(sorted.toReversed().map((one) => [one.node, one]));
  return [...first.values()].reverse().map((one) => `${one.node}${reasonText(one)}`);
}

/** Of several reasons to ask one node the one that tells most comes first. */
function keyOf({ node, why, pod }: ToldNode): string {
  const rank = why === undefined ? REASONS.length : REASONS.indexOf(why);
  return `${node} ${rank} ${pod ?? "~"}`;
}

const REASONS = ["pod-ended", "was-mounted", "attached", "unwatched"] as const;

function reasonText({ why, pod }: ToldNode): string {
  if (why === "pod-ended") return pod === undefined ? " (a pod ended there)" : ` (pod ${pod} ended there)`;
  if (why === "was-mounted") return " (had it mounted)";
  if (why === "attached") return " (the volume is attached to it)";
  return why === "unwatched" ? " (the last pod may have been there; nobody watched it end)" : "";
}

function nodesText(nodes: readonly string[]): string {
  return nodes.length <= MOST_NAMES ? listed(nodes) : `${nodes.length} nodes: ${listed(nodes)}`;
}

/** So many names are told; the annotation has the others. */
const MOST_NAMES = 3;

function firstOf(names: readonly string[]): string {
  return listed(names.slice(0, MOST_NAMES));
}

function listed(names: readonly string[]): string {
  if (names.length > MOST_NAMES) {
    return `${names.slice(0, MOST_NAMES).join(", ")} and ${names.length - MOST_NAMES} more`;
  }
  return [names.slice(0, -1).join(", "), ...names.slice(-1)].filter((text) => text !== "").join(" and ");
}

const UNITS = [
  { ms: 86_400_000, name: "d" },
  { ms: 3_600_000, name: "h" },
  { ms: 60_000, name: "min" },
] as const;

/** Rounded up, in the largest unit of which there are at least two: an uncertainty is never told too small. */
function durationText(ms: number): string {
  const unit = UNITS.find((one) => ms > 2 * one.ms) ?? { ms: 1_000, name: "s" };
  return `${Math.max(1, Math.ceil(ms / unit.ms))} ${unit.name}`;
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

function compare(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
