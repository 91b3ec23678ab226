import type { Pod } from "../../../aggregator/core/cluster-objects.ts";
import type { NodeReport } from "../../../common/storage/node-report.ts";
import type { Harness } from "./harness.ts";
import { SimulatedNode } from "./simulated-node.ts";
import { podWith } from "./world.ts";

/** What really happened: one pod's mount. Times are the true wall clock. */
export interface Use {
  readonly podUid: string;
  readonly node: string;
  unmountedAt: number | undefined;
  /** An accepted report told of it. */
  isKnown: boolean;
  /** A read of an agent showed it. */
  isRead: boolean;
  /** No agent was there to tell, and none was expected: unless one tells later, the end of its pod is all that counts. */
  isUnpromised: boolean;
}

/** Nodes, their agents, the pods of one claim and the messages between them: a little of everything that can go wrong. */
export class SimulatedFleet {
  readonly uses = new Map<string, Use>();
  /** Pods that the watch has shown to the present run of the aggregator. */
  readonly shownPods = new Set<string>();
  readonly #harness: Harness;
  readonly #nodes: readonly SimulatedNode[];
  readonly #pods = new Map<string, Pod>();
  /** What the API server's watch of pods tells, in its order. */
  readonly #events: { readonly version: number; readonly uid: string; readonly pod: Pod | undefined }[] = [];
  #watched = 0;
  #inFlight: NodeReport[] = [];
  #version = 1_000;

  constructor(harness: Harness, names: readonly string[]) {
    this.#harness = harness;
    this.#nodes = names.map((name) => new SimulatedNode(name, { clock: harness.clock, seen: this.#version }));
  }

  async installAgents(): Promise<void> {
    for (const index of this.#nodes.keys()) await this.installAgent(index);
  }

  get #now(): number {
    return this.#harness.clock.wallMs();
  }

  #at(index: number): SimulatedNode {
    const node = this.#nodes[index % this.#nodes.length];
    if (node === undefined) throw new Error("no nodes");
    return node;
  }

  #pick(index: number, pick: number, which: (pod: Pod) => boolean): Pod | undefined {
    const { name } = this.#at(index);
    const ours = [...this.#pods.values()].filter((pod) => pod.node === name && pod.ephemeralClaims === undefined);
    const found = ours.filter(which);
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
    const node = this.#at(index).name;
    const createdAtMs = Math.floor(this.#now / 1000) * 1000;
    this.#tell(uid, podWith({ key: `shop/${uid}`, uid, node, hasStarted: false, createdAtMs }));
    return uid;
  }

  /** A pod whose ephemeral volume's claim would be called like the claim, which it does not control. It never mounts it. */
  createStranger(index: number): void {
    const uid = `stranger-${this.#version}`;
    const node = this.#at(index).name;
    this.#tell(uid, podWith({ key: `shop/${uid}`, uid, node, ephemeralClaims: ["data"] }));
  }

  /** The kubelet unmounts the device when no pod needs it any more. */
  unstage(index: number): void {
    const node = this.#at(index);
    if (node.mounts.size === 0) node.isStaged = false;
  }

  mount(index: number, pick: number): void {
    const pod = this.#pick(index, pick, ({ uid, isTerminal }) => !isTerminal && !this.uses.has(uid));
    if (pod !== undefined) this.#begin(this.#at(index), pod.uid);
  }

  #begin(on: SimulatedNode, podUid: string): void {
    on.isStaged = true;
    const use = { podUid, node: on.name, unmountedAt: undefined, isKnown: false, isRead: false, isUnpromised: false };
    this.uses.set(podUid, use);
    on.mounts.add(podUid);
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

  #end({ mounts }: SimulatedNode, uid: string): void {
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
    for (const uid of node.read(Math.min(this.#version, node.seen + pick))) {
      const use = this.uses.get(uid);
      if (use !== undefined) use.isRead = true;
    }
  }

  send(index: number): void {
    const report = this.#at(index).report();
    if (report !== undefined) this.#inFlight.push(report);
  }

  /** Any of the messages comes through; it may come again, and its answer may be lost. */
  async deliver(pick: number, { again, lost }: { readonly again: boolean; readonly lost: boolean }): Promise<void> {
    const report = this.#inFlight[pick % Math.max(1, this.#inFlight.length)];
    if (report === undefined) return;
    if (!again) this.#inFlight = this.#inFlight.filter((one) => one !== report);
    const receipt = { atMs: this.#now + this.#harness.aheadMs, widthMs: 1_000 };
    const forget = await this.#harness.report(report, receipt);
    if (forget === undefined) return;
    for (const { podUid } of [...report.mountedVolumes, ...report.unmountRecords]) {
      const use = this.uses.get(podUid ?? "");
      if (use !== undefined) use.isKnown = true;
    }
    const nowMs = receipt.atMs - receipt.widthMs;
    if (!lost) this.#nodes.find(({ name }) => name === report.node)?.hear(report.instance, { forget, nowMs });
  }

  /** The aggregator's watch shows up to so many further events of pods. */
  async watch(count: number): Promise<void> {
    for (const { version, uid, pod } of this.#events.slice(this.#watched, this.#watched + count)) {
      this.#watched += 1;
      this.shownPods.add(uid);
      if (pod === undefined) await this.#harness.removePod(uid, String(version));
      else await this.#harness.putPod(pod);
    }
  }

  restartAgent(index: number): void {
    const node = this.#at(index);
    if (node.agent !== undefined) node.startAgent();
  }

  reboot(index: number): void {
    const node = this.#at(index);
    for (const uid of [...node.mounts]) this.#end(node, uid);
    node.reboot();
  }

  takeSnapshot(index: number): void {
    this.#at(index).takeSnapshot();
  }

  /** The machine is what it was: what was mounted since is not, and what was unmounted since is mounted again. */
  putBack(index: number): void {
    const node = this.#at(index);
    const before = new Set(node.mounts);
    if (!node.putBack()) return;
    const restored = [...node.mounts].filter((uid) => !before.has(uid));
    for (const uid of before) if (!node.mounts.has(uid)) this.#end(node, uid);
    for (const uid of restored) {
      const use = this.uses.get(uid);
      // Whoever knew how it ended knows nothing of how it will.
      if (use !== undefined) Object.assign(use, { unmountedAt: undefined, isKnown: false, isRead: false });
    }
  }

  /** The kubelet tells the API of its boot, or that it is there, after its object was deleted, too. */
  async syncNode(index: number): Promise<void> {
    const node = this.#at(index);
    const isThere = this.#harness.cluster.nodes.has(node.name);
    await this.#harness.putNode(isThere ? node.object() : node.newObject());
  }

  async deleteNode(index: number): Promise<void> {
    await this.#harness.removeNode(this.#at(index).name);
  }

  /** Somebody vouches that the machine is off, which it need not be. */
  async giveUp(index: number): Promise<void> {
    await this.#harness.putNode(this.#at(index).object({ isOutOfService: true, isReady: false }));
  }

  /** The agent's pod leaves the node; whatever it had not told is lost with it. */
  async removeAgent(index: number): Promise<void> {
    const node = this.#at(index);
    node.agent = undefined;
    await this.#harness.removePod(`agent-${node.name}`, String(this.#version));
  }

  async installAgent(index: number): Promise<void> {
    const node = this.#at(index);
    if (node.agent === undefined) node.startAgent();
    const names = { key: `mooring/agent-${node.name}`, uid: `agent-${node.name}` };
    await this.#harness.putPod(podWith({ ...names, node: node.name, claims: [], isAgent: true }));
  }

  /** The API says that the volume is attached to this node, and to no other. */
  async attach(index: number | undefined): Promise<void> {
    await this.#harness.attach("pv-1", index === undefined ? [] : [this.#at(index).name]);
  }

  /** Notes of which uses nobody promises anything unless they are told of: their node is taken for NoAgent or gone. */
  noteUnpromised(): void {
    const { agentStates } = this.#harness;
    for (const use of this.uses.values()) {
      const isLost = agentStates.of(use.node).kind === "NoAgent" || agentStates.assumedEnd(use.node) !== undefined;
      if (isLost && !use.isKnown) use.isUnpromised = true;
    }
  }

  /** The aggregator's process ends and starts again; it lists what is there now. */
  async restartAggregator(): Promise<void> {
    const { pods } = this.#harness.cluster;
    for (const { uid, isAgent } of [...pods.values()]) if (isAgent !== true) pods.delete(uid);
    this.shownPods.clear();
    for (const pod of this.#pods.values()) {
      pods.set(pod.uid, pod);
      // One that was over by then is part of what is stored.
      if (!pod.isTerminal) this.shownPods.add(pod.uid);
    }
    this.#watched = this.#events.length;
    // A connection does not outlive the process at its end.
    this.#inFlight = [];
    await this.#harness.restart();
  }

  /** All use ends, and everything that is on its way arrives. */
  async finishAll(): Promise<void> {
    await this.installAgents();
    for (const [index, node] of this.#nodes.entries()) {
      for (const uid of [...node.mounts]) this.#end(node, uid);
      for (let pod = this.#pick(index, 0, () => true); pod !== undefined; pod = this.#pick(index, 0, () => true)) {
        this.#tell(pod.uid, undefined);
      }
      await this.syncNode(index);
    }
    await this.#harness.advance(1_000);
    await this.watch(this.#events.length);
    for (let round = 0; round < 6; round += 1) {
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
