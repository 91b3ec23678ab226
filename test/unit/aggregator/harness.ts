import { BlindGaps } from "../../../aggregator/blind-gaps.ts";
import type { BlindGapSetting, Unseen } from "../../../aggregator/core/claim-gap.ts";
import type { Node, Pod, Volume } from "../../../aggregator/core/cluster-objects.ts";
import { type CoverageGap, settleGaps } from "../../../aggregator/core/coverage.ts";
import type { ProtectionMode, RemovalCause } from "../../../aggregator/core/deletion.ts";
import type { Receipt } from "../../../aggregator/core/fleet.ts";
import type { LeaseRenewal } from "../../../aggregator/core/kubelet-lease.ts";
import { claimKeysOf } from "../../../aggregator/core/references.ts";
import type { StandingLimits } from "../../../aggregator/core/standing.ts";
import { FleetState } from "../../../aggregator/fleet-state.ts";
import type { PodCoverage } from "../../../aggregator/pod-coverage.ts";
import { Reconciler } from "../../../aggregator/reconciler.ts";
import type { ClaimWarning } from "../../../aggregator/sinks/claim-events.ts";
import type { AppliedStatus, WriteResult } from "../../../aggregator/sinks/claim-status-writer.ts";
import { type StandingChange, Standings } from "../../../aggregator/standings.ts";
import { UnstoredClaims } from "../../../aggregator/writing/unstored-claims.ts";
import { ApiError } from "../../../common/kube/client.ts";
import { InternalErrors } from "../../../common/runtime/internal-errors.ts";
import type { Claim } from "../../../common/storage/claim.ts";
import {
  type ClaimStatus,
  readClaimStatus,
  writeClaimStatus,
  writeStaged,
} from "../../../common/storage/claim-status.ts";
import type { NodeMessage } from "../../../common/storage/node-report.ts";
import { createFakeClock, type FakeClock, settle } from "../../fakes/clock.ts";
import { createFakeLogger, type FakeLogger } from "../../fakes/logger.ts";
import { createFixedRandom } from "../../fakes/random.ts";
import { FakeCluster } from "./fake-cluster.ts";

/**
 * What becomes of a write: it is stored and the watch shows it, it is stored only, its claim is gone, or it fails; then it is
 * stored all the same when only the answer was lost.
 */
export type WriteOutcome = "seen" | "stored" | "gone" | { readonly fails: Error; readonly isStored: boolean };

export interface HarnessOptions {
  readonly claims?: readonly Claim[];
  readonly volumes?: readonly Volume[];
  readonly nodes?: readonly Node[];
  readonly silentAfterMs?: number;
  readonly reasonDelayMs?: number;
  /** Whether the kubelets of nodes live, for those that ask for their Leases. */
  readonly livingKubelets?: readonly string[];
  readonly blindGap?: BlindGapSetting;
  readonly protection?: ProtectionMode;
}

const NO_COVERAGE = { sinceMs: 0, reached: "0", reachedAtMs: 0, leasesAt: undefined };

/** A reconciler and a fleet with a cluster made by hand, an API server that is a map, and a clock that is moved by hand. */
export class Harness {
  /** Nothing here is a stream. */
  readonly clock: FakeClock = createFakeClock(undefined, 1);
  readonly logger: FakeLogger = createFakeLogger();
  /** Bugs that work on single claims and nodes met, each with its stack in the log. */
  readonly internalErrors = new InternalErrors(this.logger);
  readonly cluster = new FakeCluster();
  fleet: FleetState;
  standings: Standings;
  reconciler: Reconciler;
  /** By how much the latest that the server's clock can show is ahead of its true time. */
  aheadMs = 0;
  /** Every status that was stored, oldest first. */
  readonly writes: ClaimStatus[] = [];
  /** What the API server has, which the watch may not have shown yet. */
  readonly stored = new Map<string, Claim>();
  /** What the next writes meet; "seen" once there are none left. */
  readonly outcomes: WriteOutcome[] = [];
  /** Nodes whose kubelets renew their Leases. */
  readonly livingKubelets: Set<string>;
  /** How often the Leases were listed. */
  leaseLists = 0;
  /** Times in which no aggregator watched pods, of which not all nodes have told. */
  gaps: readonly CoverageGap[] = [];
  /** Resource versions of kubelets' Leases. */
  readonly leaseVersions = new Map<string, string>();
  #blindGaps: BlindGaps;
  readonly unstored = new UnstoredClaims({
    claim: (key) => this.cluster.claim(key),
    claims: () => this.cluster.claims(),
  });
  readonly #limits: StandingLimits & { readonly reasonDelayMs: number; readonly blindGap: BlindGapSetting };
  readonly #protection: ProtectionMode;
  /** Every warning about a claim, oldest first. */
  readonly warnings: ClaimWarning[] = [];
  /** Why claims were gone while a node had them mounted. */
  readonly removals: RemovalCause[] = [];
  #stopping = new AbortController();
  #running: Promise<unknown> = Promise.resolve();

  constructor({
    claims = [],
    volumes = [],
    nodes = [],
    silentAfterMs = 90_000,
    reasonDelayMs = 5_000,
    livingKubelets = [],
    blindGap = "bump",
    protection = "off",
  }: HarnessOptions) {
    this.#protection = protection;
    for (const claim of claims) {
      this.stored.set(claim.key, claim);
      this.cluster.byKey.set(claim.key, claim);
    }
    for (const volume of volumes) this.cluster.volumes.set(volume.key, volume);
    for (const node of nodes) this.cluster.nodes.set(node.key, node);
    this.livingKubelets = new Set(livingKubelets);
    const afterMs = { silentAfterMs, reasonDelayMs, agentlessAfterMs: 600_000, nodeGoneAfterMs: 300_000 };
    this.#limits = { ...afterMs, blindGap };
    this.fleet = new FleetState(this.clock, silentAfterMs);
    this.standings = this.#newStandings();
    this.#blindGaps = this.#newBlindGaps();
    this.reconciler = this.#newReconciler();
  }

  get #parts() {
    const { clock, logger, cluster, fleet } = this;
    const nowMs = (): number => clock.wallMs() + this.aheadMs;
    const { internalErrors } = this;
    return { clock, logger, cluster, fleet, random: createFixedRandom(0.5), nowMs, internalErrors };
  }

  #newStandings(): Standings {
    const onChange = (change: StandingChange): void => this.reconciler.onStanding(change);
    const onForgotten = (node: string): void => this.reconciler.onForgotten(node);
    return new Standings({ ...this.#parts, leases: { renewals: this.#renewals }, onChange, onForgotten }, this.#limits);
  }

  readonly #renewals = async (nodes: ReadonlySet<string>): Promise<ReadonlyMap<string, LeaseRenewal>> => {
    this.leaseLists += 1;
    const renewal = { renewedAtMs: this.clock.wallMs() - 5_000, durationMs: 40_000 };
    const found = [...this.livingKubelets].filter((node) => nodes.has(node));
    return new Map(found.map((node) => [node, { ...renewal, resourceVersion: this.leaseVersions.get(node) }]));
  };

  #newBlindGaps(): BlindGaps {
    const settle = (openIn: Parameters<PodCoverage["settle"]>[0]): void => {
      this.gaps = settleGaps({ ...NO_COVERAGE, gaps: this.gaps }, openIn).gaps;
    };
    const parts = {
      ...this.#parts,
      coverage: { gaps: () => this.gaps, settle, update: () => {} },
      leases: { renewals: this.#renewals },
      standingOf: (node: string) => this.standings.lookFor(node).kind,
      isAtRest: () => this.reconciler.isAtRest,
      mark: () => this.reconciler.mark(),
      onChange: () => this.reconciler.enqueueAll(),
    };
    return new BlindGaps(parts, this.#limits);
  }

  #newReconciler(): Reconciler {
    const writer = {
      apply: async (claim: Claim, { status }: AppliedStatus) => this.#apply(claim, status),
      clean: async (claim: Claim) => this.#apply(claim, claim.status),
      read: async ({ key, uid }: Claim) => this.#read(key, uid),
    };
    const unseenOf = (volume: Volume | undefined): Unseen => this.#blindGaps.unseenOf(volume);
    const beside = {
      warnings: { tell: (_: Claim, warning: ClaimWarning) => void this.warnings.push(warning) },
      policy: () => "remove" as const,
      unseenOf,
      unstored: this.unstored,
      onDecision: () => {},
      protection: this.#protection,
      onRemoved: (cause: RemovalCause) => void this.removals.push(cause),
    };
    return new Reconciler({ ...this.#parts, standings: this.standings, writer, ...beside }, this.#limits);
  }

  /** Everything has been listed: from now on it is worked. */
  async start(): Promise<this> {
    this.standings.begin();
    this.fleet.expect(this.standings.expected());
    const { signal } = this.#stopping;
    this.#running = Promise.all([
      this.reconciler.run(signal),
      this.standings.run(signal),
      this.#endExpectation(signal),
      this.#blindGaps.run(signal),
    ]);
    await this.enqueueAll();
    return this;
  }

  async #endExpectation(signal: AbortSignal): Promise<void> {
    await this.clock.sleep(this.#limits.silentAfterMs + 20, signal);
    this.reconciler.onAllHeard();
  }

  /** A new aggregator that knows what the API server has, and nothing else. */
  async restart(): Promise<this> {
    await this.stop();
    this.#stopping = new AbortController();
    this.fleet = new FleetState(this.clock, this.#limits.silentAfterMs);
    this.standings = this.#newStandings();
    this.#blindGaps = this.#newBlindGaps();
    this.reconciler = this.#newReconciler();
    for (const claim of this.stored.values()) this.cluster.byKey.set(claim.key, claim);
    for (const pod of this.cluster.pods.values()) {
      if (pod.isTerminal) this.reconciler.onPodEnded({ pod, gone: pod.resourceVersion, wasOver: true });
    }
    return this.start();
  }

  /** Rejects with the first bug that was met. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    this.logger.throwBug();
  }

  async enqueueAll(): Promise<void> {
    this.reconciler.enqueueAll();
    await settle();
  }

  async advance(ms: number): Promise<void> {
    await this.clock.advance(ms);
    await settle();
  }

  /** Hands a report in, as the aggregator's report route does; answers what may be forgotten, or nothing for a stale one. */
  async report(report: NodeMessage, receipt: Partial<Receipt> = {}): Promise<readonly string[] | undefined> {
    const nodeBootId = this.cluster.node(report.node)?.bootId;
    const wasExpected = this.fleet.expected.length > 0;
    const change = this.fleet.accept(report, { atMs: this.clock.wallMs(), widthMs: 0, nodeBootId, ...receipt });
    if (change.kind !== "accepted") return undefined;
    const { atMs = this.clock.wallMs(), widthMs = 0 } = receipt;
    this.#blindGaps.onReport(report, { atMs, widthMs }, change.setBackMs !== undefined);
    this.standings.onReport(report.node);
    this.reconciler.onReport(report.node, change.touched);
    if (wasExpected && this.fleet.expected.length === 0) this.reconciler.onAllHeard();
    const settled = this.reconciler.answers.settled(change.view);
    this.fleet.settle(report.node, settled);
    await settle();
    return settled;
  }

  /** A pod appears or changes; when it is over the reconciler is told. */
  async putPod(pod: Pod): Promise<void> {
    const before = this.cluster.pods.get(pod.uid);
    this.cluster.pods.set(pod.uid, pod);
    const gone = pod.resourceVersion;
    if (pod.isTerminal && before?.isTerminal !== true) this.reconciler.onPodEnded({ pod, gone, wasOver: false });
    if (pod.node !== before?.node) this.reconciler.onPodPlaced(pod);
    await this.#touch(pod);
  }

  async removePod(uid: string, gone: string): Promise<void> {
    const pod = this.cluster.pods.get(uid);
    if (pod === undefined) return;
    this.cluster.pods.delete(uid);
    if (!pod.isTerminal) this.reconciler.onPodEnded({ pod, gone, wasOver: false });
    await this.#touch(pod);
  }

  /** A Node object comes or changes. */
  async putNode(node: Node): Promise<void> {
    this.cluster.nodes.set(node.key, node);
    this.standings.onNode(node.key);
    await settle();
  }

  async removeNode(name: string): Promise<void> {
    this.cluster.nodes.delete(name);
    this.standings.onNode(name);
    await settle();
  }

  /** The volume is attached to these nodes by the API. */
  async attach(volume: string, nodes: readonly string[]): Promise<void> {
    this.cluster.attachments.set(volume, nodes);
    const claim = this.cluster.volumes.get(volume)?.claim;
    if (claim !== undefined) this.reconciler.enqueue(claim.key);
    await settle();
  }

  async putClaim(claim: Claim): Promise<void> {
    this.stored.set(claim.key, claim);
    await this.catchUp();
  }

  /** The watch shows what the API server has. */
  async catchUp(): Promise<void> {
    for (const claim of this.stored.values()) {
      this.cluster.byKey.set(claim.key, claim);
      this.reconciler.enqueue(claim.key);
    }
    await settle();
  }

  async #touch(pod: Pod): Promise<void> {
    if (pod.isAgent === true && pod.node !== undefined) this.standings.onAgentPod(pod.node);
    for (const key of claimKeysOf(pod)) this.reconciler.enqueue(key);
    await settle();
  }

  #read(key: string, uid: string): WriteResult {
    const claim = this.stored.get(key);
    return claim?.uid === uid ? { kind: "written", claim } : { kind: "stale", message: "gone" };
  }

  #apply(claim: Claim, desired: ClaimStatus | undefined): WriteResult {
    const outcome = this.outcomes.shift() ?? "seen";
    if (outcome === "gone") return { kind: "stale", message: "gone" };
    // What is read back is what was written, with its rounding.
    const status = desired && readBack(claim, desired);
    if (status === undefined) throw new Error("the written status cannot be read");
    const written = { ...claim, status, strays: undefined, resourceVersion: String(Number(claim.resourceVersion) + 1) };
    if (typeof outcome === "string" || outcome.isStored) {
      this.writes.push(status);
      this.stored.set(claim.key, written);
    }
    if (typeof outcome !== "string") return failureOf(outcome.fails);
    if (outcome === "seen") this.cluster.byKey.set(claim.key, written);
    return { kind: "written", claim: written };
  }
}

function readBack({ uid, status: stored }: Claim, desired: ClaimStatus): ClaimStatus | undefined {
  const [staged] = writeStaged(desired, stored);
  return readClaimStatus({ uid, staged, ...writeClaimStatus(uid, desired) });
}

/** As the writer tells it. */
function failureOf(error: Error): WriteResult {
  const { message } = error;
  if (error instanceof ApiError && error.status === 403) return { kind: "forbidden", message };
  if (error instanceof ApiError && error.status === 422) return { kind: "refused", reason: "Invalid", message };
  if (error instanceof ApiError && error.status === 409) return { kind: "stale", message };
  return { kind: "failed", message, retryAfterMs: 0 };
}
