import { WorkQueue } from "../common/kube/work-queue.ts";
import type { Clock } from "../common/runtime/clock.ts";
import type { Logger } from "../common/runtime/logger.ts";
import type { Random } from "../common/runtime/random.ts";
import type { Claim } from "../common/storage/claim.ts";
import type { ClaimStatus } from "../common/storage/claim-status.ts";
import { isUseHold, type VolumeIdentity } from "../common/storage/volume-identity.ts";
import { claimsOf } from "./core/attribution.ts";
import { type ClaimEvidence, factsOf, isSettledFor } from "./core/claim-facts.ts";
import { desiredClaimStatus, isReasonOnlyChange, isSameStatus } from "./core/claim-status.ts";
import type { Pod } from "./core/cluster-objects.ts";
import type { NodeRelease, NodeView } from "./core/fleet.ts";
import { type ClaimHistory, claimKeysOf, EMPTY_HISTORY, pruneHistory, settleReferences } from "./core/references.ts";
import type { Fact, FleetState } from "./fleet-state.ts";
import type { ClaimStatusWriter } from "./sinks/claim-status-writer.ts";
import type { Cluster } from "./sources/cluster.ts";

/** What this run of the aggregator remembers of a claim, beyond what the API server has. */
interface ClaimMemory {
  readonly uid: string;
  history: ClaimHistory;
  isWitnessed: boolean;
  readonly witnessedNodes: Set<string>;
  /** Our own last write, until the watch has caught up with it. */
  written: Claim | undefined;
  /** Since when a reason-only change waits to be written, on the monotonic clock. */
  reasonChangedAt: number | undefined;
}

export interface ReconcilerParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly cluster: Cluster;
  readonly fleet: FleetState;
  readonly writer: ClaimStatusWriter;
  /** The latest that the API server's clock can show, milliseconds since the epoch. */
  readonly nowMs: () => number;
}

export interface ReconcilerLimits {
  readonly silentAfterMs: number;
  readonly reasonDelayMs: number;
}

/** A release that belongs to no claim is forgotten after this time: until then the claim's objects may still be on their way. */
const UNATTRIBUTED_MS = 60_000;

/** Brings every claim's status to what is known. Level-based: a key says which claim to look at, never what happened. */
export class Reconciler {
  readonly #parts: ReconcilerParts;
  readonly #limits: ReconcilerLimits;
  readonly #queue: WorkQueue;
  readonly #memories = new Map<string, ClaimMemory>();
  /** Claims that wait for a node's word. */
  readonly #awaiting = new Map<string, Set<string>>();

  constructor(parts: ReconcilerParts, limits: ReconcilerLimits) {
    this.#parts = parts;
    this.#limits = limits;
    this.#queue = new WorkQueue(parts);
  }

  get depth(): number {
    return this.#queue.depth;
  }

  enqueue(claimKey: string): void {
    this.#queue.add(claimKey);
  }

  enqueueAll(): void {
    for (const { key } of this.#parts.cluster.claims()) this.enqueue(key);
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#queue.run((key, limited) => this.#reconcile(key, limited), signal);
  }

  onClaimGone({ key, uid }: Claim): void {
    if (this.#memories.get(key)?.uid === uid) this.#memories.delete(key);
  }

  /** A pod that named claims is over: whether its mounts are gone, too, its node has to say. */
  onPodEnded(pod: Pod, gone: string): void {
    for (const key of claimKeysOf(pod)) {
      const claim = this.#parts.cluster.claim(key);
      if (claim === undefined) continue;
      const memory = this.#memory(claim);
      const { key: name, uid: podUid, node, hasStarted } = pod;
      const reference = { pod: name, podUid, node, hasStarted, gone, seenAtMs: this.#parts.nowMs() };
      memory.isWitnessed = true;
      memory.history = { ...memory.history, pending: [...memory.history.pending, reference] };
      this.enqueue(key);
    }
  }

  /** A node has reported: the claims that its facts belong to, and those that waited for it. */
  onReport(node: string, touched: readonly Fact[]): void {
    const waiting = this.#awaiting.get(node) ?? [];
    this.#awaiting.delete(node);
    const touchedKeys = touched.flatMap((fact) => claimsOf(fact, this.#parts.cluster)).map(({ key }) => key);
    for (const key of new Set([...waiting, ...touchedKeys])) this.enqueue(key);
  }

  /** The resource version that the node's pod watch must have reached for its word to count on every pod that ended there. */
  awaitedVersion(view: NodeView): string | undefined {
    const keys = this.#awaiting.get(view.node) ?? [];
    const ends = [...keys].flatMap((key) => this.#memories.get(key)?.history.pending ?? []);
    const versions = ends.filter(({ node }) => node === view.node).map(({ gone }) => BigInt(gone));
    const reached = BigInt(view.podsResourceVersion ?? "0");
    const latest = versions.reduce((most, version) => (version > most ? version : most), reached);
    return latest > reached ? String(latest) : undefined;
  }

  /** IDs of the view's releases that can no longer change any status. */
  settled(view: NodeView): readonly string[] {
    return [...view.releases.values()].filter((release) => this.#isSettled(release)).map(({ id }) => id);
  }

  #isSettled(release: NodeRelease): boolean {
    const { cluster, nowMs } = this.#parts;
    const refs = claimsOf(release, cluster);
    if (refs.length === 0) return nowMs() - release.byMs > UNATTRIBUTED_MS;
    return refs.every(({ key, uid }) => {
      const claim = cluster.claim(key);
      if (claim?.uid !== uid) return true;
      return isSettledFor(claim, release, this.#evidence(claim).holders.length > 0);
    });
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<void> {
    const claim = this.#newest(key);
    if (claim === undefined) return;
    const memory = this.#memory(claim);
    const evidence = this.#evidence(claim);
    memory.isWitnessed ||= evidence.holders.length > 0 || evidence.references.length > 0;
    for (const node of evidence.holders) memory.witnessedNodes.add(node);
    const { cluster, fleet, nowMs } = this.#parts;
    const facts = factsOf(evidence, {
      viewOf: (node) => fleet.view(node),
      isSilent: (node) => fleet.isSilent(node),
      expected: fleet.expected,
      podName: cluster.podName,
      nowMs: nowMs(),
    });
    for (const { node, isSilent } of facts.awaited) {
      this.#await(node, key);
      if (!isSilent) this.#queue.addAfter(key, this.#limits.silentAfterMs);
    }
    const desired = desiredClaimStatus(facts);
    if (desired === undefined || isSameStatus(claim.status, desired)) memory.reasonChangedAt = undefined;
    else if (this.#mayWrite(memory, { claim, desired })) await this.#write(memory, { claim, desired, signal });
  }

  /** Our own last write counts until the watch has brought it, or the claim would be decided on an old state. */
  #newest(key: string): Claim | undefined {
    const claim = this.#parts.cluster.claim(key);
    const written = this.#memories.get(key)?.written;
    if (claim === undefined || written?.uid !== claim.uid) return claim;
    return BigInt(written.resourceVersion) > BigInt(claim.resourceVersion) ? written : claim;
  }

  #memory({ key, uid }: Claim): ClaimMemory {
    const known = this.#memories.get(key);
    if (known?.uid === uid) return known;
    const fresh: ClaimMemory = {
      uid,
      history: EMPTY_HISTORY,
      isWitnessed: false,
      witnessedNodes: new Set(),
      written: undefined,
      reasonChangedAt: undefined,
    };
    this.#memories.set(key, fresh);
    return fresh;
  }

  /** What nodes and pods tell about the claim now; settles references whose nodes have answered. */
  #evidence(claim: Claim): ClaimEvidence {
    const { cluster, fleet } = this.#parts;
    const memory = this.#memory(claim);
    const views = fleet.viewsOf(this.#identitiesOf(claim));
    const isOurs = (fact: Fact): boolean => claimsOf(fact, cluster).some(({ uid }) => uid === claim.uid);
    const holds = views.flatMap(({ node, holds }) =>
      holds
        .filter(isUseHold)
        .filter(isOurs)
        .map((hold) => ({ node, ...hold })),
    );
    const releases = views.flatMap((view) => [...view.releases.values()].filter(isOurs));
    const history = settleReferences(memory.history, {
      viewOf: (node) => fleet.view(node),
      observedPods: new Set([...holds, ...releases].map(({ podUid }) => podUid)),
      isHostPath: cluster.volumeByName(claim.volume ?? "")?.isHostPath ?? false,
      stored: claim.status,
    });
    memory.history = pruneHistory(history, claim.status);
    return {
      claim,
      holders: [...new Set(holds.map(({ node }) => node))],
      references: cluster
        .podsOf(claim.key)
        .filter(({ isTerminal }) => !isTerminal)
        .map(({ key }) => key),
      releases,
      history: memory.history,
      witnessedNodes: memory.witnessedNodes,
      isWitnessed: memory.isWitnessed,
    };
  }

  #identitiesOf({ volume }: Claim): readonly VolumeIdentity[] {
    if (volume === undefined) return [];
    const csi = this.#parts.cluster.volumeByName(volume)?.csi;
    return [{ by: "name", name: volume }, ...(csi === undefined ? [] : [{ by: "handle", ...csi } as const])];
  }

  #await(node: string, key: string): void {
    const keys = this.#awaiting.get(node) ?? new Set();
    this.#awaiting.set(node, keys.add(key));
  }

  /** Reason-only changes wait a little: most are followed by the next one. */
  #mayWrite(
    memory: ClaimMemory,
    { claim, desired }: { readonly claim: Claim; readonly desired: ClaimStatus },
  ): boolean {
    if (!isReasonOnlyChange(claim.status, desired)) return true;
    const now = this.#parts.clock.monotonicMs();
    memory.reasonChangedAt ??= now;
    const restMs = memory.reasonChangedAt + this.#limits.reasonDelayMs - now;
    if (restMs <= 0) return true;
    this.#queue.addAfter(claim.key, restMs);
    return false;
  }

  async #write(
    memory: ClaimMemory,
    { claim, desired, signal }: { readonly claim: Claim; readonly desired: ClaimStatus; readonly signal: AbortSignal },
  ): Promise<void> {
    const { writer, logger } = this.#parts;
    memory.written = (await writer.apply(claim, desired, signal)) ?? memory.written;
    memory.reasonChangedAt = undefined;
    const { namespace, name } = claim;
    const { unused, reason, lastUse } = desired;
    logger.info(
      { namespace, claim: name, unused, reason, release: lastUse?.releaseId, node: lastUse?.node },
      "claim status written",
    );
  }
}
