import type { Reconciler } from "../../../aggregator/claims/reconciler.ts";
import type { EndedPod, Node, Pod, Volume } from "../../../aggregator/core/cluster-objects.ts";
import type { ProtectionMode, RemovalCause } from "../../../aggregator/core/deletion.ts";
import type { Receipt } from "../../../aggregator/core/fleet.ts";
import { claimKeysOf } from "../../../aggregator/core/references.ts";
import { leaveOpen, type WatchGap } from "../../../aggregator/core/watch-history.ts";
import { createMeasures } from "../../../aggregator/metrics/measures.ts";
import type { AgentStates } from "../../../aggregator/nodes/agent-states.ts";
import type { FleetState } from "../../../aggregator/nodes/fleet-state.ts";
import type { ClaimWarning } from "../../../aggregator/sinks/claim-events.ts";
import type { AppliedStatus, WriteResult } from "../../../aggregator/sinks/claim-status-writer.ts";
import { UnstoredClaims } from "../../../aggregator/writing/unstored-claims.ts";
import { ApiError } from "../../../common/kube/client.ts";
import { InternalErrors } from "../../../common/runtime/internal-errors.ts";
import { createMetrics } from "../../../common/runtime/metrics.ts";
import { formatMicroTime } from "../../../common/runtime/micro-time.ts";
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
import { type FakeAnswer, json } from "../../fakes/transport.ts";
import { FakeCluster } from "./fake-cluster.ts";
import { createLeading, tell } from "./leader-session.ts";

/**
 * What becomes of a write: it is stored and the watch shows it, it is stored only, its claim is gone, or it fails; then it is
 * stored all the same when only the answer was lost.
 */
export type WriteOutcome = "seen" | "stored" | "gone" | { readonly fails: Error; readonly isStored: boolean };

export interface HarnessOptions {
  readonly claims?: readonly Claim[];
  readonly volumes?: readonly Volume[];
  readonly nodes?: readonly Node[];
  readonly nodeStaleAfterMs?: number;
  readonly reasonDelayMs?: number;
  /** Whether the kubelets of nodes live, for those that ask for their Leases. */
  readonly livingKubelets?: readonly string[];
  readonly protection?: ProtectionMode;
}

/** The session of a leader with a cluster made by hand, an API server that is a map, and a clock that is moved by hand. */
export class Harness {
  /** Nothing here is a stream. */
  readonly clock: FakeClock = createFakeClock(undefined, 1);
  readonly logger: FakeLogger = createFakeLogger();
  /** Bugs that work on single claims and nodes met, each with its stack in the log. */
  readonly internalErrors = new InternalErrors(this.logger);
  readonly cluster = new FakeCluster();
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
  /** A time in which no aggregator watched pods, of which not all nodes have answered. */
  gap: WatchGap | undefined;
  /** Resource versions of kubelets' Leases. */
  readonly leaseVersions = new Map<string, string>();
  readonly unstored = new UnstoredClaims(this.cluster);
  /** Every warning about a claim, oldest first. */
  readonly warnings: ClaimWarning[] = [];
  /** Why claims were gone while a node had them mounted. */
  readonly removals: RemovalCause[] = [];
  #heldWrites: Promise<void> = Promise.resolve();
  /** Ends what `holdWrites` has begun. */
  letWrites = (): void => {};
  readonly #options: HarnessOptions;
  readonly #measures = {
    ...createMeasures(createMetrics()),
    removedWhileMounted: (cause: RemovalCause) => void this.removals.push(cause),
  };
  #leading: ReturnType<typeof createLeading>;
  /** The API server's clock at a report; nothing: as it is now. */
  #received: { readonly latestMs: number; readonly widthMs: number } | undefined;

  constructor(options: HarnessOptions) {
    const { claims = [], volumes = [], nodes = [], livingKubelets = [] } = options;
    this.#options = options;
    for (const claim of claims) {
      this.stored.set(claim.key, claim);
      this.cluster.byKey.set(claim.key, claim);
    }
    for (const volume of volumes) this.cluster.volumes.set(volume.key, volume);
    for (const node of nodes) this.cluster.nodes.set(node.key, node);
    this.livingKubelets = new Set(livingKubelets);
    this.#leading = this.#newLeading();
  }

  get fleet(): FleetState {
    return this.#leading.session.fleet;
  }

  get unreported(): readonly string[] {
    return this.#leading.session.unreported;
  }

  get agentStates(): AgentStates {
    return this.#leading.session.agentStates;
  }

  get reconciler(): Reconciler {
    return this.#leading.session.reconciler;
  }

  #newLeading(): ReturnType<typeof createLeading> {
    const { nodeStaleAfterMs = 90_000, reasonDelayMs = 5_000, protection = "off" } = this.#options;
    const { clock, logger, internalErrors, unstored } = this;
    const afterMs = { nodeStaleAfterMs, reasonDelayMs, noAgentAfterMs: 600_000, nodeGoneAfterMs: 300_000 };
    return createLeading(this.cluster, {
      ...{ clock, logger, internalErrors, unstored, measures: this.#measures },
      config: { ...afterMs, protection },
      serverTime: () => this.#received ?? { latestMs: clock.wallMs() + this.aheadMs, widthMs: 0 },
      server: () => this.#leases(),
      coverage: {
        gap: () => this.gap,
        settle: (nodes) => {
          this.gap = this.gap && leaveOpen(this.gap, nodes);
        },
      },
      writing: {
        writer: {
          apply: (claim: Claim, { status }: AppliedStatus) => this.#heldWrites.then(() => this.#apply(claim, status)),
          clean: async (claim: Claim) => this.#apply(claim, claim.status),
        },
        warnings: { tell: (_: Claim, warning: ClaimWarning) => void this.warnings.push(warning) },
      },
    });
  }

  #leases(): FakeAnswer {
    const spec = { renewTime: formatMicroTime(this.clock.wallMs() - 5_000), leaseDurationSeconds: 40 };
    const items = [...this.livingKubelets].map((name) => ({
      metadata: { name, resourceVersion: this.leaseVersions.get(name) },
      spec,
    }));
    return json({ metadata: { resourceVersion: "1" }, items });
  }

  /** Everything has been listed: from now on it is worked. */
  async start(): Promise<this> {
    await this.#leading.begin();
    return this;
  }

  /** A new aggregator that knows what the API server has, and nothing else. */
  async restart(): Promise<this> {
    await this.stop();
    this.#leading = this.#newLeading();
    for (const claim of this.stored.values()) this.cluster.byKey.set(claim.key, claim);
    return this.start();
  }

  /** Rejects with the first bug that was met. */
  async stop(): Promise<void> {
    await this.#leading.stop();
    this.logger.throwBug();
  }

  /** The API server answers no write until `letWrites`. */
  holdWrites(): void {
    this.#heldWrites = new Promise((resolve) => {
      this.letWrites = resolve;
    });
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
    const { atMs = this.clock.wallMs(), widthMs = 0 } = receipt;
    this.#received = { latestMs: atMs, widthMs };
    const outcome = tell(this.#leading.session, report);
    this.#received = undefined;
    await settle();
    return outcome.kind === "accepted" ? outcome.answer.forget : undefined;
  }

  /** A pod appears or changes. */
  async putPod(pod: Pod): Promise<void> {
    const { listener } = this.#leading;
    const before = this.cluster.pods.get(pod.uid);
    this.cluster.pods.set(pod.uid, pod);
    const gone = pod.resourceVersion;
    if (pod.isTerminal && before?.isTerminal !== true) this.#end(pod, gone);
    if (pod.node !== before?.node) listener.onPodPlaced(pod);
    await this.#touch(pod);
  }

  async removePod(uid: string, gone: string): Promise<void> {
    const pod = this.cluster.pods.get(uid);
    if (pod === undefined) return;
    this.cluster.pods.delete(uid);
    if (!pod.isTerminal) this.#end(pod, gone);
    await this.#touch(pod);
  }

  #end(pod: Pod, gone: string): void {
    this.onPodEnded({ pod, gone, seenAtMs: this.clock.wallMs() + this.aheadMs, wasOver: false });
  }

  onPodEnded(end: EndedPod): void {
    this.#leading.onPodEnded(end);
  }

  /** A Node object comes or changes. */
  async putNode(node: Node): Promise<void> {
    this.cluster.nodes.set(node.key, node);
    this.#leading.listener.onNode(node.key);
    await settle();
  }

  async removeNode(name: string): Promise<void> {
    this.cluster.nodes.delete(name);
    this.#leading.listener.onNode(name);
    await settle();
  }

  /** The volume is attached to these nodes by the API. */
  async attach(volume: string, nodes: readonly string[]): Promise<void> {
    this.cluster.attachments.set(volume, nodes);
    const claim = this.cluster.volumes.get(volume)?.claim;
    if (claim !== undefined) this.#leading.listener.onClaim(claim.key);
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
      this.#leading.listener.onClaim(claim.key);
    }
    await settle();
  }

  async #touch(pod: Pod): Promise<void> {
    const { listener } = this.#leading;
    if (pod.isAgent === true && pod.node !== undefined) listener.onAgentPod(pod.node);
    for (const key of claimKeysOf(pod)) listener.onClaim(key);
    await settle();
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
