import { volumeKey } from "../../common/storage/volume-identity.ts";
import type { Fact } from "./attribution.ts";
import type { NodeView } from "./node-view.ts";

/** All mounts and unmount records that a view shows. */
export function factsIn(view: NodeView | undefined): readonly Fact[] {
  return view === undefined ? [] : [...view.holds, ...view.releases.values()];
}

/** A heartbeat leaves the state as it is. */
export function isSameState(known: NodeView, view: NodeView): boolean {
  return known.holds === view.holds && known.releases === view.releases;
}

/** What one of two views shows and the other does not: of a node's thirty holds most are the same as in the report before. */
export function changedFacts(known: NodeView, view: NodeView): readonly Fact[] {
  if (isSameState(known, view)) return [];
  const [before, after] = [holdsByText(known), holdsByText(view)];
  return [
    ...[...before].filter(([text]) => !after.has(text)).map(([, hold]) => hold),
    ...[...after].filter(([text]) => !before.has(text)).map(([, hold]) => hold),
    ...releasesWithout(known, view),
    ...releasesWithout(view, known),
  ];
}

/** Holds by everything that whose they are, and what comes of them, depends on. */
function holdsByText({ holds }: NodeView): ReadonlyMap<string, Fact> {
  return new Map(
    holds.map((hold) => [`${hold.kind}/${hold.beganByMs}/${hold.podUid ?? ""}/${volumeKey(hold.volume)}`, hold]),
  );
}

/** Releases of one view that the other does not have with the same time. An ID says whose a release is. */
function releasesWithout({ releases }: NodeView, other: NodeView): readonly Fact[] {
  return [...releases.values()].filter(({ id, byMs }) => other.releases.get(id)?.byMs !== byMs);
}
