import { freshness, sourceText, unusedAggregator } from "./notices.ts";
import { printable } from "./table.ts";
import type { VolumeListing } from "./volume-source.ts";

const STORED = "What is mounted is what stands on the claims; a node that unmounted a volume may still be named.";

/** Notes on the volumes for the reader, one per line: the most important one last, next to the prompt. */
export function volumeNotices(
  { items, source, missing }: VolumeListing,
  { isWide, isFiltered }: { readonly isWide: boolean; readonly isFiltered: boolean },
): readonly string[] {
  const none = isFiltered ? "No volume is as you asked for." : "No volumes.";
  const stillMounted = items.filter(({ phase, mountedOn }) => phase !== "Bound" && mountedOn.items.length > 0);
  const volumes = stillMounted.length === 1 ? "1 volume is" : `${stillMounted.length} volumes are`;
  return [
    ...(items.length === 0 ? [none] : []),
    ...(isWide ? [sourceText(source)] : []),
    ...missing.map((resource) => `You lack the right "list ${resource}": what they would say is missing.`),
    ...unusedAggregator(source, STORED),
    ...(source.kind === "aggregator" ? freshness(source.nodes) : []),
    ...(stillMounted.length === 0 ? [] : [`${volumes} mounted although no claim is bound to it; do not delete.`]),
  ].map(printable);
}
