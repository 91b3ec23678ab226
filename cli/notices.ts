import type { NodeCounts } from "./aggregator.ts";
import type { Scope } from "./claim-list.ts";
import type { ClaimList } from "./claim-source.ts";
import type { ClaimUse } from "./claim-use.ts";
import type { Source } from "./source.ts";
import { printable } from "./table.ts";

const STORED = "These are the claims' stored conditions; they are only as fresh as their last write.";
/** At most this many claims are named in a sentence. */
const NAMED = 5;

/** Notes on the claims for the reader, one per line: the most important one last, next to the prompt. */
export function noticesFor(
  { uses, source }: ClaimList,
  { scope, isWide }: { readonly scope: Scope; readonly isWide: boolean },
): readonly string[] {
  const none = scope === "all" ? "No claims in any namespace." : `No claims in namespace ${scope.namespace}.`;
  const notices = [
    ...(uses.length === 0 ? [none] : []),
    ...(isWide ? [sourceText(source)] : []),
    ...unusedAggregator(source, STORED),
    ...(source.kind === "aggregator" ? freshness(source.nodes) : []),
    ...absences(uses, source),
    ...mountedDespiteKubernetes(uses),
  ];
  return notices.map(printable);
}

export function sourceText(source: Source): string {
  if (source.kind === "api-server") return `Read from the API server ${source.server}.`;
  const { url, cluster, nodes } = source;
  const reporting = nodes.total - nodes.stale - nodes.unreported;
  return `Read from the aggregator ${url} of cluster ${cluster}, to which ${reporting} of ${nodes.total} nodes report.`;
}

/** For a user who asks for something that only an aggregator can report. `instead` says what is shown. */
export function unusedAggregator(source: Source, instead: string): readonly string[] {
  if (source.kind === "aggregator" || source.unused === undefined) return [];
  const { url, why } = source.unused;
  return [`The aggregator ${url} was not used: ${why}.`, instead];
}

export function freshness({ total, stale, unreported }: NodeCounts): readonly string[] {
  return [
    ...(stale > 0
      ? [
          `${stale} of ${total} nodes ${stale === 1 ? "is" : "are"} stale: what ${stale === 1 ? "it" : "they"} reported last may be over.`,
        ]
      : []),
    ...(unreported > 0
      ? [
          `The aggregator has just started: ${unreported} of ${total} nodes ${unreported === 1 ? "has" : "have"} not reported yet.`,
        ]
      : []),
  ];
}

/** Only bound claims get either condition, so without bound claims nothing is missing. */
function absences(uses: readonly ClaimUse[], source: Source): readonly string[] {
  const bound = uses.filter(({ claim }) => claim.phase === "Bound" && !claim.isDeleting);
  if (bound.length === 0) return [];
  return [
    ...(uses.some(({ claim }) => claim.status !== undefined)
      ? []
      : [
          source.kind === "aggregator"
            ? "No claim has Mooring's condition although the aggregator runs: its log tells why it does not write."
            : "No claim has Mooring's condition: is the aggregator running?",
        ]),
    ...(uses.some(({ kubernetes }) => kubernetes !== undefined)
      ? []
      : [
          "Kubernetes' own Unused condition is absent: it needs Kubernetes 1.36 with the feature gate PersistentVolumeClaimUnusedSinceTime, or 1.37.",
        ]),
  ];
}

function mountedDespiteKubernetes(uses: readonly ClaimUse[]): readonly string[] {
  const wrong = uses.filter(({ unusedWhileMounted }) => unusedWhileMounted);
  if (wrong.length === 0) return [];
  const named = wrong.slice(0, NAMED).map(({ claim }) => claim.key);
  const others = wrong.length - named.length;
  const list = `${named.join(", ")}${others > 0 ? ` and ${others} more` : ""}`;
  const claims = wrong.length === 1 ? "1 claim is" : `${wrong.length} claims are`;
  return [`${claims} mounted although Kubernetes says unused; do not delete: ${list}`];
}
