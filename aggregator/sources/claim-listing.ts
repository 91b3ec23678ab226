import type { Claim } from "../../common/storage/claim.ts";
import type { VolumeIdentity } from "../../common/storage/volume-identity.ts";
import { claimsOf } from "../core/attribution.ts";
import type { DecidedClaim } from "../core/claim-facts.ts";
import { type ClaimSight, claimItem } from "../core/claim-list.ts";
import { CLAIM_PARAMETERS, type ClaimHints, claimFilter } from "../core/claim-query.ts";
import type { NodeWords } from "../core/list-items.ts";
import type { Query } from "../core/list-query.ts";
import type { NodeView } from "../core/node-view.ts";
import type { Listing } from "../core/paging.ts";
import { identitiesOf, volumeUse } from "../core/volume-use.ts";
import type { Cluster } from "./cluster.ts";

/** Where the lists of claims and volumes look. Nothing of it is changed by reading. */
export interface ListSources {
  readonly cluster: Cluster;
  /** What decides a claim's status now. */
  readonly claimFacts: (key: string) => DecidedClaim | undefined;
  /** Claims that wait for a node's word, and some that did a moment ago. */
  readonly waitingClaims: () => ReadonlySet<string>;
  readonly isDeletionHeld: (claim: Claim) => boolean;
  readonly view: (node: string) => NodeView | undefined;
  /** Views that have a hold or a release of one of the volumes. */
  readonly viewsOf: (volumes: readonly VolumeIdentity[]) => readonly NodeView[];
  readonly words: NodeWords;
  /** The API server's wall clock, at the earliest. Milliseconds since the epoch. */
  readonly earliestMs: () => number;
}

/** The claims that a query asks for. */
export function claimListing(query: Query, sources: ListSources): Listing {
  const { cluster, claimFacts, words } = sources;
  const { mayMatch, matches } = claimFilter(query, hintsFor(query, sources));
  const namespaces = query.all(CLAIM_PARAMETERS.namespace);
  // Those of one namespace lie together.
  const [namespace] = namespaces.length === 1 ? namespaces : [];
  const isByIdleTime = query.one(CLAIM_PARAMETERS.sort) === "idle";
  return {
    batch: (after) =>
      isByIdleTime ? cluster.claimOrder.byIdleTime(after) : cluster.claimOrder.byKey(after, namespace),
    item: ({ key }) => {
      const claim = cluster.claim(key);
      if (claim === undefined || !mayMatch(claim)) return undefined;
      const facts = claimFacts(key);
      const sight = facts && sightOf(facts, sources);
      return sight !== undefined && matches(sight) ? JSON.stringify(claimItem(sight, words)) : undefined;
    },
  };
}

function sightOf(facts: DecidedClaim, { cluster, viewsOf, isDeletionHeld }: ListSources): ClaimSight {
  const { claim, holders, references, awaited } = facts;
  const identities = identitiesIn(claim, cluster);
  const use = volumeUse(viewsOf(identities), identities, (hold) =>
    claimsOf(hold, cluster).some(({ uid }) => uid === claim.uid),
  );
  const [holding, referring] = [new Set(holders), new Set(references)];
  return {
    claim,
    phaseSince: cluster.claimPhaseSince(claim),
    // Of a node that is gone the last report says nothing any more.
    use: { ...use, held: use.held.filter(({ node }) => holding.has(node)) },
    references: cluster.podsOf(claim.key).filter(({ key, isTerminal }) => referring.has(key) && !isTerminal),
    awaited,
    isDeletionHeld: isDeletionHeld(claim),
  };
}

function identitiesIn({ volume }: Claim, { volumeByName }: Cluster): readonly VolumeIdentity[] {
  return volume === undefined ? [] : identitiesOf(volume, volumeByName(volume)?.csi);
}

function hintsFor(query: Query, sources: ListSources): ClaimHints {
  const { cluster, view, viewsOf, earliestMs, waitingClaims } = sources;
  const shown = new Map(
    query.all(CLAIM_PARAMETERS.node).map((node) => {
      const holds = view(node)?.holds ?? [];
      return [node, new Set(holds.flatMap((hold) => claimsOf(hold, cluster)).map(({ uid }) => uid))];
    }),
  );
  return {
    nowMs: earliestMs(),
    isSeen: (claim) => viewsOf(identitiesIn(claim, cluster)).length > 0,
    isNamed: ({ key }) => cluster.podsOf(key).length > 0,
    isSeenOn: (node, { uid }) => shown.get(node)?.has(uid) === true,
    waitingClaims,
    driverOf: ({ volume }) => cluster.volumeByName(volume ?? "")?.csi?.driver,
  };
}
