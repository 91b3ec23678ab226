import {
  type ClaimStatus,
  type Gap,
  type MountedOn,
  wholeUncertaintyMs,
} from "../../../common/storage/claim-status.ts";
import { formatSecondsUp } from "../../../common/storage/timestamp.ts";
import type { Decision, InUse, PendingNode } from "./decide.ts";
import type { Idle } from "./gap.ts";
import { endOf, type UseEnd } from "./use-end.ts";

/** What people read in `kubectl describe pvc`: no ages, no counts of pods, nothing to be written again at rest. */

/** The status for a decision; undefined where the stored one stays. */
export function statusOf(decision: Decision, stored: ClaimStatus | undefined): ClaimStatus | undefined {
  if (decision === undefined) return undefined;
  const { reason, sinceMs, lastUse } = decision;
  if (decision.kind === "in-use") {
    const { mountedOn } = decision;
    return { unused: false, reason, message: inUseMessage(decision), sinceMs, mountedOn, lastUse };
  }
  const { gap, stagedOn } = decision;
  const status = { unused: true, reason, message: unusedMessage(decision), sinceMs, mountedOn: undefined, lastUse };
  const staged = stagedOn === "as-stored" ? stored?.staged : stagedMessage(stagedOn ?? []);
  return { ...status, ...(gap && { gap }), ...(staged !== undefined && { staged }) };
}

function inUseMessage({ mountedOn, isNamed, waitsFor }: InUse): string {
  const stale = waitsFor.filter(({ isSilent }) => isSilent);
  if (mountedOn !== undefined && isNamed) return `In use: mounted on ${whereText(mountedOn)}`;
  if (mountedOn?.more || (mountedOn && stale.every(({ node }) => mountedOn.nodes.includes(node)))) {
    return leftMountedMessage(mountedOn, stale);
  }
  if (stale.length > 0) return `Not known to be unused: no report from ${described(stale)}`;
  if (waitsFor.length === 0) return REFERENCED;
  return `Not known to be unused: awaiting the next report from ${described(waitsFor)}`;
}

/** The mounts that remain where every pod that names the claim has ended. */
function leftMountedMessage(mountedOn: MountedOn, stale: readonly PendingNode[]): string {
  const left = `In use: still mounted on ${whereText(mountedOn)}, although every pod that names the claim has ended`;
  const nodes = stale.map(({ node }) => node).sort();
  return nodes.length === 0 ? left : `${left}; no report of the mounts on ${listed(nodes)}, so this may be out of date`;
}

/** The message of an unused claim. It follows from the stored status, unless a pod came and went without a use. */
export function unusedMessage(unused: Idle & { readonly gap?: Gap | undefined }): string {
  const { gap } = unused;
  if (gap === undefined) return idleMessage(unused);
  return `${idleMessage(unused)}; unobserved between ${betweenText(gap.fromMs, gap.toMs)}, so it counts as used until then`;
}

/** The last use, where the claim's time is about it. */
function idleMessage({ reason, sinceMs, lastUse, visit, gap }: Parameters<typeof unusedMessage>[0]): string {
  if (visit !== undefined) return endMessage(visit);
  if (reason === "NeverObservedInUse") return NEVER_OBSERVED;
  if (lastUse === undefined) return END_UNKNOWN;
  const isItsEnd = secondUp(lastUse.byMs) === secondUp(sinceMs);
  return isItsEnd || reason !== "NoPodUsing" || gap !== undefined ? endMessage(endOf(lastUse)) : END_UNKNOWN;
}

const NEVER_OBSERVED = "Not seen in use since Mooring first saw the claim; it may have been unused for longer";

/** A use that ended unobserved, or an end that is not stored, such as that of a pod that came and went. */
const END_UNKNOWN =
  "No pod uses the claim any more; no end of a use was observed then, so the time is when that was noticed";

/** Also true for a hostPath volume and on nodes without an agent, where no mount can be seen. */
const REFERENCED = "In use: a pod that has not ended names the claim; no node shows a mount of it";

function stagedMessage(nodes: readonly string[]): string | undefined {
  if (nodes.length === 0) return undefined;
  return `Staged on ${nodesText(nodes.toSorted())}: the device is still mounted, no pod has it`;
}

function whereText({ nodes, more }: MountedOn): string {
  return more ? `more than ${nodes.length} nodes, among them ${listed(nodes.slice(0, MOST_NAMES))}` : nodesText(nodes);
}

/** Who used the claim last, between which times that ended, and on which evidence. */
export function endMessage(end: UseEnd): string {
  const { evidence, byMs, widthMs, node } = end;
  const [pod, by] = [podText(end), secondUp(byMs)];
  if (!end.wasUse)
    return `${pod.charAt(0).toUpperCase()}${pod.slice(1)} named the claim and had ended by ${by} without having used its volume`;
  const last = `Last used${end.pod === undefined ? "" : ` by ${pod}`}${node === undefined ? "" : ` on node ${node}`}`;
  if (evidence === "node-gone") {
    return `${last}, which is gone since ${by}; its unmount was not observed and is assumed`;
  }
  if (evidence === "pod-status") {
    return `${last}; the pod had ended by ${by}, but no mount can be seen there, so its volume may have been unmounted earlier or later`;
  }
  if (widthMs === undefined) {
    return `${last}; its unmount was not seen, but by ${by} the node's mount table did not show it any more`;
  }
  // To the millisecond, as stored, so that the same facts give the same message.
  const span = betweenText(Math.ceil(byMs) - wholeUncertaintyMs(byMs, widthMs), byMs);
  return `${last}; its volume was unmounted between ${span}, read from the node's mount table`;
}

function betweenText(fromMs: number, toMs: number): string {
  return `${formatSecondsUp(Math.floor(fromMs / 1000) * 1000)} and ${secondUp(toMs)}`;
}

function secondUp(ms: number): string {
  return formatSecondsUp(Math.ceil(ms));
}

function podText({ pod, podUid }: UseEnd): string {
  if (pod === undefined) return "a pod";
  return pod === podUid ? `a pod with the UID ${pod}` : `pod ${pod}`;
}

/** Sorted, so that the same facts give the same message. */
function described(nodes: readonly PendingNode[]): string {
  return listed(nodes.map((one) => `${one.node}${reasonText(one)}`).sort());
}

function reasonText({ why, pod }: PendingNode): string {
  if (why === "pod-ended") return pod === undefined ? " (a pod ended there)" : ` (pod ${pod} ended there)`;
  if (why === "was-mounted") return " (had it mounted)";
  if (why === "attached") return " (the volume is attached to it)";
  return why === "unwatched" ? " (the last pod may have been there; its end went unobserved)" : "";
}

function nodesText(nodes: readonly string[]): string {
  if (nodes.length === 1) return `node ${listed(nodes)}`;
  return nodes.length <= MOST_NAMES ? `nodes ${listed(nodes)}` : `${nodes.length} nodes: ${listed(nodes)}`;
}

/** A message contains so many names; the annotation has the others. */
const MOST_NAMES = 3;

/** The first names in a sentence, and how many there are beside them. */
export function listed(names: readonly string[]): string {
  if (names.length > MOST_NAMES) {
    return `${names.slice(0, MOST_NAMES).join(", ")} and ${names.length - MOST_NAMES} more`;
  }
  return [names.slice(0, -1).join(", "), ...names.slice(-1)].filter((text) => text !== "").join(" and ");
}
