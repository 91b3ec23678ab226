import { isOlder } from "../../common/kube/resource-version.ts";
import type { Claim } from "../../common/storage/claim.ts";
import { isUse, volumeMatcher } from "../../common/storage/volume-identity.ts";
import { claimsOf, type Fact } from "../core/attribution.ts";
import { type ClaimEvidence, foundUse } from "../core/claim-evidence.ts";
import type { DecidedClaim } from "../core/claim-facts.ts";
import {
  type ClaimHistory,
  EMPTY_HISTORY,
  type HistoryContext,
  isOnlyOurs,
  isOpen,
  type NodeWords,
  pruneHistory,
  settleHistory,
  withEnds,
} from "../core/claim-history.ts";
import type { EndedPod } from "../core/cluster-objects.ts";
import { FactIndex } from "../core/fact-index.ts";
import { claimKeysOf, mayUse } from "../core/references.ts";
import type { UseEnd } from "../core/use-end.ts";
import { identitiesOf } from "../core/volume-use.ts";
import type { FleetState } from "../nodes/fleet-state.ts";
import type { EndedPods } from "../pod-watch/ended-pods.ts";
import type { Cluster } from "../sources/cluster.ts";

interface ClaimStatesParts {
  readonly cluster: Cluster;
  readonly fleet: FleetState;
  readonly ends: Pick<EndedPods, "of" | "isTold">;
}

/** What this session remembers of a claim, beyond what the API server has. */
export interface ClaimState {
  readonly uid: string;
  readonly history: ClaimHistory;
  /** This session has seen a mount of the claim, or a pod that names it: it knows how the use ends that is stored. */
  readonly isWitnessed: boolean;
  /** Our own last write, until the watch has caught up with it. */
  readonly written: Claim | undefined;
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
  /** UIDs of the claims whose state has these ends in it already. */
  readonly #told = new WeakMap<EndedPod, Set<string>>();

  constructor(parts: ClaimStatesParts, words: NodeWords) {
    this.#parts = parts;
    this.#cluster = parts.cluster;
    this.#fleet = parts.fleet;
    this.#words = words;
  }

  get size(): number {
    return this.#states.size;
  }

  /** Keys of the claims with ended uses that their status does not tell of yet, and that whoever leads next cannot read again. */
  get open(): Iterable<string> {
    const isThere = (podUid: string): boolean => this.#cluster.isPodThere(podUid);
    return [...this.#open].filter((key) => isOnlyOurs(this.#states.get(key)?.history ?? EMPTY_HISTORY, isThere));
  }

  /** Pods that named the claim, are over, and whose nodes had not answered when it was last decided. */
  pendingOf(claim: Claim): readonly EndedPod[] {
    return this.#peek(claim).history.pending;
  }

  /** The state as it is now, with the pods that have ended since; a claim that was re-created under its name starts anew. A read. */
  #peek(claim: Claim): ClaimState {
    const { key, uid } = claim;
    const known = this.#states.get(key);
    const state = known?.uid === uid ? known : emptyState(uid);
    const ended = this.#parts.ends.of(key).filter((end) => this.#isNews(end, claim));
    return ended.length === 0 ? state : withEnded(state, ended, claim);
  }

  #isNews(end: EndedPod, claim: Claim): boolean {
    return (
      this.#told.get(end)?.has(claim.uid) !== true && !this.#parts.ends.isTold(end, claim) && this.#hasNamed(end, claim)
    );
  }

  /**
   * What was over before this claim was made meant an earlier one of that name. Clocks may differ, so a pod that is known to have had it
   * counts.
   */
  #hasNamed({ pod, seenAtMs }: EndedPod, claim: Claim): boolean {
    const isLater = seenAtMs >= (claim.createdAtMs ?? 0);
    return mayUse(pod, claim) && (isLater || this.#cluster.knewClaim(pod.uid, claim));
  }

  #change(claim: Claim, changes: Partial<ClaimState>): void {
    const { key, uid } = claim;
    const state = { ...this.#peek(claim), ...changes };
    for (const end of this.#parts.ends.of(key)) this.#told.set(end, (this.#told.get(end) ?? new Set()).add(uid));
    if (isOpen(state.history)) this.#open.add(key);
    else this.#open.delete(key);
    if (isOpen(state.history) || state.isWitnessed || state.written !== undefined) this.#states.set(key, state);
    else this.#states.delete(key);
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

  /** Leading begins, and these pods are over and still there. Of those whose end was seen more is known. */
  begin(finished: readonly EndedPod[]): void {
    for (const end of finished) {
      for (const claim of claimKeysOf(end.pod).flatMap((key) => this.#cluster.claim(key) ?? [])) {
        const isSeen = this.#parts.ends.of(claim.key).some(({ pod }) => pod.uid === end.pod.uid);
        if (!isSeen && this.#hasNamed(end, claim)) this.#change(claim, withEnded(this.#peek(claim), [end], claim));
      }
    }
  }

  noteWritten(claim: Claim): void {
    this.#change(claim, { written: claim });
  }

  /** This session has seen the claim in use: what comes of it is no use that nobody watched. */
  witness({ claim, holders, references }: DecidedClaim): void {
    if (holders.length > 0 || references.length > 0) this.#change(claim, { isWitnessed: true });
  }

  /** Ends that were assumed and whose view is forgotten: they may still be the latest. */
  keepEnds(claim: Claim, ends: readonly UseEnd[]): void {
    const { history } = this.#peek(claim);
    if (ends.length > 0) this.#change(claim, { history: pruneHistory(withEnds(history, ends), claim.status) });
  }

  /** Nothing is to be written of the claim: lets go of a memory that can no longer matter. */
  rest({ claim, holders, references }: DecidedClaim): void {
    const { history, written } = this.#states.get(claim.key) ?? emptyState(claim.uid);
    const isInUse = holders.length > 0 || references.length > 0 || claim.status?.unused === false;
    if (written === undefined && !isOpen(history) && !isInUse) this.forget(claim);
  }

  /** The evidence for a decision: pods whose nodes have answered are settled from now on. */
  settle(claim: Claim): ClaimEvidence {
    const evidence = this.evidence(claim);
    const { history, isWitnessed } = evidence;
    const written = this.#unseenWrite(this.#cluster.claim(claim.key) ?? claim);
    this.#change(claim, { history, isWitnessed, written });
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
    found: Pick<HistoryContext, "unmountRecords" | "mountedBy" | "isHostPath">,
  ): ClaimHistory {
    return pruneHistory(settleHistory(history, { ...this.#words, ...found, stored }), stored);
  }
}

/** A pod that was over when leading began tells how a use ended only where one is stored. */
function withEnded(state: ClaimState, ended: readonly EndedPod[], { status }: Claim): ClaimState {
  const { history } = state;
  const isWitnessed = state.isWitnessed || status?.unused === false || ended.some(({ wasOver }) => !wasOver);
  return { ...state, history: { ...history, pending: [...history.pending, ...ended] }, isWitnessed };
}

function emptyState(uid: string): ClaimState {
  return { uid, history: EMPTY_HISTORY, isWitnessed: false, written: undefined };
}
