import * as v from "valibot";
import { expect } from "vitest";
import type { Claim } from "../../common/storage/claim.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { startStopwatch } from "../rig/process/starvation.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { type BareCluster, startBareCluster } from "./bare-cluster.ts";
import { type Replica, Replicas } from "./replicas.ts";

const versioned = v.object({ metadata: v.object({ resourceVersion: v.string() }) });
const word = v.object({ reached: v.optional(v.string(), "0") });

export const WRITTEN = 'mooring_status_writes_total{outcome="written"}';

const REPORT = {
  version: 1,
  node: "n1",
  bootId: "boot-1",
  podUid: "agent-1",
  instance: "run-1",
  generation: 1,
  driftPpm: 200,
  sentAt: 1_002,
  scan: { beganAt: 1_000, endedAt: 1_001 },
  observedSince: 500,
  agentGaps: [{ to: 500 }],
  podsResourceVersion: "1",
  mountedVolumes: [],
  unmountRecords: [],
};

export function isUnused({ status }: Claim): boolean {
  return status?.unused === true;
}

export function isReferenced({ status }: Claim): boolean {
  return status?.reason === "Referenced";
}

/** A report of a node, as its agent sends it. */
export function put({ url }: Replica): Promise<Response> {
  return fetch(`${url}/v1/nodes/n1/report`, { method: "PUT", body: JSON.stringify(REPORT) });
}

/** A cluster on which replicas of the aggregator follow one another: they have one Lease. */
export class LeadershipStage {
  readonly owner: Owner;
  readonly cluster: BareCluster;
  readonly replicas: Replicas;
  readonly #signals: Disposable;
  #running: Replica[] = [];

  private constructor(owner: Owner, cluster: BareCluster, signals: Disposable) {
    this.owner = owner;
    this.cluster = cluster;
    this.replicas = new Replicas(owner, cluster);
    this.#signals = signals;
  }

  static async open(): Promise<LeadershipStage> {
    const owner = await openOwner();
    const signals = closeOnSignals(owner);
    return new LeadershipStage(owner, await startBareCluster(owner), signals);
  }

  async close(): Promise<void> {
    await this.owner.close();
    this.#signals[Symbol.dispose]();
  }

  /** A replica that leads; an earlier leader may have been killed. */
  async leader(pod: string, options: { readonly through?: number } = {}): Promise<Replica> {
    const leader = await this.#create(pod, options);
    await leader.start();
    await leader.leads(25_000);
    return leader;
  }

  /** Two replicas, the first of which leads. */
  async pair(name: string, options: { readonly through?: number } = {}): Promise<readonly [Replica, Replica]> {
    const leader = await this.leader(`${name}-a`, options);
    const standby = await this.#create(`${name}-b`);
    await standby.start();
    return [leader, standby];
  }

  /** Stops the replicas of a test. */
  async stopAll(): Promise<void> {
    await Promise.all(this.#running.map(({ child }) => child.stop()));
    this.#running = [];
  }

  until(what: string, limitMs: number, check: () => Promise<void>): Promise<void> {
    return waitUntil(this.owner, { what, limitMs, check });
  }

  /** Throws unless what the Lease says of the pods that were watched reaches as far as the last change of a pod. */
  async requireWordOf(pod: string): Promise<void> {
    const { metadata } = v.parse(versioned, await this.cluster.api.get(`/api/v1/namespaces/shop/pods/${pod}`));
    const { coverage } = await this.replicas.lease();
    const { reached } = v.parse(word, JSON.parse(coverage ?? "{}"));
    expect(BigInt(reached)).toBeGreaterThanOrEqual(BigInt(metadata.resourceVersion));
  }

  /** How long it takes from now until the replica leads and acknowledges reports, of the time that the machine gives. */
  async takenOver(next: Replica, limitMs: number): Promise<number> {
    const spentMs = startStopwatch(this.owner);
    await this.until("an acknowledgement", limitMs, async () => expect((await put(next)).status).toBe(200));
    return spentMs();
  }

  async #create(pod: string, options: { readonly through?: number } = {}): Promise<Replica> {
    const replica = await this.replicas.create(pod, options);
    this.#running.push(replica);
    return replica;
  }
}
