import type { Pod } from "../../../aggregator/core/cluster-objects.ts";
import { nextGap } from "../../../aggregator/core/watch-history.ts";
import type { AgentGap, UnmountRecord } from "../../../common/storage/node-report.ts";
import type { Harness } from "./harness.ts";
import { mountedVolumeOf, nodeWith, podWith, reportWith } from "./world.ts";

/** What really happened: one pod's mount of the claim. Milliseconds of the wall clock. */
export interface TrueUse {
  readonly podUid: string;
  readonly node: GapNode;
  unmountedAt: number | undefined;
}

/** A machine whose agent keeps a journal, and comes and goes. */
export class GapNode {
  readonly name: string;
  readonly mounts = new Set<string>();
  isAgentUp = true;
  /** The end of the newest scan that the aggregator has accepted. */
  toldUntil = 0;
  boot = 1;
  bootedAt: number;
  mountedVolumes = new Map<string, number>();
  unmountRecords: UnmountRecord[] = [];
  agentGaps: AgentGap[] = [];
  lastRead: number | undefined;
  instance = 1;

  constructor(name: string, nowMs: number) {
    this.name = name;
    this.bootedAt = nowMs - 600_000;
  }

  get bootId(): string {
    return `boot-${this.boot}`;
  }

  /** What an agent that watches reads whenever anything changes. */
  read(nowMs: number): void {
    if (!this.isAgentUp) return;
    const stamp = nowMs - this.bootedAt;
    if (this.lastRead === undefined) this.agentGaps = [{ to: stamp }];
    for (const [podUid, after] of this.mountedVolumes)
      if (!this.mounts.has(podUid)) this.#unmountRecord(podUid, { after, by: stamp });
    for (const podUid of this.mounts) this.mountedVolumes.set(podUid, stamp);
    this.lastRead = stamp;
  }

  #unmountRecord(podUid: string, span: { readonly after?: number; readonly by: number }): void {
    this.mountedVolumes.delete(podUid);
    const volume = { by: "name", name: "pv-1" } as const;
    this.unmountRecords = [
      ...this.unmountRecords,
      { id: `${this.bootId}/${span.by}/${podUid}`, volume, podUid, ...span },
    ];
  }

  /** The agent comes back with its journal. */
  comeBack(nowMs: number): void {
    if (this.isAgentUp) return;
    this.isAgentUp = true;
    this.instance += 1;
    const [from, to] = [this.lastRead, nowMs - this.bootedAt];
    if (from !== undefined) this.agentGaps = [...this.agentGaps, { from, to }].slice(-16);
    this.read(nowMs);
  }

  /** Whatever the journal knows of ended by the time of the boot. */
  reboot(nowMs: number): void {
    this.mounts.clear();
    this.boot += 1;
    this.bootedAt = nowMs;
    for (const podUid of [...this.mountedVolumes.keys()]) this.#unmountRecord(podUid, { by: 0 });
    this.lastRead = undefined;
    this.instance += 1;
  }
}

/** Nodes, the pods of one claim, and an aggregator: either may be away at any time. */
export class GapWorld {
  readonly uses: TrueUse[] = [];
  readonly nodes: readonly GapNode[];
  readonly #harness: Harness;
  readonly #pods = new Map<string, Pod>();
  #version = 1_000;
  #awaySince: number | undefined;

  constructor(harness: Harness, names: readonly string[]) {
    this.#harness = harness;
    this.nodes = names.map((name) => new GapNode(name, this.#now));
  }

  get #now(): number {
    return this.#harness.clock.wallMs();
  }

  get isAggregatorUp(): boolean {
    return this.#awaySince === undefined;
  }

  at(index: number): GapNode {
    const node = this.nodes[index % this.nodes.length];
    if (node === undefined) throw new Error("no nodes");
    return node;
  }

  async begin(): Promise<void> {
    for (const node of this.nodes) {
      await this.#tell({
        ...podWith({ uid: `agent-${node.name}`, key: `mooring/agent-${node.name}` }),
        node: node.name,
        claims: [],
        isAgent: true,
      });
      node.read(this.#now);
      await this.report(node);
    }
  }

  /** A pod comes, and what it wants is mounted. */
  async use(node: GapNode): Promise<void> {
    const uid = `pod-${this.#version}`;
    const createdAtMs = Math.floor(this.#now / 1000) * 1000;
    await this.#tell(podWith({ key: `shop/${uid}`, uid, node: node.name, createdAtMs }));
    node.mounts.add(uid);
    this.uses.push({ podUid: uid, node, unmountedAt: undefined });
    node.read(this.#now);
  }

  unmount(use: TrueUse): void {
    if (use.unmountedAt !== undefined) return;
    use.node.mounts.delete(use.podUid);
    use.unmountedAt = this.#now;
    use.node.read(this.#now);
  }

  /** The pod's object goes, whether it has let go of its volume or not. */
  async removePod({ podUid, node }: TrueUse): Promise<void> {
    if (!this.#pods.delete(podUid)) return;
    this.#version += 1;
    if (this.isAggregatorUp) await this.#harness.removePod(podUid, String(this.#version));
    node.read(this.#now);
  }

  async #tell(pod: Pod): Promise<void> {
    this.#version += 1;
    const told = { ...pod, resourceVersion: String(this.#version) };
    this.#pods.set(pod.uid, told);
    if (this.isAggregatorUp) await this.#harness.putPod(told);
  }

  /** The agent reads, and what it says arrives unless the aggregator is away. */
  async report(node: GapNode): Promise<void> {
    node.read(this.#now);
    const { name, bootId, agentGaps, lastRead, instance, mountedVolumes, unmountRecords, bootedAt } = node;
    if (!node.isAgentUp || !this.isAggregatorUp || lastRead === undefined) return;
    const sentAt = this.#now - bootedAt;
    const forget = await this.#harness.report(
      reportWith({
        ...{ node: name, bootId, instance: `run-${instance}`, generation: this.#version, sentAt, unmountRecords },
        ...{ scan: { beganAt: lastRead, endedAt: lastRead }, agentGaps, observedSince: agentGaps.at(-1)?.to ?? 0 },
        ...{
          mountedVolumes: [...mountedVolumes.keys()].map((uid) => mountedVolumeOf(uid)),
          podsResourceVersion: String(this.#version),
        },
      }),
    );
    if (forget === undefined) return;
    node.toldUntil = bootedAt + lastRead;
    node.unmountRecords = unmountRecords.filter(({ id }) => !forget.includes(id));
  }

  async reboot(node: GapNode): Promise<void> {
    for (const use of this.uses) if (use.node === node) use.unmountedAt ??= this.#now;
    node.reboot(this.#now);
    await this.#syncNode(node);
  }

  async #syncNode(node: GapNode): Promise<void> {
    const object = nodeWith(node.name, node.bootId);
    if (this.isAggregatorUp) await this.#harness.putNode(object);
    else this.#harness.cluster.nodes.set(node.name, object);
  }

  async leave(): Promise<void> {
    if (!this.isAggregatorUp) return;
    this.#awaySince = this.#now;
    await this.#harness.stop();
  }

  /** An aggregator starts that lists what is there, and knows since when no replica watched. */
  async comeBack(): Promise<void> {
    if (this.#awaySince === undefined) return;
    const gap = { fromMs: this.#awaySince, toMs: this.#now, leasesAt: undefined };
    this.#harness.gap = nextGap(this.#harness.gap, gap);
    this.#awaySince = undefined;
    this.#harness.cluster.pods.clear();
    for (const pod of this.#pods.values()) this.#harness.cluster.pods.set(pod.uid, pod);
    await this.#harness.restart();
  }

  /** All use ends as things are, then everybody comes back and tells. */
  async calm(): Promise<void> {
    for (const use of this.uses) {
      this.unmount(use);
      await this.removePod(use);
    }
    await this.#harness.clock.advance(1_500);
    await this.comeBack();
    for (let round = 0; round < 3; round += 1) {
      await this.#harness.advance(4_000);
      for (const node of this.nodes) {
        node.comeBack(this.#now);
        await this.report(node);
      }
    }
    await this.#harness.advance(4_000);
  }
}
