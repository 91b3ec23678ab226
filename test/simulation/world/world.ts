import type { SimApi } from "../engine/api/api.ts";
import type { ApiObject } from "../engine/api/objects.ts";
import type { ProtectionMode } from "../engine/api/protection.ts";
import type { Engine } from "../engine/engine.ts";
import type { SimMachine } from "../engine/machine.ts";
import type { SiteVisit } from "../engine/sites.ts";
import type { Setup } from "../plan/step.ts";
import { TEMPOS, type Tempo } from "../plan/tempo.ts";
import { Truth, type Use } from "../truth.ts";
import { freeLease } from "./api-actions.ts";
import { ApiClocks } from "./api-clocks.ts";
import { Backups } from "./backups.ts";
import { Cluster } from "./cluster.ts";
import { Copies } from "./copies.ts";
import type { Dice } from "./dice.ts";
import type { FaultInjector } from "./fault-injector.ts";
import { Health } from "./health.ts";
import { NAMESPACE } from "./objects.ts";
import { Rejections } from "./rejections.ts";
import { Replica } from "./replica.ts";
import { SimNode } from "./sim-node.ts";
import { Windows } from "./windows.ts";

interface WorldParts {
  readonly engine: Engine;
  readonly injector: FaultInjector;
  readonly dice: (name: string) => Dice;
}

/** A span in which a node had no agent. Milliseconds of true time. */
export interface NoAgentSpan {
  readonly node: string;
  readonly removedMs: number;
  /** From then on the node may count as NoAgent, also for uses that ended after the agent went. */
  readonly fromMs: number;
  readonly toMs: number;
}

/** Milliseconds of true time. */
const WATCH_DELAY_MS = 30;
const SLEWED = { source: "monotonic", driftPpm: 100_000 } as const;

/** Nodes, claims, pods, an API server, and Mooring in between. */
export class World {
  readonly engine: Engine;
  readonly injector: FaultInjector;
  readonly tempo: Tempo;
  readonly truth: Truth;
  readonly cluster: Cluster;
  readonly windows: Windows;
  readonly nodes: readonly SimNode[];
  readonly replicas: readonly Replica[];
  /** The mode of the installed policies, and of the aggregators' setting. */
  readonly protection: ProtectionMode;
  /** The machine of the aggregators. */
  readonly control: SimMachine;
  /** Errors of the simulation itself. */
  readonly bugs: unknown[] = [];
  /** UIDs of claims that were unmounted under running pods: when such a use ended is open to interpretation. */
  readonly unclear = new Set<string>();
  /** By UID of a claim: how often another client has forged its status. */
  readonly forged = new Map<string, number>();
  /** UIDs of pods whose volumes an administrator unmounted while they ran. */
  readonly unmountedBehind = new Set<string>();
  /** Nodes that are out of service. */
  readonly outOfService = new Set<string>();
  /** Crash sites at which a process dies, after `skip` visits. */
  readonly crashPoints: { readonly site: string; skip: number }[] = [];
  /** Spans in which nodes counted, or may have counted, as NoAgent. */
  withoutAgent: readonly NoAgentSpan[];
  readonly rejections: Rejections;
  readonly copies: Copies;
  readonly apiClocks: ApiClocks;
  readonly backups: Backups;
  /** When each process ran without faults. */
  readonly health: Health;
  /** Spans in which an administrator declared a node gone. */
  #declaredGone: readonly { readonly node: string; readonly fromMs: number; readonly toMs: number }[] = [];
  readonly #dice: WorldParts["dice"];
  #touches = 0;

  constructor({ engine, injector, dice }: WorldParts, setup: Setup) {
    const { scheduler, api } = engine;
    this.engine = engine;
    this.injector = injector;
    this.tempo = TEMPOS[setup.tempo];
    this.#dice = dice;
    this.truth = new Truth(scheduler.nowMs);
    this.windows = new Windows(scheduler);
    this.copies = new Copies({ dice: dice("copies"), after: scheduler.after });
    this.apiClocks = new ApiClocks(api.servers, scheduler.nowMs);
    this.health = new Health(scheduler.nowMs);
    this.backups = new Backups(this);
    this.backups.onRestored(watchLease(engine.api, (identity) => this.#onLease(identity)));
    this.withoutAgent = setup.nodes.flatMap(({ hasAgent }, index) => {
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
        scheduler.after(WATCH_DELAY_MS, () => this.#onPods());
      // A replica changes no pod, except for the leader's label.
      const isLabel =
        resource === "pods" && by !== undefined && object.metadata.labels?.["mooring.dev/role"] === "leader";
      if (isLabel) this.copies.onLeader();
    });
  }

  /** The new holder may be none of the replicas. */
  #onLease(identity: string): void {
    const isReplica = this.replicas.some(({ name }) => identity.startsWith(`${name}_`));
    this.health.lead(isReplica ? identity : "");
  }

  /** The replica that the Service leads to. */
  get leader(): Replica | undefined {
    const pod = this.engine.api.list("pods").find(isLeader);
    return this.replicas.find(({ name }) => name === pod?.metadata.name);
  }

  /** `index` counts modulo the number of nodes. */
  node(index: number): SimNode {
    const node = this.nodes[index % this.nodes.length];
    if (node === undefined) throw new Error("a world without nodes");
    return node;
  }

  /** The first server gives creation times. */
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

  /** Controllers and kubelets see the changed pods. */
  #onPods(): void {
    this.cluster.claims.collect();
    this.#makeEphemeralClaims();
    this.rejections.owners.sync();
    this.syncKubelets();
  }

  syncKubelets(): void {
    for (const node of this.nodes) node.kubelet.sync();
  }

  /** The ephemeral volume controller, unless a claim of that name exists already. */
  #makeEphemeralClaims(): void {
    for (const { name, uid, volumes } of this.cluster.pods.there) {
      for (const volume of volumes) {
        const claim = volume.by === "ephemeral" ? `${name}-${volume.name}` : undefined;
        if (claim === undefined || this.cluster.claims.get(claim) !== undefined) continue;
        this.cluster.claims.create({ name: claim, kind: "csi", owner: { name, uid } });
      }
    }
  }

  /** The node has no agent for this long. After a while the status of its pods counts instead. */
  noteNoAgent(node: string, forMs: number): void {
    const fromMs = this.now + 0.9 * this.tempo.limits.noAgentAfterMs;
    const toMs = this.now + forMs;
    if (toMs > fromMs) this.withoutAgent = [...this.withoutAgent, { node, removedMs: this.now, fromMs, toMs }];
  }

  /** An administrator declares the node gone for this long. It may count as gone until it reports again. */
  noteDeclaredGone(node: string, forMs: number): void {
    this.#declaredGone = [
      ...this.#declaredGone,
      { node, fromMs: this.now, toMs: this.now + forMs + this.tempo.limits.nodeStaleAfterMs },
    ];
  }

  /** Whether a use may have counted as ended together with its node. */
  wasDeclaredGone({ node, beganAt, endedAt = this.now }: Pick<Use, "node" | "beganAt" | "endedAt">): boolean {
    return this.#declaredGone.some((one) => one.node === node && one.fromMs <= endedAt && one.toMs >= beganAt);
  }

  /** Returns true where the process dies. */
  readonly mayCrash = ({ site, phase }: SiteVisit): boolean => {
    const crashPoint = this.crashPoints.find((one) => one.site === `${site}/${phase}`);
    if (crashPoint === undefined) return false;
    crashPoint.skip -= 1;
    if (crashPoint.skip >= 0) return false;
    this.crashPoints.splice(this.crashPoints.indexOf(crashPoint), 1);
    return true;
  };

  /** Another client changes the claim, so that the server refuses a write that was decided on the state before. */
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

  /** The pod garbage collector removes the pods of a node that is gone or out of service. */
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

  /** All faults end, and everything runs again. */
  heal(): void {
    this.windows.closeAll();
    this.injector.clear();
    this.crashPoints.length = 0;
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

/**
 * Calls `onChange` whenever the Lease of the aggregators has another holder or none. Returns a function that checks the Lease where no
 * event shows the change.
 */
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
