import { ClaimOrder } from "../../../aggregator/core/claim-order.ts";
import type { Node, Pod, Volume } from "../../../aggregator/core/cluster-objects.ts";
import type { Receipt } from "../../../aggregator/core/fleet.ts";
import { claimKeysOf } from "../../../aggregator/core/references.ts";
import { compareText, SortedList } from "../../../aggregator/core/sorted-list.ts";
import { FleetState } from "../../../aggregator/fleet-state.ts";
import { Reconciler } from "../../../aggregator/reconciler.ts";
import type { Cluster } from "../../../aggregator/sources/cluster.ts";
import type { Claim } from "../../../common/storage/claim.ts";
import { type ClaimStatus, readClaimStatus, writeClaimStatus } from "../../../common/storage/claim-status.ts";
import type { NodeMessage } from "../../../common/storage/node-report.ts";
import { createFakeClock, type FakeClock, settle } from "../../fakes/clock.ts";
import { createFakeLogger, type FakeLogger } from "../../fakes/logger.ts";
import { createFixedRandom } from "../../fakes/random.ts";

/**
 * What becomes of a write: it is stored and the watch shows it, it is stored only, its claim is gone, or it fails; then it is
 * stored all the same when only the answer was lost.
 */
export type WriteOutcome = "seen" | "stored" | "gone" | { readonly fails: Error; readonly isStored: boolean };

/** The cluster as the informers would show it, put together by hand. */
export class FakeCluster implements Cluster {
  readonly byKey = new Map<string, Claim>();
  readonly pods = new Map<string, Pod>();
  readonly volumes = new Map<string, Volume>();
  readonly nodes = new Map<string, Node>();

  readonly claim = (key: string): Claim | undefined => this.byKey.get(key);
  readonly claims = (): Iterable<Claim> => this.byKey.values();
  readonly node = (name: string): Node | undefined => this.nodes.get(name);
  readonly nodeNames = (): readonly string[] => [...this.nodes.keys()];
  readonly podsOf = (claimKey: string): readonly Pod[] =>
    [...this.pods.values()].filter((pod) => claimKeysOf(pod).includes(claimKey));
  readonly podName = (uid: string): string => this.pods.get(uid)?.key ?? uid;
  readonly isPodThere = (uid: string): boolean => this.pods.has(uid);
  readonly podByUid = (uid: string): Pod | undefined => this.pods.get(uid);
  readonly volumeByName = (name: string): Volume | undefined => this.volumes.get(name);
  readonly volumesByHandle = (driver: string, handleHash: string): readonly Volume[] =>
    [...this.volumes.values()].filter(({ csi }) => csi?.driver === driver && csi.handleHash === handleHash);
  get claimOrder(): ClaimOrder {
    const order = new ClaimOrder(this.claim);
    for (const claim of this.byKey.values()) order.put(claim, undefined);
    return order;
  }
  get volumeOrder(): SortedList<string> {
    const order = new SortedList(compareText);
    for (const name of this.volumes.keys()) order.add(name);
    return order;
  }
  readonly unsynced = (): readonly string[] => [];
  readonly undecodable = (): number => 0;
  readonly run = async (): Promise<void> => {};
}

export interface HarnessOptions {
  readonly claims?: readonly Claim[];
  readonly volumes?: readonly Volume[];
  readonly nodes?: readonly Node[];
  readonly silentAfterMs?: number;
  readonly reasonDelayMs?: number;
}

/** A reconciler and a fleet with a cluster made by hand, an API server that is a map, and a clock that is moved by hand. */
export class Harness {
  readonly clock: FakeClock = createFakeClock();
  readonly logger: FakeLogger = createFakeLogger();
  readonly cluster = new FakeCluster();
  fleet: FleetState;
  reconciler: Reconciler;
  /** By how much the latest that the server's clock can show is ahead of its true time. */
  aheadMs = 0;
  /** Every status that was stored, oldest first. */
  readonly writes: ClaimStatus[] = [];
  /** What the API server has, which the watch may not have shown yet. */
  readonly stored = new Map<string, Claim>();
  /** What the next writes meet; "seen" once there are none left. */
  readonly outcomes: WriteOutcome[] = [];
  readonly #limits: { readonly silentAfterMs: number; readonly reasonDelayMs: number };
  #stopping = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor({
    claims = [],
    volumes = [],
    nodes = [],
    silentAfterMs = 90_000,
    reasonDelayMs = 5_000,
  }: HarnessOptions) {
    for (const claim of claims) {
      this.stored.set(claim.key, claim);
      this.cluster.byKey.set(claim.key, claim);
    }
    for (const volume of volumes) this.cluster.volumes.set(volume.key, volume);
    for (const node of nodes) this.cluster.nodes.set(node.key, node);
    this.#limits = { silentAfterMs, reasonDelayMs };
    this.fleet = new FleetState(this.clock, silentAfterMs);
    this.reconciler = this.#newReconciler();
  }

  #newReconciler(): Reconciler {
    const { clock, logger, cluster, fleet } = this;
    const writer = { apply: async (claim: Claim, status: ClaimStatus) => this.#apply(claim, status) };
    const nowMs = () => clock.wallMs() + this.aheadMs;
    const parts = { clock, logger, cluster, fleet, writer, random: createFixedRandom(0.5), nowMs };
    return new Reconciler(parts, this.#limits);
  }

  /** Everything has been listed: from now on it is worked. */
  async start(): Promise<this> {
    this.fleet.expect(this.cluster.nodeNames());
    this.#running = this.reconciler.run(this.#stopping.signal);
    await this.enqueueAll();
    return this;
  }

  /** A new aggregator that knows what the API server has, and nothing else. */
  async restart(): Promise<this> {
    await this.stop();
    this.#stopping = new AbortController();
    this.fleet = new FleetState(this.clock, this.#limits.silentAfterMs);
    this.reconciler = this.#newReconciler();
    for (const claim of this.stored.values()) this.cluster.byKey.set(claim.key, claim);
    return this.start();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
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
    const change = this.fleet.accept(report, { atMs: this.clock.wallMs(), widthMs: 0, nodeBootId, ...receipt });
    if (change.kind !== "accepted") return undefined;
    this.reconciler.onReport(report.node, change.touched);
    if (this.fleet.expected.length === 0) this.reconciler.enqueueAll();
    const settled = this.reconciler.settled(change.view);
    this.fleet.settle(report.node, settled);
    await settle();
    return settled;
  }

  /** A pod appears or changes; when it is over the reconciler is told. */
  async putPod(pod: Pod): Promise<void> {
    const before = this.cluster.pods.get(pod.uid);
    this.cluster.pods.set(pod.uid, pod);
    if (pod.isTerminal && before?.isTerminal === false) this.reconciler.onPodEnded(pod, pod.resourceVersion);
    await this.#touch(pod);
  }

  async removePod(uid: string, gone: string): Promise<void> {
    const pod = this.cluster.pods.get(uid);
    if (pod === undefined) return;
    this.cluster.pods.delete(uid);
    if (!pod.isTerminal) this.reconciler.onPodEnded(pod, gone);
    await this.#touch(pod);
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
    for (const key of claimKeysOf(pod)) this.reconciler.enqueue(key);
    await settle();
  }

  #apply(claim: Claim, desired: ClaimStatus): Claim | undefined {
    const outcome = this.outcomes.shift() ?? "seen";
    if (outcome === "gone") return undefined;
    // What is read back is what was written, with its rounding.
    const status = readClaimStatus({ uid: claim.uid, ...writeClaimStatus(claim.uid, desired) });
    if (status === undefined) throw new Error("the written status cannot be read");
    const written = { ...claim, status, resourceVersion: String(Number(claim.resourceVersion) + 1) };
    if (typeof outcome === "string" || outcome.isStored) {
      this.writes.push(status);
      this.stored.set(claim.key, written);
    }
    if (typeof outcome !== "string") throw outcome.fails;
    if (outcome === "seen") this.cluster.byKey.set(claim.key, written);
    return written;
  }
}
