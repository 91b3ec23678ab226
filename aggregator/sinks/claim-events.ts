import type { KubeEvent } from "../../common/kube/kube-event.ts";
import { formatMicroTime } from "../../common/runtime/micro-time.ts";
import { type Claim, FORCE_RELEASE } from "../../common/storage/claim.ts";
import { formatSecondsUp } from "../../common/storage/timestamp.ts";
import { type ObservedMount, REMOVAL_CAUSES, type RemovalCause } from "../core/claims/deletion.ts";
import { listed } from "../core/claims/message.ts";

/** A problem of a claim that its owner should know, beside its status; its fields are those of a log line. */
export type ClaimWarning =
  | { readonly kind: "unused-while-mounted"; readonly nodes: readonly string[] }
  | { readonly kind: "write-refused"; readonly reason: string; readonly err: string }
  /** Another client put back what Mooring removed or corrected: an annotation, or the condition. */
  | { readonly kind: "put-back"; readonly annotation: string | undefined; readonly managers: readonly string[] }
  | { readonly kind: "deletion-held"; readonly mounts: readonly ObservedMount[] }
  | { readonly kind: "force-released"; readonly mounts: readonly ObservedMount[]; readonly why: string }
  | { readonly kind: "removed-while-mounted"; readonly mounts: readonly ObservedMount[]; readonly cause: RemovalCause };

/** What `isOnce` happens to a claim once: the event has a fixed name, so the next leader does not repeat it. */
const KINDS = {
  "unused-while-mounted": { reason: "UnusedWhileMounted", action: "Compared", isOnce: false },
  "write-refused": { reason: "StatusWriteRefused", action: "Wrote", isOnce: false },
  "put-back": { reason: "StatusPutBack", action: "Corrected", isOnce: false },
  "deletion-held": { reason: "DeletionHeld", action: "Kept", isOnce: true },
  "force-released": { reason: "ForceReleased", action: "Released", isOnce: true },
  "removed-while-mounted": { reason: "RemovedWhileMounted", action: "Observed", isOnce: true },
} as const;

export function claimEvent(claim: Claim, warning: ClaimWarning, nowMs: number): KubeEvent {
  const { namespace, name, uid } = claim;
  const { isOnce, ...said } = KINDS[warning.kind];
  return {
    regarding: { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace, name, uid },
    type: "Warning",
    ...said,
    note: noteOf(claim, warning),
    eventTime: formatMicroTime(nowMs),
    ...(isOnce && { once: `${warning.kind}-${uid}` }),
  };
}

function noteOf(claim: Claim, warning: ClaimWarning): string {
  if (warning.kind === "deletion-held") return heldNote(claim, warning.mounts);
  if (warning.kind === "force-released") return releasedNote(claim, warning);
  if (warning.kind === "removed-while-mounted") {
    return `The claim is gone while its volume is mounted on ${mountsText(warning.mounts)}: ${REMOVAL_CAUSES[warning.cause]}`;
  }
  if (warning.kind === "unused-while-mounted") {
    const sinceMs = claim.upstream?.sinceMs;
    const since = sinceMs === undefined ? "" : `, since ${formatSecondsUp(sinceMs)},`;
    return `Kubernetes' condition Unused says${since} that no pod uses the claim, but it is mounted on ${listed(warning.nodes)}: do not delete it as unused`;
  }
  if (warning.kind === "write-refused") {
    return `The API server refuses the status of the claim, its condition mooring.dev/Unused is out of date (${warning.reason}): ${warning.err}`;
  }
  const who = warning.managers.length === 0 ? "An unknown client" : listed(warning.managers);
  const what =
    warning.annotation === undefined
      ? "another condition mooring.dev/Unused"
      : `${warning.annotation}, which does not fit to the condition mooring.dev/Unused`;
  return `${who} puts back ${what}; it is put right again, but less and less often`;
}

function heldNote({ namespace, name, uid, status }: Claim, mounts: readonly ObservedMount[]): string {
  const where = mounts.length > 0 ? `Mounted on ${mountsText(mounts)}` : (status?.staged ?? status?.message ?? "");
  const command = `kubectl annotate pvc -n ${namespace} ${name} ${FORCE_RELEASE}="${uid.slice(0, 8)} REASON"`;
  return `The claim is deleted and stays until its volume is unmounted. ${where}. To let it go now, and lose what is written: ${command}`;
}

function releasedNote(
  { status }: Claim,
  { mounts, why }: Extract<ClaimWarning, { readonly kind: "force-released" }>,
): string {
  const where = mounts.length > 0 ? `mounted on ${mountsText(mounts)}` : `in use (${status?.message ?? ""})`;
  return `${FORCE_RELEASE} lets the claim go while its volume is ${where}. Reason given: ${why === "" ? "none" : why}`;
}

function mountsText(mounts: readonly ObservedMount[]): string {
  const one = ({ node, pod }: ObservedMount): string => `node ${node}${pod === undefined ? "" : ` by pod ${pod}`}`;
  return listed([...new Set(mounts.map(one))]);
}
