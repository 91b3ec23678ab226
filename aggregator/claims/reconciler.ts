import { type QueueObserver, WorkQueue } from "../../common/kube/work-queue.ts";
import type { Clock } from "../../common/runtime/clock.ts";
import type { InternalErrors } from "../../common/runtime/internal-errors.ts";
import { runTogether } from "../../common/runtime/lifecycle.ts";
import type { Logger } from "../../common/runtime/logger.ts";
import type { Random } from "../../common/runtime/random.ts";
import type { Claim } from "../../common/storage/claim.ts";
import { isUse } from "../../common/storage/volume-identity.ts";
import { assumedUse } from "../core/assumed-ends.ts";
import { claimKeysNear, claimsOf, type Fact } from "../core/attribution.ts";
import type { ClaimEvidence } from "../core/claim-evidence.ts";
import { type DecidedClaim, toUseEnd } from "../core/claim-facts.ts";
import type { Unobserved } from "../core/claim-gap.ts";
import { type DesiredClaim, isSameStatus, type UpstreamPolicy } from "../core/claim-write.ts";
import type { Pod, Volume } from "../core/cluster-objects.ts";
import type { ProtectionMode, RemovalCause } from "../core/deletion.ts";
import type { NodeUnmountRecord } from "../core/node-view.ts";
import type { NodeWords } from "../core/references.ts";
import type { UseEnd } from "../core/use-end.ts";
import type { AgentStateChange, AgentStates } from "../nodes/agent-states.ts";
import type { FleetState } from "../nodes/fleet-state.ts";
import type { Barrier } from "../pod-watch/barrier.ts";
import type { ClaimStatusWriter } from "../sinks/claim-status-writer.ts";
import type { Cluster } from "../sources/cluster.ts";
import type { EndedPod } from "../sources/pods.ts";
import type { ClaimWarnings } from "../writing/claim-warnings.ts";
import { ClaimWrites } from "../writing/claim-writes.ts";
import type { UnstoredClaims } from "../writing/unstored-claims.ts";
import { ClaimStates } from "./claim-states.ts";
import { decidedClaim, desiredOf } from "./decided-claim.ts";
import { Deletions } from "./deletions.ts";
import { PendingNodes } from "./pending-nodes.ts";
import { PodEnds } from "./pod-ends.ts";
import { ReportAnswers } from "./report-answers.ts";

export interface ReconcilerParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly cluster: Cluster;
  readonly fleet: FleetState;
  readonly barrier: Pick<Barrier, "pendingNode" | "onUnwatched">;
  readonly agentStates: Pick<AgentStates, "of" | "lookFor" | "assumedEnd">;
  readonly writer: ClaimStatusWriter;
  readonly warnings: Pick<ClaimWarnings, "tell">;
  readonly policy: () => UpstreamPolicy;
  /** Nothing where nobody measures. */
  readonly queues?: Readonly<Record<"claims" | "writes", QueueObserver>>;
  readonly unstored: UnstoredClaims;
  /** Called before each decision, so that it takes into account that pods were listed anew. */
  readonly onDecision: () => void;
  readonly internalErrors: InternalErrors;
  /** When a claim with this volume may have been used without anybody seeing it. */
  readonly unobservedOf: (volume: Volume | undefined) => Unobserved;
  /** What the cluster's policies do; nothing unless told. */
  readonly protection?: ProtectionMode | undefined;
  /** A claim is gone while a node has it mounted. */
  readonly onRemoved?: ((cause: RemovalCause) => void) | undefined;
  /** The latest that the API server's clock can show, milliseconds since the epoch. */
  readonly nowMs: () => number;
}

export interface ReconcilerLimits {
  readonly reasonDelayMs: number;
}

/** Brings every claim's status to what is known. Level-based: a key says which claim to look at, never what happened. */
export class Reconciler {
  readonly writes: ClaimWrites;
  readonly answers: ReportAnswers;
  readonly deletions: Deletions;
  readonly #parts: ReconcilerParts;
  readonly #queue: WorkQueue;
  readonly #states: ClaimStates;
  readonly #podEnds: PodEnds;
  readonly #pendingNodes = new PendingNodes();
  readonly #words: NodeWords;

  constructor(parts: ReconcilerParts, limits: ReconcilerLimits) {
    this.#parts = parts;
    this.#queue = new WorkQueue(
      { ...parts, errors: parts.internalErrors.in("claims") },
      undefined,
      parts.queues?.claims,
    );
    const { fleet, agentStates } = parts;
    this.#words = {
      viewOf: (node) => fleet.view(node),
      agentStateOf: (node) => agentStates.of(node).kind,
      assumedEnd: (node) => agentStates.assumedEnd(node),
    };
    this.#states = new ClaimStates(parts, this.#words);
    parts.unstored.follow(() => this.#states.open);
    const { nowMs } = parts;
    this.#podEnds = new PodEnds({ ...parts, states: this.#states, enqueue: (key) => this.enqueue(key) });
    this.answers = new ReportAnswers({
      ...parts,
      errors: parts.internalErrors.in("unmount-records"),
      states: this.#states,
      pendingNodes: this.#pendingNodes,
      nowMs,
    });
    this.deletions = new Deletions({ ...parts, states: this.#states });
    this.writes = new ClaimWrites(
      {
        ...parts,
        decide: (key) => this.#decide(key),
        isUrgent: (key) => this.#isDeleting(key),
        onRead: (claim) => {
          this.#states.of(claim).written = claim;
        },
      },
      limits,
    );
  }

  get depth(): number {
    return this.#queue.depth;
  }

  /** Changes with each end of a look, and is nothing while no claim is looked at. */
  get progress(): number | undefined {
    return this.#queue.progress;
  }

  /** Whatever has been told so far was looked at, and what came of it was written. */
  get isAtRest(): boolean {
    return this.#queue.isIdle && this.writes.isIdle;
  }

  /** Tells later whether what has been told so far was, however much is told meanwhile. */
  mark(): () => boolean {
    const isLookedAt = this.#queue.mark();
    let isWritten: (() => boolean) | undefined;
    return () => {
      if (isLookedAt()) isWritten ??= this.writes.mark();
      return isWritten?.() === true;
    };
  }

  /** Some claim waits for the node's word. */
  isAwaited(node: string): boolean {
    return this.#pendingNodes.isAwaited(node);
  }

  /** How many claims there is something to remember of. */
  get remembered(): number {
    return this.#states.size;
  }

  /** Claims that are being deleted go first: what is written of them decides whether they go. */
  enqueue(claimKey: string): void {
    if (this.#isDeleting(claimKey)) this.#queue.addFirst(claimKey);
    else this.#queue.add(claimKey);
  }

  enqueueAll(): void {
    for (const { key, isDeleting } of this.#parts.cluster.claims()) if (isDeleting) this.#queue.addFirst(key);
    this.#queue.addAll(Array.from(this.#parts.cluster.claims(), ({ key }) => key));
  }

  #isDeleting(key: string): boolean {
    return this.#parts.cluster.claim(key)?.isDeleting === true;
  }

  /** Works from when everything has been listed until the signal is aborted. */
  run(signal: AbortSignal): Promise<void> {
    this.#podEnds.begin();
    const look = (limited: AbortSignal): Promise<void> => this.#queue.run((key) => this.#reconcile(key), limited);
    return runTogether([look, (limited) => this.writes.run(limited), (limited) => this.deletions.run(limited)], signal);
  }

  onClaimGone(claim: Claim): void {
    this.deletions.onGone(claim);
    this.#states.forget(claim);
    this.#pendingNodes.forget(claim.key);
    this.writes.forget(claim);
  }

  /** The claim came or changed. */
  onClaim(key: string): void {
    this.#podEnds.onClaim(key);
    this.enqueue(key);
  }

  /** A pod that named claims is over: whether its mounts are gone, too, its node has to say. */
  onPodEnded(end: EndedPod): void {
    this.#podEnds.onPodEnded(end);
  }

  /** What its node has shown of it counted, until now, as use of whatever claim has a volume of that name. */
  onPodPlaced({ uid, node = "" }: Pod): void {
    const { cluster, fleet } = this.#parts;
    const { mountedVolumes = [], unmountRecords = new Map<string, NodeUnmountRecord>() } = fleet.view(node) ?? {};
    const facts = [...mountedVolumes, ...unmountRecords.values()].filter(({ podUid }) => podUid === uid);
    for (const fact of facts) for (const key of claimKeysNear(fact, cluster)) this.enqueue(key);
  }

  /** A node has reported: the claims that its facts belong to, those that waited for it, and those that had given it up. */
  onReport(node: string, touched: readonly Fact[]): void {
    this.onTouched(node, this.keysOf(touched));
  }

  /** The claims that facts belong to. */
  keysOf(facts: readonly Fact[]): readonly string[] {
    return facts.flatMap((fact) => claimsOf(fact, this.#parts.cluster)).map(({ key }) => key);
  }

  /** The same as `onReport`, for the claims that its facts are known to belong to. */
  onTouched(node: string, touched: readonly string[]): void {
    const waiting = this.#pendingNodes.heard(node);
    for (const key of new Set([...waiting, ...touched, ...this.#parts.cluster.assumedOn(node)])) this.enqueue(key);
  }

  /**
   * A node's state is another one: the claims that waited for it, those whose mounted volumes there ended with that or are back, and those
   * that nothing but these mounted volumes keeps in use, as their messages tell of its silence.
   */
  onAgentState({ node, isAboutMounts }: AgentStateChange): void {
    const { cluster, fleet } = this.#parts;
    const isOver = (uid: string): boolean => !cluster.isPodThere(uid) || cluster.podByUid(uid)?.isTerminal === true;
    const mountedVolumes = fleet.view(node)?.mountedVolumes ?? [];
    this.onReport(
      node,
      mountedVolumes.filter((mountedVolume) => isAboutMounts || (isUse(mountedVolume) && isOver(mountedVolume.podUid))),
    );
  }

  /** Fewer nodes are behind the barrier, or none. */
  onBarrier(): void {
    for (const key of this.#pendingNodes.takeBehindBarrier()) this.enqueue(key);
  }

  /** What the node told is about to be forgotten: ends that were assumed for it, or never stored, may still be somebody's latest. */
  onForgotten(node: string): void {
    const view = this.#parts.fleet.view(node);
    const context = { ...this.#words, podName: this.#parts.cluster.podName };
    for (const mountedVolume of view?.mountedVolumes.filter(isUse) ?? []) {
      this.#keepEnds(mountedVolume, assumedUse({ ...mountedVolume, node, bootId: view?.bootId ?? "" }, context));
    }
    for (const unmountRecord of view?.unmountRecords.values() ?? [])
      this.#keepEnds(unmountRecord, [toUseEnd(unmountRecord, context)]);
    this.#pendingNodes.heard(node);
  }

  #keepEnds(fact: Fact, ends: readonly UseEnd[]): void {
    const { cluster } = this.#parts;
    for (const { key, uid } of claimsOf(fact, cluster)) {
      const claim = cluster.claim(key);
      if (claim?.uid === uid) this.#states.keepEnds(claim, ends);
    }
  }

  /** How many claims have a status that waits for a node to report. */
  get heldUp(): number {
    return this.#pendingNodes.heldUp;
  }

  /** The claim and everything that decides its status now, or nothing where it is not known. A read: it changes nothing. */
  claimFacts(key: string): DecidedClaim | undefined {
    const claim = this.#states.newest(key);
    return claim && this.#factsOf(this.#states.evidence(claim));
  }

  /** The same for a decision: it goes on from what it finds, and looks out for the nodes that it needs. */
  #settledFacts(key: string): DecidedClaim | undefined {
    const claim = this.#states.newest(key);
    if (claim === undefined) return undefined;
    this.#parts.onDecision();
    const evidence = this.#states.settle(claim);
    const facts = this.#factsOf(evidence);
    this.#states.witness(facts, evidence);
    for (const { node } of facts.pendingNodes) this.#parts.agentStates.lookFor(node);
    // Also right before a write: what it finds may have to wait, and nobody looks at the claim again but for that.
    this.#pendingNodes.put(key, facts);
    if (facts.isUnwatched) this.#parts.barrier.onUnwatched();
    return facts;
  }

  #factsOf(evidence: ClaimEvidence): DecidedClaim {
    const { protection = "off" } = this.#parts;
    const own = { words: this.#words, isProtecting: protection !== "off" };
    return decidedClaim(evidence, { ...this.#parts, ...own });
  }

  #decide(key: string): DesiredClaim | undefined {
    const facts = this.#settledFacts(key);
    return facts && desiredOf(facts);
  }

  async #reconcile(key: string): Promise<void> {
    const facts = this.#settledFacts(key);
    if (facts === undefined) return;
    const { claim } = facts;
    const againMs = this.deletions.compare(claim);
    if (againMs !== undefined) this.#queue.addAfter(key, againMs);
    const decision = desiredOf(facts);
    if (decision.desired === undefined || isSameStatus(claim.status, decision.desired)) this.#states.rest(facts);
    this.writes.consider(decision);
  }
}
