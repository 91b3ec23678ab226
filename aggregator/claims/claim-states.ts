import { isOlder } from "../../common/kube/resource-version.ts";
import type { Claim } from "../../common/storage/claim.ts";
import { isUse, volumeMatcher } from "../../common/storage/volume-identity.ts";
import { claimsOf, type Fact } from "../core/attribution.ts";
import { type ClaimEvidence, type FoundUse, foundUse } from "../core/claim-evidence.ts";
import type { DecidedClaim } from "../core/claim-facts.ts";
import type { Pod } from "../core/cluster-objects.ts";
import { FactIndex } from "../core/fact-index.ts";
import type { NodeUnmountRecord, NodeView } from "../core/node-view.ts";
import {
  type ClaimHistory,
  distinctSightings,
  EMPTY_HISTORY,
  type EndedReference,
  isOnlyOurs,
  isOpen,
  mayUse,
  type NodeWords,
  pruneHistory,
  type Sighting,
  settleReferences,
  sightingOf,
  withEnds,
} from "../core/references.ts";
import { isSettledFor, latestUnmountRecords } from "../core/settlement.ts";
import type { UseEnd } from "../core/use-end.ts";
import { identitiesOf } from "../core/volume-use.ts";
import { isUpTo } from "../core/watch-history.ts";
import type { FleetState } from "../nodes/fleet-state.ts";
import type { Cluster } from "../sources/cluster.ts";
import { SettledUses } from "./settled-uses.ts";

/** What this run of the aggregator remembers of a claim, beyond what the API server has. */
export interface ClaimState {
  readonly uid: string;
  history: ClaimHistory;
  isWitnessed: boolean;
  /** Mounts of it that this run has seen, one of each node and pod. */
  witnessed: readonly FoundUse[];
  /** Pods, still to be settled, of which the mount table has shown that they use or used the claim. */
  observed: readonly Sighting[];
  /** Our own last write, until the watch has caught up with it. */
  written: Claim | undefined;
}

/** What is remembered of each claim, and what nodes and pods tell about it in the light of that. */
export class ClaimStates {
  readonly #cluster: Cluster;
  readonly #fleet: FleetState;
  readonly #words: NodeWords;
  readonly #facts = new FactIndex();
  /** Only of claims with something to remember: most are at rest. */
  readonly #states = new Map<string, ClaimState>();
  /** Keys of those with ended uses that no status tells of yet. */
  readonly #open = new Set<string>();
  readonly #settledUses = new SettledUses();

  constructor({ cluster, fleet }: { readonly cluster: Cluster; readonly fleet: FleetState }, words: NodeWords) {
    this.#cluster = cluster;
    this.#fleet = fleet;
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
    state.isWitnessed ||= reference.wasOver !== true;
    this.#keep(claim, { ...state.history, pending: [...state.history.pending, reference] });
  }

  /** The use is stored, or a later one is: a pod that comes to light only now is no use that nobody saw. */
  noteUnmountRecord(unmountRecord: NodeUnmountRecord): void {
    for (const { uid } of claimsOf(unmountRecord, this.#cluster)) this.#settledUses.note(uid, unmountRecord);
  }

  /** This run has seen the claim in use: what comes of it is no use that nobody watched. */
  witness({ claim, holders, references }: DecidedClaim, { uses }: Pick<ClaimEvidence, "uses">): void {
    if (holders.length === 0 && references.length === 0) return;
    const state = this.of(claim);
    state.isWitnessed = true;
    const isNew = ({ node, podUid }: FoundUse): boolean =>
      holders.includes(node) && !state.witnessed.some((one) => one.node === node && one.podUid === podUid);
    const further = uses.filter(isNew);
    if (further.length > 0) state.witnessed = exact([...state.witnessed, ...further]);
  }

  /** Where this run has seen the claim mounted, and where it took a mount for the claim's whose pod has come to light and means something else. */
  #witnessed(claim: Claim): Pick<ClaimEvidence, "isWitnessed" | "witnessedNodes" | "mistakenNodes"> {
    const { isWitnessed, witnessed } = this.#peek(claim);
    const isStill = (use: FoundUse): boolean => claimsOf(use, this.#cluster).some(({ uid }) => uid === claim.uid);
    const nodes = Map.groupBy(witnessed, isStill);
    const [witnessedNodes = NONE, mistakenNodes = NONE] = [true, false].map((is) =>
      nodes.get(is)?.map(({ node }) => node),
    );
    return { isWitnessed, witnessedNodes, mistakenNodes };
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
    const isOver = !isOpen(state.history) && state.observed.length === 0;
    if (isOver && !(state.isWitnessed && isInUse)) this.forget(claim);
  }

  /** What nodes and pods tell about the claim now. A read: it changes nothing. */
  evidence(claim: Claim): ClaimEvidence {
    return this.#gather(claim).evidence;
  }

  /** The same for a decision: references whose nodes have answered are settled from now on. */
  settle(claim: Claim): ClaimEvidence {
    const { evidence, observed } = this.#gather(claim);
    const { history } = evidence;
    const known = this.#states.get(claim.key);
    if (known?.uid !== claim.uid && observed.length === 0 && !isOpen(history)) return evidence;
    const state = this.of(claim);
    this.#keep(claim, history);
    state.observed = observed;
    if (state.written !== undefined) state.written = this.#unseenWrite(this.#cluster.claim(claim.key) ?? claim);
    return evidence;
  }

  #gather(claim: Claim): { readonly evidence: ClaimEvidence; readonly observed: readonly Sighting[] } {
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
    const uses = found.flatMap(({ view, mountedVolumes }) =>
      mountedVolumes.filter(isUse).map((mountedVolume) => foundUse(view, mountedVolume)),
    );
    const unmountRecords = found.flatMap((one) => one.unmountRecords);
    const pods = this.#cluster.podsOf(claim.key).filter((pod) => mayUse(pod, claim));
    const seen = uses.map(({ podUid, bootId }): Sighting => ({ podUid, bootId, what: "use" }));
    const shown = [...seen, ...unmountRecords.map(({ id, podUid }) => sightingOf(id, podUid))];
    const { history, observed } = this.#settled(claim, { shown, unmountRecords, pods });
    const evidence = {
      claim,
      volume,
      uses,
      shownOn: found.filter(({ mountedVolumes }) => mountedVolumes.length > 0).map(({ view }) => view.node),
      attachedTo: volume === undefined ? [] : this.#cluster.nodesWith(volume),
      references: pods.filter(({ isTerminal }) => !isTerminal).map(({ key }) => key),
      unmountRecords,
      history,
      ...this.#witnessed(claim),
    };
    return { evidence, observed };
  }

  #settled(
    claim: Claim,
    { shown, unmountRecords, pods }: Pick<ClaimEvidence, "unmountRecords"> & Shown,
  ): Pick<ClaimState, "history" | "observed"> {
    const state = this.#peek(claim);
    const ended = state.history.pending.map(({ podUid }) => podUid);
    const released = ended.flatMap((podUid) => this.#settledUses.of(claim.uid, podUid));
    const observed = distinctSightings([...state.observed, ...shown, ...released]);
    const settled = settleReferences(state.history, {
      ...this.#words,
      shown,
      observed,
      unmountRecords,
      isHostPath: this.#cluster.volumeByName(claim.volume ?? "")?.isHostPath ?? false,
      stored: claim.status,
    });
    const history = pruneHistory(settled, claim.status);
    // A pod's unmount record may be settled long before its reference ends, so what was shown is kept until then.
    const users = pods.filter(({ isTerminal }) => !isTerminal);
    const unsettled = new Set([
      ...shown.map(({ podUid }) => podUid),
      ...users.map(({ uid }) => uid),
      ...history.pending.map(({ podUid }) => podUid),
    ]);
    return { history, observed: exact(observed.filter(({ podUid }) => unsettled.has(podUid))) };
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
   * Whether an unmount record of this node can still change a status. It is unattributed when nothing is known that it could change, but not all of the
   * claims that it belongs to are known: such a claim is gone, or still to come, and so is one that was re-created under its name.
   */
  fateIn({ node }: NodeView, nowMs: number): (unmountRecord: NodeUnmountRecord) => UnmountRecordFate {
    const latest = new Map<string, readonly NodeUnmountRecord[]>();
    const latestOf = (claim: Claim): readonly NodeUnmountRecord[] => {
      const known = latest.get(claim.uid);
      if (known !== undefined) return known;
      const own = this.settle(claim).unmountRecords.filter((one) => one.node === node && this.#isAttributed(one));
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
      const isSettled = known.every((claim) =>
        isSettledFor(claim, unmountRecord, { unmountRecords: latestOf(claim), nowMs }),
      );
      if (!isSettled) return "open";
      return refs.length === 0 || known.length < refs.length ? "unattributed" : "settled";
    };
  }
}

interface Shown {
  readonly shown: readonly Sighting[];
  readonly pods: readonly Pod[];
}

/** Whether an unmount record can still change a status. */
type UnmountRecordFate = "open" | "settled" | "unattributed";

function emptyState(uid: string): ClaimState {
  const none = { witnessed: NONE, observed: NONE, written: undefined };
  return { uid, history: EMPTY_HISTORY, isWitnessed: false, ...none };
}

const NONE: readonly never[] = [];

/** A list that grew has room for sixteen more; a copy has not, and nearly all of them have one entry or none. */
function exact<T>(list: readonly T[]): readonly T[] {
  return list.length === 0 ? NONE : list.slice();
}
