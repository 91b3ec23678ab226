import type { KubeEvent } from "../../common/kube/kube-event.ts";
import { formatMicroTime } from "../../common/runtime/micro-time.ts";
import type { Claim } from "../../common/storage/claim.ts";
import { formatSecondsUp } from "../../common/storage/timestamp.ts";

/** What the owner of a claim is told beside its status; everything here is a warning. */
export type ClaimWarning =
  /** Kubernetes' own condition says that no pod uses it, while nodes have it mounted. */
  | { readonly kind: "unused-while-mounted"; readonly nodes: readonly string[] }
  /** The status that stands there is out of date. */
  | { readonly kind: "write-refused"; readonly reason: string; readonly message: string }
  /** What Mooring removed or corrected has come back: an annotation, or what the condition said. */
  | {
      readonly kind: "put-back";
      readonly annotation: string | undefined;
      readonly managers: readonly string[];
    };

const REASONS = {
  "unused-while-mounted": { reason: "UnusedWhileMounted", action: "Compared" },
  "write-refused": { reason: "StatusWriteRefused", action: "Wrote" },
  "put-back": { reason: "StatusPutBack", action: "Corrected" },
} as const;

/** The warning as an event on the claim. */
export function claimEvent(claim: Claim, warning: ClaimWarning, nowMs: number): KubeEvent {
  const { namespace, name, uid } = claim;
  return {
    regarding: { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace, name, uid },
    type: "Warning",
    ...REASONS[warning.kind],
    note: noteOf(claim, warning),
    eventTime: formatMicroTime(nowMs),
  };
}

function noteOf({ upstream }: Claim, warning: ClaimWarning): string {
  if (warning.kind === "unused-while-mounted") {
    const sinceMs = upstream?.sinceMs;
    const since = sinceMs === undefined ? "" : `, since ${formatSecondsUp(sinceMs)},`;
    return `Kubernetes' condition Unused says${since} that no pod uses the claim, but it is mounted on ${listed(warning.nodes)}: do not delete it as unused`;
  }
  if (warning.kind === "write-refused") {
    return `The API server refuses the status of the claim, its condition mooring.dev/Unused is out of date (${warning.reason}): ${warning.message}`;
  }
  const who = warning.managers.length === 0 ? "Somebody" : listed(warning.managers);
  const what =
    warning.annotation === undefined
      ? "another condition mooring.dev/Unused"
      : `${warning.annotation}, which does not fit to the condition mooring.dev/Unused`;
  return `${who} puts back ${what}; it is put right again, but less and less often`;
}

function listed(names: readonly string[]): string {
  const more = names.length - 3;
  return more > 0 ? `${names.slice(0, 3).join(", ")} and ${more} more` : names.join(", ");
}
