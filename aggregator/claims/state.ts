import { isOlder } from "../../common/kube/resource-version.ts";
import type { QueueObserver } from "../../common/kube/work-queue.ts";
import type { Claim } from "../../common/storage/claim.ts";
import { claimsOf, type Fact, mayUse } from "../core/claims/attribution.ts";
import { type ClaimFacts, UNWATCHED, waitsToBeUnused } from "../core/claims/decide.ts";
import type { ProtectionMode, RemovalCause } from "../core/claims/deletion.ts";
import { type ClaimEvidence, type ClaimHistory, usesIn } from "../core/claims/evidence.ts";
import type { Unobserved } from "../core/claims/gap.ts";
import { EMPTY_HISTORY, isOpen, settleHistory, withEnds } from "../core/claims/history.ts";
import type { UseEnd } from "../core/claims/use-end.ts";
import type { EndedPod, Volume } from "../core/cluster-objects.ts";
import { identitiesOf } from "../core/volumes/use.ts";
import type { AgentStates } from "../nodes/agent-states.ts";
import type { FleetState } from "../nodes/fleet-state.ts";
import type { Barrier } from "../pod-watch/barrier.ts";
import type { EndedPods } from "../pod-watch/ended-pods.ts";
import type { PodWatchHistory } from "../pod-watch/pod-watch-history.ts";
import type { SharedParts } from "../sources/cluster.ts";
import type { ClaimWriterParts } from "../writing/claim-writer.ts";
import type { UnstoredClaims } from "../writing/unstored-claims.ts";

export interface ClaimParts extends SharedParts, Omit<ClaimWriterParts, "onWritten"> {
  readonly fleet: FleetState;
  readonly barrier: Pick<Barrier, "pendingNode" | "onUnwatched">;
  readonly agentStates: Pick<AgentStates, "of" | "lookFor" | "assumedEnd">;
  readonly unstored: UnstoredClaims;
  readonly ends: Pick<EndedPods, "of" | "isOpen" | "isIncluded">;
  readonly measures: {
    readonly queues: { readonly claims: QueueObserver };
    readonly removedWhileMounted: (why: RemovalCause) => void;
  };
  readonly coverage: Pick<PodWatchHistory, "join">;
  readonly unobservedOf: (volume: Volume | undefined) => Unobserved;
  readonly protection: ProtectionMode;
}

type StateParts = Pick<ClaimParts, "cluster" | "fleet" | "agentStates" | "ends">;

/** Remembers of each claim what a decision needs beyond what the API server has, and reads the evidence for it. */
export class ClaimStates {
  readonly #parts: StateParts;
  /** By UID; only of claims with something to remember: most have nothing. */
  readonly #histories = new Map<string, ClaimHistory>();
  /** By UID: the claim as our last write left it, until the watch shows that write. */
  readonly #written = new Map<string, Claim>();
  /** UIDs of the claims whose history includes these ends already. */
  readonly #included = new WeakMap<EndedPod, Set<string>>();
  /** By node, or `UNWATCHED` for the barrier: keys of claims that waited when they were decided. Some may no longer. */
  readonly #waiting = new Map<string, Set<string>>();
  /** Keys of the claims that would be unused but for a pending node. For the others only the message would change. */
  readonly #blocked = new Set<string>();

  constructor(parts: StateParts) {
    this.#parts = parts;
  }

  get size(): number {
    return this.#histories.size + this.#written.size;
  }

  /** It has ends that its status does not include. */
  isOpen(claim: Claim): boolean {
    return isOpen(this.#history(claim));
  }

  /** Ended pods that named the claim and whose nodes had not reported their end at the last decision. */
  pendingOf(claim: Claim): readonly EndedPod[] {
    return this.#history(claim).pending;
  }

  /** The history now, with the pods that have ended since the last decision. A read. */
  #history(claim: Claim): ClaimHistory {
    const history = this.#histories.get(claim.uid) ?? EMPTY_HISTORY;
    const news = this.#parts.ends.of(claim.key).filter((end) => this.#included.get(end)?.has(claim.uid) !== true);
    const ended = news.filter((end) => !this.#parts.ends.isIncluded(end, claim) && this.#hasNamed(end, claim));
    return ended.length === 0 ? history : { ...history, pending: [...history.pending, ...ended] };
  }

  /** An end before the claim's creation is an earlier claim's, unless the API server's clock has gone back since. */
  #hasNamed({ pod, seenAtMs, claimUids }: EndedPod, claim: Claim): boolean {
    return mayUse(pod, claim) && (seenAtMs >= (claim.createdAtMs ?? 0) || claimUids.includes(claim.uid));
  }

  #keep({ key, uid }: Claim, history: ClaimHistory): void {
    for (const end of this.#parts.ends.of(key))
      this.#included.set(end, (this.#included.get(end) ?? new Set()).add(uid));
    if (isOpen(history)) this.#histories.set(uid, history);
    else this.#histories.delete(uid);
  }

  forget({ key, uid }: Claim): void {
    this.#histories.delete(uid);
    this.#written.delete(uid);
    for (const keys of this.#waiting.values()) keys.delete(key);
    this.#blocked.delete(key);
  }

  noteWaiting(key: string, facts: Pick<ClaimFacts, "isEligible" | "usedOn" | "references" | "pendingNodes">): void {
    const nodes = facts.pendingNodes.map(({ node, why }) => (why === undefined ? UNWATCHED : node));
    for (const node of nodes) this.#waiting.set(node, (this.#waiting.get(node) ?? new Set()).add(key));
    this.#blocked[waitsToBeUnused(facts) ? "add" : "delete"](key);
  }

  /** Ended pods on the node that claims waited for. */
  pendingOn(node: string): readonly EndedPod[] {
    const claims = [...(this.#waiting.get(node) ?? [])].flatMap((key) => this.#parts.cluster.claim(key) ?? []);
    return claims.flatMap((claim) => this.pendingOf(claim)).filter(({ pod }) => pod.node === node);
  }

  /** Claims that wait for the node or, without one, for the barrier. Their next decision finds what they wait for. */
  takeWaiting(node = UNWATCHED): Iterable<string> {
    const keys = this.#waiting.get(node) ?? [];
    this.#waiting.delete(node);
    return keys;
  }

  get blocked(): number {
    return this.#blocked.size;
  }

  /** While the watch is behind, the claim as our last write left it: no decision may be about an old state. */
  newest(key: string): Claim | undefined {
    const claim = this.#parts.cluster.claim(key);
    return claim && (this.#unseenWrite(claim) ?? claim);
  }

  /** A watch that has passed our write and shows an older state shows a restored backup. */
  #unseenWrite({ uid, resourceVersion }: Claim): Claim | undefined {
    const written = this.#written.get(uid);
    if (written === undefined || !isOlder(resourceVersion, written.resourceVersion)) return undefined;
    const reached = this.#parts.cluster.claimsReached();
    return reached === undefined || isOlder(reached, written.resourceVersion) ? written : undefined;
  }

  /** A new leader begins: these pods are over and still exist. For pods whose end this replica saw, it keeps that. */
  begin(finished: readonly EndedPod[]): void {
    for (const end of finished) {
      for (const claim of end.pod.claims.flatMap((key) => this.#parts.cluster.claim(key) ?? [])) {
        const isSeen = this.#parts.ends.of(claim.key).some(({ pod }) => pod.uid === end.pod.uid);
        if (isSeen || !this.#hasNamed(end, claim)) continue;
        const history = this.#history(claim);
        this.#keep(claim, { ...history, pending: [...history.pending, end] });
      }
    }
  }

  /** Keeps nothing of a claim that went before the answer arrived: no later event would remove the entry. */
  noteWritten(claim: Claim): void {
    if (this.#parts.cluster.claim(claim.key)?.uid === claim.uid) this.#written.set(claim.uid, claim);
  }

  keepEnds(claim: Claim, ends: readonly UseEnd[]): void {
    if (ends.length > 0) this.#keep(claim, withEnds(this.#history(claim), ends, claim.status));
  }

  /** The evidence for a decision. It settles the pods whose nodes have reported their end. */
  settle(claim: Claim): ClaimEvidence {
    const evidence = this.evidence(claim);
    this.#keep(claim, evidence.history);
    if (this.#unseenWrite(this.#parts.cluster.claim(claim.key) ?? claim) === undefined) this.#written.delete(claim.uid);
    return evidence;
  }

  /** What nodes and pods show of the claim now. A read: it changes nothing. */
  evidence(claim: Claim): ClaimEvidence {
    const volume = claim.volume === undefined ? undefined : this.#parts.cluster.volumeByName(claim.volume);
    const identities = claim.volume === undefined ? [] : identitiesOf(claim.volume, volume?.csi);
    const isOurs = (fact: Fact): boolean => claimsOf(fact, this.#parts.cluster).some(({ uid }) => uid === claim.uid);
    const found = this.#parts.fleet.shownOf(identities, isOurs);
    const pods = this.#parts.cluster.podsOf(claim.key).filter((pod) => !pod.isTerminal && mayUse(pod, claim));
    const shown = {
      claim,
      volume,
      identities,
      uses: usesIn(found),
      shownOn: found.filter(({ mountedVolumes }) => mountedVolumes.length > 0).map(({ view }) => view.node),
      attachedTo: volume === undefined ? [] : this.#parts.cluster.nodesWith(volume),
      references: pods.map(({ key }) => key),
      unmountRecords: found.flatMap((one) => one.unmountRecords),
    };
    return { ...shown, history: settleHistory(this.#history(claim), { ...shown, ...this.#parts }) };
  }
}
