import type { Claim } from "../common/storage/claim.ts";
import { isUseHold, type VolumeIdentity } from "../common/storage/volume-identity.ts";
import { claimsOf, type Fact } from "./core/attribution.ts";
import { type ClaimEvidence, type DecidedClaim, isSettledFor } from "./core/claim-facts.ts";
import type { NodeRelease } from "./core/fleet.ts";
import { type ClaimHistory, EMPTY_HISTORY, pruneHistory, refersTo, settleReferences } from "./core/references.ts";
import type { FleetState } from "./fleet-state.ts";
import type { Cluster } from "./sources/cluster.ts";

/** What this run of the aggregator remembers of a claim, beyond what the API server has. */
export interface ClaimMemory {
  readonly uid: string;
  history: ClaimHistory;
  isWitnessed: boolean;
  readonly witnessedNodes: Set<string>;
  /** Pods, still to be settled, of which the mount table has shown that they use or used the claim. */
  observedPods: ReadonlySet<string>;
  /** Our own last write, until the watch has caught up with it. */
  written: Claim | undefined;
  /** Since when a reason-only change waits to be written, on the monotonic clock. */
  reasonChangedAt: number | undefined;
}

/**
 * A release that belongs to no claim that is known is forgotten after this time: until then the claim's objects may be on
 * their way. A watch whose connection has died without a word is noticed within ten minutes and a bit.
 */
const UNATTRIBUTED_MS = 900_000;

/** What is remembered of each claim, and what nodes and pods tell about it in the light of that. */
export class ClaimMemories {
  readonly #cluster: Cluster;
  readonly #fleet: FleetState;
  readonly #memories = new Map<string, ClaimMemory>();

  constructor({ cluster, fleet }: { readonly cluster: Cluster; readonly fleet: FleetState }) {
    this.#cluster = cluster;
    this.#fleet = fleet;
  }

  known(key: string): ClaimMemory | undefined {
    return this.#memories.get(key);
  }

  /** A claim that was re-created under its name starts anew. */
  of({ key, uid }: Claim): ClaimMemory {
    const known = this.#memories.get(key);
    if (known?.uid === uid) return known;
    const fresh: ClaimMemory = {
      uid,
      history: EMPTY_HISTORY,
      isWitnessed: false,
      witnessedNodes: new Set(),
      observedPods: new Set(),
      written: undefined,
      reasonChangedAt: undefined,
    };
    this.#memories.set(key, fresh);
    return fresh;
  }

  forget({ key, uid }: Claim): void {
    if (this.#memories.get(key)?.uid === uid) this.#memories.delete(key);
  }

  /** Our own last write counts until the watch has brought it, or the claim would be decided on an old state. */
  newest(key: string): Claim | undefined {
    const claim = this.#cluster.claim(key);
    const written = this.#memories.get(key)?.written;
    if (claim === undefined || written?.uid !== claim.uid) return claim;
    return BigInt(written.resourceVersion) > BigInt(claim.resourceVersion) ? written : claim;
  }

  /** What nodes and pods tell about the claim now; settles references whose nodes have answered. */
  evidence(claim: Claim): ClaimEvidence {
    const memory = this.of(claim);
    const views = this.#fleet.viewsOf(this.#identitiesOf(claim));
    const isOurs = (fact: Fact): boolean => claimsOf(fact, this.#cluster).some(({ uid }) => uid === claim.uid);
    const holds = views.flatMap(({ node, holds }) =>
      holds
        .filter(isUseHold)
        .filter(isOurs)
        .map((hold) => ({ ...hold, node })),
    );
    const releases = views.flatMap((view) => [...view.releases.values()].filter(isOurs));
    const pods = this.#cluster.podsOf(claim.key).filter((pod) => refersTo(pod, claim));
    const shown = [...holds, ...releases].map(({ podUid }) => podUid);
    this.#settleReferences(memory, { claim, shown, pods: pods.map(({ uid }) => uid) });
    return {
      claim,
      holders: [...new Set(holds.map(({ node }) => node))],
      references: pods.filter(({ isTerminal }) => !isTerminal).map(({ key }) => key),
      releases,
      history: memory.history,
      witnessedNodes: memory.witnessedNodes,
      isWitnessed: memory.isWitnessed,
    };
  }

  /** This run has seen the claim in use: what comes of it is no use that nobody watched. */
  witness({ claim, holders, references }: DecidedClaim): void {
    const memory = this.of(claim);
    memory.isWitnessed ||= holders.length > 0 || references.length > 0;
    for (const node of holders) memory.witnessedNodes.add(node);
  }

  #settleReferences(
    memory: ClaimMemory,
    {
      claim,
      shown,
      pods,
    }: { readonly claim: Claim; readonly shown: readonly string[]; readonly pods: readonly string[] },
  ): void {
    const observedPods = new Set([...memory.observedPods, ...shown]);
    const history = settleReferences(memory.history, {
      viewOf: (node) => this.#fleet.view(node),
      shownPods: new Set(shown),
      observedPods,
      isHostPath: this.#cluster.volumeByName(claim.volume ?? "")?.isHostPath ?? false,
      stored: claim.status,
    });
    memory.history = pruneHistory(history, claim.status);
    // A pod's release may be settled long before its reference ends, so what was shown is kept until then.
    const unsettled = new Set([...shown, ...pods, ...history.pending.map(({ podUid }) => podUid)]);
    memory.observedPods = observedPods.intersection(unsettled);
  }

  #identitiesOf({ volume }: Claim): readonly VolumeIdentity[] {
    if (volume === undefined) return [];
    const csi = this.#cluster.volumeByName(volume)?.csi;
    return [{ by: "name", name: volume }, ...(csi === undefined ? [] : [{ by: "handle", ...csi } as const])];
  }

  /** True when a release can no longer change any status. */
  isSettled(release: NodeRelease, nowMs: number): boolean {
    const refs = claimsOf(release, this.#cluster);
    const claims = refs.map(({ key, uid }) => ({ uid, claim: this.#cluster.claim(key) }));
    // A claim that is not there is gone or still to come, and so is one that was re-created.
    const known = claims.flatMap(({ uid, claim }) => (claim?.uid === uid ? [claim] : []));
    if (known.length < refs.length || refs.length === 0) {
      if (nowMs - release.byMs <= UNATTRIBUTED_MS) return false;
    }
    return known.every((claim) => isSettledFor(claim, release, this.evidence(claim)));
  }
}
