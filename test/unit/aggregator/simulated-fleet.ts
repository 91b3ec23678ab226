import type { Pod } from "../../../aggregator/core/cluster-objects.ts";
import type { NodeReport, Release } from "../../../common/storage/node-report.ts";
import type { Harness } from "./harness.ts";
import { holdOf, podWith } from "./world.ts";

/** What really happened: one pod's mount. Times are the true wall clock. */
export interface Use {
  readonly podUid: string;
  unmountedAt: number | undefined;
  /** An accepted report told of it. */
  isKnown: boolean;
  /** A read of an agent showed it. */
  isRead: boolean;
}

interface Agent {
  readonly instance: string;
  readonly holds: Map<string, number>;
  releases: Release[];
  generation: number;
  read: NodeReport["read"] | undefined;
  observedSince: number;
  reached: number;
}

interface SimNode {
  readonly name: string;
  boot: number;
  bootedAt: number;
  /** Pods whose volume is mounted now. */
  readonly mounts: Set<string>;
  /** The pod watch of its agents has come so far. */
  seen: number;
  agent: Agent;
}

interface Message {
  readonly report: NodeReport;
  readonly sentAt: number;
}

/** A boot clock's second is off by so much at most; it is off by just that, on each node in another direction. */
const DRIFT = 200e-6;

/** Nodes, their agents, the pods of one claim and the messages between them: a little of everything that can go wrong. */
export class SimulatedFleet {
  readonly uses = new Map<string, Use>();
  readonly #harness: Harness;
  readonly #nodes: SimNode[];
  readonly #pods = new Map<string, Pod>();
  /** What the API server's watch of pods tells, in its order. */
  readonly #events: { readonly version: number; readonly uid: string; readonly pod: Pod | undefined }[] = [];
  #watched = 0;
  #inFlight: Message[] = [];
  #version = 1_000;
  #instances = 0;
  /** The longest that an accepted report was on its way. */
  transitMs = 0;

  constructor(harness: Harness, names: readonly string[]) {
    this.#harness = harness;
    this.#nodes = names.map((name) => ({
      name,
      boot: 1,
      bootedAt: this.#now - 3_600_000,
      mounts: new Set(),
      seen: this.#version,
      agent: this.#newAgent(),
    }));
  }

  get #now(): number {
    return this.#harness.clock.wallMs();
  }

  #newAgent(): Agent {
    this.#instances += 1;
    return {
      instance: `run-${this.#instances}`,
      holds: new Map(),
      releases: [],
      generation: 0,
      read: undefined,
      observedSince: 0,
      reached: 0,
    };
  }

  #at(index: number): SimNode {
    const node = this.#nodes[index % this.#nodes.length];
    if (node === undefined) throw new Error("no nodes");
    return node;
  }

  #stamp({ name, bootedAt }: SimNode): number {
    const drift = name.endsWith("1") ? -DRIFT : DRIFT;
    return (this.#now - bootedAt) * (1 + drift);
  }

  #pick(index: number, pick: number, which: (pod: Pod) => boolean): Pod | undefined {
    const { name } = this.#at(index);
    const found = [...this.#pods.values()].filter((pod) => pod.node === name && which(pod));
    return found[pick % Math.max(1, found.length)];
  }

  #tell(uid: string, pod: Pod | undefined): void {
    this.#version += 1;
    const told = pod && { ...pod, resourceVersion: String(this.#version) };
    this.#events.push({ version: this.#version, uid, pod: told });
    if (told === undefined) this.#pods.delete(uid);
    else this.#pods.set(uid, told);
  }

  /** A pod comes, and what it wants is mounted at once. */
  use(index: number): void {
    const uid = this.create(index);
    this.#begin(this.#at(index), uid);
    const pod = this.#pods.get(uid);
    if (pod !== undefined) this.#tell(uid, { ...pod, hasStarted: true });
  }

  /** A mount ends, its pod is deleted, and the aggregator hears of it. */
  async end(index: number, pick: number): Promise<void> {
    const node = this.#at(index);
    const uid = [...node.mounts][pick % Math.max(1, node.mounts.size)];
    if (uid === undefined) return;
    this.#end(node, uid);
    if (this.#pods.has(uid)) this.#tell(uid, undefined);
    await this.watch(this.#events.length);
  }

  /** An agent that has seen all that its pods did reads and reports; the report arrives at once, or stays on its way. */
  async look(index: number, { arrives, lost }: { readonly arrives: boolean; readonly lost: boolean }): Promise<void> {
    this.read(index, this.#version);
    this.send(index);
    if (arrives) await this.deliver(this.#inFlight.length - 1, { again: false, lost });
  }

  create(index: number): string {
    const uid = `pod-${this.#version}`;
    this.#tell(uid, podWith({ key: `shop/${uid}`, uid, node: this.#at(index).name, hasStarted: false }));
    return uid;
  }

  mount(index: number, pick: number): void {
    const pod = this.#pick(index, pick, ({ uid, isTerminal }) => !isTerminal && !this.uses.has(uid));
    if (pod !== undefined) this.#begin(this.#at(index), pod.uid);
  }

  #begin({ mounts }: SimNode, podUid: string): void {
    this.uses.set(podUid, { podUid, unmountedAt: undefined, isKnown: false, isRead: false });
    mounts.add(podUid);
  }

  begin(index: number, pick: number): void {
    const { mounts } = this.#at(index);
    const pod = this.#pick(index, pick, ({ uid, isTerminal }) => !isTerminal && mounts.has(uid));
    if (pod !== undefined) this.#tell(pod.uid, { ...pod, hasStarted: true });
  }

  unmount(index: number, pick: number): void {
    const { mounts } = this.#at(index);
    const uid = [...mounts][pick % Math.max(1, mounts.size)];
    if (uid !== undefined) this.#end(this.#at(index), uid);
  }

  #end({ mounts }: SimNode, uid: string): void {
    const use = this.uses.get(uid);
    mounts.delete(uid);
    if (use !== undefined) use.unmountedAt = this.#now;
  }

  finish(index: number, pick: number): void {
    const pod = this.#pick(index, pick, ({ isTerminal }) => !isTerminal);
    if (pod !== undefined) this.#tell(pod.uid, { ...pod, isTerminal: true });
  }

  remove(index: number, pick: number): void {
    const pod = this.#pick(index, pick, () => true);
    if (pod !== undefined) this.#tell(pod.uid, undefined);
  }

  /** The agent of a node reads the mount table; its pod watch had come to some event before. */
  read(index: number, pick: number): void {
    const node = this.#at(index);
    node.seen = Math.min(this.#version, node.seen + pick);
    const beganAt = this.#stamp(node);
    this.#harness.clock.pass(2);
    const endedAt = this.#stamp(node);
    const { agent } = node;
    const gone = [...agent.holds].filter(([uid]) => !node.mounts.has(uid));
    const released = gone.map(([podUid, after]) => ({
      id: `boot-${node.boot}/${endedAt}/${podUid}`,
      volume: { by: "name", name: "pv-1" } as const,
      podUid,
      after,
      by: endedAt,
    }));
    for (const [uid] of gone) agent.holds.delete(uid);
    for (const uid of node.mounts) {
      agent.holds.set(uid, beganAt);
      const use = this.uses.get(uid);
      if (use !== undefined) use.isRead = true;
    }
    agent.releases = [...agent.releases, ...released];
    agent.generation += 1;
    if (agent.read === undefined) agent.observedSince = endedAt;
    agent.read = { beganAt, endedAt };
    agent.reached = node.seen;
  }

  send(index: number): void {
    const node = this.#at(index);
    const { instance, generation, read, observedSince, holds, releases, reached } = node.agent;
    if (read === undefined) return;
    const report: NodeReport = {
      version: 1,
      node: node.name,
      bootId: `boot-${node.boot}`,
      podUid: "agent",
      instance,
      generation,
      driftPpm: DRIFT * 1e6,
      sentAt: this.#stamp(node),
      read,
      observedSince,
      podsResourceVersion: String(reached),
      holds: [...holds.keys()].map((uid) => holdOf(uid)),
      releases: [...releases],
    };
    this.#inFlight.push({ report, sentAt: this.#now });
  }

  /** Any of the messages comes through; it may come again, and its answer may be lost. */
  async deliver(pick: number, { again, lost }: { readonly again: boolean; readonly lost: boolean }): Promise<void> {
    const message = this.#inFlight[pick % Math.max(1, this.#inFlight.length)];
    if (message === undefined) return;
    if (!again) this.#inFlight = this.#inFlight.filter((one) => one !== message);
    const { report, sentAt } = message;
    const receipt = { atMs: this.#now + this.#harness.aheadMs, widthMs: 1_000 };
    const forget = await this.#harness.report(report, receipt);
    if (forget === undefined) return;
    this.transitMs = Math.max(this.transitMs, this.#now - sentAt);
    for (const { podUid } of [...report.holds, ...report.releases]) {
      const use = this.uses.get(podUid ?? "");
      if (use !== undefined) use.isKnown = true;
    }
    const agent = this.#nodes.find(({ name }) => name === report.node)?.agent;
    if (lost || agent?.instance !== report.instance) return;
    agent.releases = agent.releases.filter(({ id }) => !forget.includes(id));
  }

  /** The aggregator's watch shows up to so many further events of pods. */
  async watch(count: number): Promise<void> {
    for (const { version, uid, pod } of this.#events.slice(this.#watched, this.#watched + count)) {
      this.#watched += 1;
      if (pod === undefined) await this.#harness.removePod(uid, String(version));
      else await this.#harness.putPod(pod);
    }
  }

  restartAgent(index: number): void {
    this.#at(index).agent = this.#newAgent();
  }

  reboot(index: number): void {
    const node = this.#at(index);
    for (const uid of [...node.mounts]) this.#end(node, uid);
    this.#harness.clock.pass(20);
    node.boot += 1;
    node.bootedAt = this.#now;
    node.agent = this.#newAgent();
  }

  /** The aggregator hears of the boot that a node is in. */
  syncNode(index: number): void {
    const { name, boot } = this.#at(index);
    this.#harness.cluster.nodes.set(name, { key: name, uid: name, bootId: `boot-${boot}` });
  }

  /** The aggregator's process ends and starts again; it lists what is there now. */
  async restartAggregator(): Promise<void> {
    this.#harness.cluster.pods.clear();
    for (const pod of this.#pods.values()) this.#harness.cluster.pods.set(pod.uid, pod);
    this.#watched = this.#events.length;
    // A connection does not outlive the process at its end.
    this.#inFlight = [];
    await this.#harness.restart();
  }

  /** All use ends, and everything that is on its way arrives. */
  async finishAll(): Promise<void> {
    for (const [index, node] of this.#nodes.entries()) {
      for (const uid of [...node.mounts]) this.#end(node, uid);
      for (const { uid } of [...this.#pods.values()].filter((pod) => pod.node === node.name))
        this.#tell(uid, undefined);
      this.syncNode(index);
    }
    await this.#harness.advance(1_000);
    await this.watch(this.#events.length);
    for (let round = 0; round < 3; round += 1) {
      for (const index of this.#nodes.keys()) {
        this.read(index, this.#version);
        this.send(index);
      }
      while (this.#inFlight.length > 0) await this.deliver(round, { again: false, lost: false });
      await this.#harness.catchUp();
      await this.#harness.advance(60_000);
    }
  }
}
