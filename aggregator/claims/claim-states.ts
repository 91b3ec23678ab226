import { isOlder } from "../../common/kube/resource-version.ts";
import type { Claim } from "../../common/storage/claim.ts";
import { isUse, volumeMatcher } from "../../common/storage/volume-identity.ts";
import { claimsOf, type Fact } from "../core/attribution.ts";
import { type ClaimEvidence, foundUse } from "../core/claim-evidence.ts";
import type { DecidedClaim } from "../core/claim-facts.ts";
import { FactIndex } from "../core/fact-index.ts";
import type { NodeUnmountRecord, NodeView } from "../core/node-view.ts";
import {
  type ClaimHistory,
  EMPTY_HISTORY,
  type EndedReference,
  isOnlyOurs,
  isOpen,
  mayUse,
  type NodeWords,
  pruneHistory,
  type ReferenceContext,
  settleReferences,
  withEnds,
} from "../core/references.ts";
import { isSettledFor, latestUnmountRecords } from "../core/settlement.ts";
import type { UseEnd } from "../core/use-end.ts";
import { identitiesOf } from "../core/volume-use.ts";
import { isUpTo } from "../core/watch-history.ts";
import type { FleetState } from "../nodes/fleet-state.ts";
import type { Cluster } from "../sources/cluster.ts";

interface ClaimStatesParts {
  readonly cluster: Cluster;
  readonly fleet: FleetState;
  /** The pod is over, and what came of that is not known to be stored: a successor may have to find it out again. */
  readonly isEndOpen: (podUid: string) => boolean;
  /** The latest that the API server's clock can show, milliseconds since the epoch. */
  readonly nowMs: () => number;
}

/** What this run of the aggregator remembers of a claim, beyond what the API server has. */
export interface ClaimState {
  readonly uid: string;
  history: ClaimHistory;
  /** This session has seen a mount of the claim, or a pod that names it: it knows how the use ends that is stored. */
  isWitnessed: boolean;
  /** Our own last write, until the watch has caught up with it. */
  written: Claim | undefined;
}

/** What is remembered of each claim, and what nodes and pods tell about it in the light of that. */
export class ClaimStates {
  readonly #parts: ClaimStatesParts;
  readonly #cluster: Cluster;
  readonly #fleet: FleetState;
  readonly #words: NodeWords;
  readonly #facts = new FactIndex();
  /** Only of claims with something to remember: most are at rest. */
  readonly #states = new Map<string, ClaimState>();
  /** Keys of those with ended uses that no status tells of yet. */
  readonly #open = new Set<string>();

  constructor(parts: ClaimStatesParts, words: NodeWords) {
    this.#parts = parts;
    this.#cluster = parts.cluster;
    this.#fleet = parts.fleet;
    this.#words = words;
  }

  known(key: string): ClaimState | undefined {
    return this.#states.get(key);
  }

  get size(): number {
    return this.#states.size;
  }

  /** Keys of the claims with ended uses that their status does not tell of yet, and that whoever leads next cannot read again. */
  get open(): Iterable<string> {
    const isThere = (podUid: string): boolean => this.#cluster.isPodThere(podUid);
    return [...this.#open].filter((key) => isOnlyOurs(this.#states.get(key)?.history ?? EMPTY_HISTORY, isThere));
  }

  /** A claim that was re-created under its name starts anew. */
  of(claim: Claim): ClaimState {
    const state = this.#peek(claim);
    this.#states.set(claim.key, state);
    return state;
  }

  #peek({ key, uid }: Claim): ClaimState {
    const known = this.#states.get(key);
    return known?.uid === uid ? known : emptyState(uid);
  }

  forget({ key, uid }: Claim): void {
    if (this.#states.get(key)?.uid !== uid) return;
    this.#states.delete(key);
    this.#open.delete(key);
  }

  /** Our own last write counts until the watch has brought it, or the claim would be decided on an old state. */
  newest(key: string): Claim | undefined {
    const claim = this.#cluster.claim(key);
    return claim && (this.#unseenWrite(claim) ?? claim);
  }

  /** A watch that has come as far, and shows an older state, shows what was put back from a backup. */
  #unseenWrite({ key, uid, resourceVersion }: Claim): Claim | undefined {
    const written = this.#states.get(key)?.written;
    if (written?.uid !== uid || !isOlder(resourceVersion, written.resourceVersion)) return undefined;
    const reached = this.#cluster.claimsReached();
    return reached === undefined || isOlder(reached, written.resourceVersion) ? written : undefined;
  }

  /** A pod that referred to the claim is over. */
  noteEnd(claim: Claim, reference: EndedReference): void {
    const state = this.of(claim);
    state.isWitnessed ||= reference.wasOver !== true || claim.status?.unused === false;
    this.#keep(claim, { ...state.history, pending: [...state.history.pending, reference] });
  }

  /** This session has seen the claim in use: what comes of it is no use that nobody watched. */
  witness({ claim, holders, references }: DecidedClaim): void {
    if (holders.length > 0 || references.length > 0) this.of(claim).isWitnessed = true;
  }

  /** Ends that were assumed and whose view is forgotten: they may still be the latest. */
  keepEnds(claim: Claim, ends: readonly UseEnd[]): void {
    const { history } = this.#peek(claim);
    if (ends.length > 0) this.#keep(claim, pruneHistory(withEnds(history, ends), claim.status));
  }

  #keep(claim: Claim, history: ClaimHistory): void {
    this.of(claim).history = history;
    this.#open[isOpen(history) ? "add" : "delete"](claim.key);
  }

  /** Nothing is to be written of the claim: lets go of a memory that can no longer matter. */
  rest({ claim, holders, references }: DecidedClaim): void {
    const state = this.#states.get(claim.key);
    if (state === undefined) return;
    if (state.written !== undefined) return;
    const isInUse = holders.length > 0 || references.length > 0 || claim.status?.unused === false;
    if (!isOpen(state.history) && !(state.isWitnessed && isInUse)) this.forget(claim);
  }

  /** The evidence for a decision: references whose nodes have answered are settled from now on. */
  settle(claim: Claim): ClaimEvidence {
    const evidence = this.evidence(claim);
    const { history } = evidence;
    const known = this.#states.get(claim.key);
    if (known?.uid !== claim.uid && !isOpen(history)) return evidence;
    const state = this.of(claim);
    this.#keep(claim, history);
    if (state.written !== undefined) state.written = this.#unseenWrite(this.#cluster.claim(claim.key) ?? claim);
    return evidence;
  }

  /** What nodes and pods tell about the claim now. A read: it changes nothing. */
  evidence(claim: Claim): ClaimEvidence {
    const volume = claim.volume === undefined ? undefined : this.#cluster.volumeByName(claim.volume);
    const identities = claim.volume === undefined ? [] : identitiesOf(claim.volume, volume?.csi);
    const isCalledSo = volumeMatcher(identities);
    const isOurs = (fact: Fact): boolean =>
      isCalledSo(fact.volume) && claimsOf(fact, this.#cluster).some(({ uid }) => uid === claim.uid);
    const found = this.#fleet.viewsOf(identities).map((view) => {
      const near = this.#facts.near(view, identities);
      return {
        view,
        mountedVolumes: near.mountedVolumes.filter(isOurs),
        unmountRecords: near.unmountRecords.filter(isOurs),
      };
    });
    const unmountRecords = found.flatMap((one) => one.unmountRecords);
    const pods = this.#cluster.podsOf(claim.key).filter((pod) => !pod.isTerminal && mayUse(pod, claim));
    const uses = found.flatMap(({ view, mountedVolumes }) =>
      mountedVolumes.filter(isUse).map((mountedVolume) => foundUse(view, mountedVolume)),
    );
    const mountedBy = new Set(uses.map(({ podUid }) => podUid));
    const { history, isWitnessed } = this.#peek(claim);
    return {
      claim,
      volume,
      uses,
      shownOn: found.filter(({ mountedVolumes }) => mountedVolumes.length > 0).map(({ view }) => view.node),
      attachedTo: volume === undefined ? [] : this.#cluster.nodesWith(volume),
      references: pods.map(({ key }) => key),
      unmountRecords,
      history: this.#settled(history, claim, { unmountRecords, mountedBy, isHostPath: volume?.isHostPath ?? false }),
      isWitnessed,
    };
  }

  #settled(
    history: ClaimHistory,
    { status: stored }: Claim,
    found: Pick<ReferenceContext, "unmountRecords" | "mountedBy" | "isHostPath">,
  ): ClaimHistory {
    return pruneHistory(settleReferences(history, { ...this.#words, ...found, stored }), stored);
  }

  /**
   * False while its pod may come to light yet, the watch of pods being behind the node's: it may have had an inline volume, and then what it
   * did is not the claim's, and makes up for nothing.
   */
  #isAttributed({ node, podUid }: NodeUnmountRecord): boolean {
    if (this.#cluster.podByUid(podUid) !== undefined) return true;
    const { podsResourceVersion } = this.#fleet.view(node) ?? {};
    const reached = this.#cluster.podsReached();
    return podsResourceVersion !== undefined && reached !== undefined && isUpTo(podsResourceVersion, reached);
  }

  /**
   * True when the pod is over and what came of its end is stored: until then the record explains how the use ended, to this leader and to the
   * next one.
   */
  #isDealtWith(unmountRecord: NodeUnmountRecord, claims: readonly Claim[]): boolean {
    const { podUid } = unmountRecord;
    const isThere = this.#cluster.isPodThere(podUid) && this.#cluster.podByUid(podUid)?.isTerminal !== true;
    if (isThere || !this.#isAttributed(unmountRecord) || this.#parts.isEndOpen(podUid)) return false;
    return claims.every((claim) => this.#peek(claim).history.pending.every((one) => one.podUid !== podUid));
  }

  /**
   * Whether an unmount record of this node can still change a status. It is unattributed when nothing is known that it could change, but not all of the
   * claims that it belongs to are known: such a claim is gone, or still to come, and so is one that was re-created under its name.
   */
  fateIn({ node }: NodeView): (unmountRecord: NodeUnmountRecord) => UnmountRecordFate {
    const nowMs = this.#parts.nowMs();
    const latest = new Map<string, readonly NodeUnmountRecord[]>();
    const latestOf = (claim: Claim): readonly NodeUnmountRecord[] => {
      const known = latest.get(claim.uid);
      if (known !== undefined) return known;
      const own = this.evidence(claim).unmountRecords.filter((one) => one.node === node && this.#isAttributed(one));
      const found = latestUnmountRecords(own);
      latest.set(claim.uid, found);
      return found;
    };
    return (unmountRecord) => {
      const refs = claimsOf(unmountRecord, this.#cluster);
      const known = refs.flatMap(({ key, uid }) => {
        const claim = this.#cluster.claim(key);
        return claim?.uid === uid ? [claim] : [];
      });
      const isSettled =
        (known.length === 0 || this.#isDealtWith(unmountRecord, known)) &&
        known.every((claim) => isSettledFor(claim, unmountRecord, { unmountRecords: latestOf(claim), nowMs }));
      if (!isSettled) return "open";
      return refs.length === 0 || known.length < refs.length ? "unattributed" : "settled";
    };
  }
}

/** Whether an unmount record can still change a status. */
type UnmountRecordFate = "open" | "settled" | "unattributed";

function emptyState(uid: string): ClaimState {
  return { uid, history: EMPTY_HISTORY, isWitnessed: false, written: undefined };
}
