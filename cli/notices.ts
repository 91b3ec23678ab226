import type { Scope } from "./claim-list.ts";
import type { ClaimUse } from "./claim-use.ts";

/** So many claims are named in a sentence. */
const NAMED = 5;

/**
 * What the reader should know beside the claims themselves, a line each. How old the aggregator's word is will be said here, too:
 * a condition is only as fresh as whoever writes it.
 */
export function noticesFor(uses: readonly ClaimUse[], scope: Scope): readonly string[] {
  if (uses.length === 0)
    return [scope === "all" ? "No claims in any namespace." : `No claims in namespace ${scope.namespace}.`];
  return [...absences(uses), ...disagreements(uses)];
}

/** Only bound claims get either condition, so without any of them nothing is missing. */
function absences(uses: readonly ClaimUse[]): readonly string[] {
  const bound = uses.filter(({ claim }) => claim.phase === "Bound" && !claim.isDeleting);
  if (bound.length === 0) return [];
  return [
    ...(uses.some(({ claim }) => claim.status !== undefined)
      ? []
      : ["No claim has Mooring's condition: is the aggregator running?"]),
    ...(uses.some(({ kubernetes }) => kubernetes !== undefined)
      ? []
      : [
          "Kubernetes' own Unused condition is absent: it needs Kubernetes 1.36 with the feature gate PersistentVolumeClaimUnusedSinceTime, or 1.37.",
        ]),
  ];
}

function disagreements(uses: readonly ClaimUse[]): readonly string[] {
  const wrong = uses.filter(({ disagrees }) => disagrees);
  if (wrong.length === 0) return [];
  const named = wrong.slice(0, NAMED).map(({ claim }) => claim.key);
  const others = wrong.length - named.length;
  const list = `${named.join(", ")}${others > 0 ? ` and ${others} more` : ""}`;
  const claims = wrong.length === 1 ? "1 claim is" : `${wrong.length} claims are`;
  return [`${claims} mounted although Kubernetes says unused; do not delete: ${list}`];
}
