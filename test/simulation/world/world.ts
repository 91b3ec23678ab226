import type { SimApi } from "../engine/api/api.ts";
import type { ApiObject } from "../engine/api/objects.ts";
import type { ProtectionMode } from "../engine/api/protection.ts";
import type { Engine } from "../engine/engine.ts";
import type { SimMachine } from "../engine/machine.ts";
import type { SiteVisit } from "../engine/sites.ts";
import type { Setup } from "../plan/step.ts";
import { TEMPOS, type Tempo } from "../plan/tempo.ts";
import { Truth, type Use } from "../truth.ts";
import { ApiClocks } from "./api-clocks.ts";
import { freeLease } from "./api-deeds.ts";
import { Backups } from "./backups.ts";
import { Cluster } from "./cluster.ts";
import { Copies } from "./copies.ts";
import type { Dice } from "./dice.ts";
import { Health } from "./health.ts";
import { NAMESPACE } from "./objects.ts";
import { Rejections } from "./rejections.ts";
import { Replica } from "./replica.ts";
import { SimNode } from "./sim-node.ts";
import type { Sky } from "./weather.ts";
import { Windows } from "./windows.ts";

interface WorldParts {
  readonly engine: Engine;
  readonly sky: Sky;
  readonly dice: (name: string) => Dice;
}

/** A time in which a node had no agent. Milliseconds of true time. */
export interface Agentless {
  readonly node: string;
  readonly removedMs: number;
  /** From then on the node may count as one without an agent, also for what ended since the agent went. */
  readonly fromMs: number;
  readonly toMs: number;
}

/** Milliseconds of true time. */
const HEARS_MS = 30;
const SLEWED = { source: "monotonic", driftPpm: 100_000 } as const;

/** Nodes, claims, pods, an API server, and Mooring in it. */
export class World {
  readonly engine: Engine;
  readonly sky: Sky;
  readonly tempo: Tempo;
  readonly truth: Truth;
  readonly cluster: Cluster;
  readonly windows: Windows;
  readonly nodes: readonly SimNode[];
  readonly replicas: readonly Replica[];
  /** What the installed policies do, and what the aggregators were told of them. */
  readonly protection: ProtectionMode;
  /** The machine that the aggregators run on. */
  readonly control: SimMachine;
  /** What a part of the world itself threw: a mistake in the simulation. */
  readonly bugs: unknown[] = [];
  /** UIDs of claims that were unmounted while their pods ran: when such a use ended is a matter of opinion. */
  readonly unclear = new Set<string>();
  /** By UID of a claim: how often somebody has forged its status. */
  readonly forged = new Map<string, number>();
  /** UIDs of pods whose volumes somebody unmounted while they ran. */
  readonly unmountedBehind = new Set<string>();
  /** Nodes that are out of service. */
  readonly given = new Set<string>();
  /** Places where the next process that comes by dies, after so many that do not. */
  readonly doomed: { readonly site: string; skip: number }[] = [];
  /** Times in which nodes had no agent and counted, or may have counted, as such. */
  agentless: readonly Agentless[];
  readonly rejections: Rejections;
  readonly copies: Copies;
  readonly apiClocks: ApiClocks;
  readonly backups: Backups;
  /** When each process ran and heard of everything. */
  readonly health: Health;
  /** Times in which somebody said that a node was gone. */
  #givenUp: readonly { readonly node: string; readonly fromMs: number; readonly toMs: number }[] = [];
  readonly #dice: WorldParts["dice"];
  #touches = 0;

  constructor({ engine, sky, dice }: WorldParts, setup: Setup) {
    const { scheduler, api } = engine;
    this.engine = engine;
    this.sky = sky;
    this.tempo = TEMPOS[setup.tempo];
    this.#dice = dice;
    this.truth = new Truth(scheduler.nowMs);
    this.windows = new Windows(scheduler);
    this.copies = new Copies({ dice: dice("copies"), after: scheduler.after });
    this.apiClocks = new ApiClocks(api.servers, scheduler.nowMs);
    this.health = new Health(scheduler.nowMs);
    this.backups = new Backups(this);
    this.backups.onRestored(watchLease(engine.api, (identity) => this.#onLease(identity)));
    this.agentless = setup.nodes.flatMap(({ hasAgent }, index) => {
      return hasAgent ? [] : [{ node: `node-${index}`, removedMs: 0, fromMs: 0, toMs: Number.POSITIVE_INFINITY }];
    });
    for (const [index, server] of api.servers.entries()) server.clockOffsetMs = setup.serverOffsetsMs[index] ?? 0;
    this.cluster = new Cluster({ api, now: scheduler.nowMs, wallMs: () => this.apiWallMs, after: scheduler.after });
    this.backups.onRestored(() => this.cluster.claimController.relist());
    this.rejections = new Rejections(this, setup.affinity);
    this.nodes = setup.nodes.map((_, index) => this.#newNode(setup, index));
    this.control = engine.machine({ name: "control-plane", upForMs: 90_000_000 });
    this.protection = setup.protection ?? "off";
    api.protect(this.protection);
    for (const [index, { kind, sharesHandle, reclaim }] of setup.claims.entries())
      this.cluster.claims.create({
        name: `data-${index}`,
        kind,
        handle: sharesHandle ? "handle-1" : undefined,
        reclaim,
      });
    this.replicas = Array.from({ length: setup.replicas }, (_, index) => {
      const replica = { name: `aggregator-${index}`, machine: this.control, isElected: true };
      const { health, tempo, protection } = this;
      return new Replica({ engine, health, tempo, protection }, replica);
    });
    for (const [index, node] of this.nodes.entries()) if (setup.nodes[index]?.hasAgent) node.installAgent();
    api.observe(({ resource, object, by }) => {
      if (resource === "pods" && (by === undefined || by.startsWith("agent-")))
        scheduler.after(HEARS_MS, () => this.#onPods());
      // A replica writes nothing to pods but the leader's label.
      const isLabel =
        resource === "pods" && by !== undefined && object.metadata.labels?.["mooring.dev/role"] === "leader";
      if (isLabel) this.copies.onLeader();
    });
  }

  /** Somebody may have written who is none of the replicas. */
  #onLease(identity: string): void {
    const isReplica = this.replicas.some(({ name }) => identity.startsWith(`${name}_`));
    this.health.lead(isReplica ? identity : "");
  }

  /** The replica that the Service leads to. */
  get leader(): Replica | undefined {
    const pod = this.engine.api.list("pods").find(isLeader);
    return this.replicas.find(({ name }) => name === pod?.metadata.name);
  }

  /** Numbers are taken modulo how many there are. */
  node(index: number): SimNode {
    const node = this.nodes[index % this.nodes.length];
    if (node === undefined) throw new Error("a world without nodes");
    return node;
  }

  /** Truncated times of the API are of the first server. */
  get apiWallMs(): number {
    return this.engine.trueWallMs() + (this.engine.api.servers[0]?.clockOffsetMs ?? 0);
  }

  get now(): number {
    return this.engine.scheduler.nowMs();
  }

  #newNode(setup: Setup, index: number): SimNode {
    const options = setup.nodes[index];
    if (options === undefined) throw new Error(`there is no node ${index}`);
    const name = `node-${index}`;
    const { driftPpm, slewPpm, wallOffsetMs, isSlewed, isOldKernel, isForgetful, root } = options;
    const rate = isSlewed ? SLEWED : undefined;
    const machine = this.engine.machine({ name, driftPpm, slewPpm, wallOffsetMs, rate });
    const start = (work: Promise<void>): void => void work.catch((error: unknown) => this.bugs.push(error));
    const { engine, cluster, truth, tempo, health } = this;
    const { isEnforcing = false, affinity } = setup;
    const parts = { engine, cluster, truth, tempo, health, dice: this.#dice(name), start, isEnforcing, affinity };
    const kernel = isOldKernel ? "line-count" : "stable-cursor";
    return new SimNode(parts, { name, machine, kernel, root, isForgetful });
  }

  /** Controllers and kubelets hear of what became of pods. */
  #onPods(): void {
    this.cluster.claims.collect();
    this.#makeEphemeralClaims();
    this.rejections.owners.sync();
    this.syncKubelets();
  }

  syncKubelets(): void {
    for (const node of this.nodes) node.kubelet.sync();
  }

  /** As the ephemeral volume controller does, unless somebody has a claim of that name already. */
  #makeEphemeralClaims(): void {
    for (const { name, uid, volumes } of this.cluster.pods.there) {
      for (const volume of volumes) {
        const claim = volume.by === "ephemeral" ? `${name}-${volume.name}` : undefined;
        if (claim === undefined || this.cluster.claims.get(claim) !== undefined) continue;
        this.cluster.claims.create({ name: claim, kind: "csi", owner: { name, uid } });
      }
    }
  }

  /** The node's agent is taken away for a time: when that is long, what its pods' status says counts. */
  noteAgentless(node: string, forMs: number): void {
    const fromMs = this.now + 0.9 * this.tempo.limits.noAgentAfterMs;
    const toMs = this.now + forMs;
    if (toMs > fromMs) this.agentless = [...this.agentless, { node, removedMs: this.now, fromMs, toMs }];
  }

  /** Somebody says for so long that the node is gone, and it may be taken for that until it is heard of again. */
  noteGivenUp(node: string, forMs: number): void {
    this.#givenUp = [
      ...this.#givenUp,
      { node, fromMs: this.now, toMs: this.now + forMs + this.tempo.limits.nodeStaleAfterMs },
    ];
  }

  /** True for a use that may have counted as ended with its node. */
  wasGivenUp({ node, beganAt, endedAt = this.now }: Pick<Use, "node" | "beganAt" | "endedAt">): boolean {
    return this.#givenUp.some((one) => one.node === node && one.fromMs <= endedAt && one.toMs >= beganAt);
  }

  /** Whether the process dies here. */
  readonly mayCrash = ({ site, phase }: SiteVisit): boolean => {
    const doom = this.doomed.find((one) => one.site === `${site}/${phase}`);
    if (doom === undefined) return false;
    doom.skip -= 1;
    if (doom.skip >= 0) return false;
    this.doomed.splice(this.doomed.indexOf(doom), 1);
    return true;
  };

  /** Another writer changes a claim, so that what was decided on the state before is refused. */
  touchClaim(path: string): void {
    const name = /persistentvolumeclaims\/([^/?]+)/.exec(path)?.[1];
    if (name === undefined) return;
    this.#touches += 1;
    const touched = String(this.#touches);
    this.engine.api.update({ resource: "persistentvolumeclaims", namespace: NAMESPACE, name }, (object) => ({
      ...object,
      metadata: { ...object.metadata, labels: { ...object.metadata.labels, touched } },
    }));
  }

  /** What the pod garbage collector does with the pods of a node that is gone or given up. */
  collectPods(node: string, afterMs: number, isStillGone: () => boolean): void {
    this.engine.scheduler.after(afterMs, () => {
      if (!isStillGone()) return;
      for (const pod of this.cluster.pods.on(node)) this.cluster.pods.delete(pod, true);
    });
  }

  deleteNode(node: SimNode): void {
    this.cluster.deleteNode(node.name);
    this.collectPods(node.name, this.tempo.podGcMs, () => this.cluster.nodeGoneSince(node.name) !== undefined);
  }

  /** All faults end, everything runs again. */
  heal(): void {
    this.windows.closeAll();
    this.sky.clear();
    this.doomed.length = 0;
    this.cluster.cutOff.clear();
    for (const node of this.nodes) {
      node.damage = [];
      node.boot();
      node.thaw();
      if (this.cluster.nodeGoneSince(node.name) !== undefined) this.cluster.register(node.name, node.machine.bootId());
    }
    freeLease(this);
    for (const replica of this.replicas) replica.start();
  }
}

/** Calls whenever somebody else has the Lease of the aggregators, or nobody. Answers what looks at it when no event tells. */
function watchLease(api: SimApi, onChange: (holder: string) => void): () => void {
  let last = "";
  const see = (lease: ApiObject | undefined): void => {
    const holder = /"holderIdentity":"([^"]*)"/.exec(JSON.stringify(lease?.spec ?? {}))?.[1] ?? "";
    if (holder !== last) onChange(holder);
    last = holder;
  };
  const isOurs = ({ metadata }: ApiObject): boolean => metadata.namespace === "mooring";
  api.observe(({ resource, type, object }) => {
    if (resource === "leases" && isOurs(object)) see(type === "DELETED" ? undefined : object);
  });
  return () => see(api.list("leases").find(isOurs));
}

function isLeader({ metadata }: ApiObject): boolean {
  return metadata.labels?.["mooring.dev/role"] === "leader";
}
