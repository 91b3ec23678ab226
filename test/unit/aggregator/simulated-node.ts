import type { Node } from "../../../aggregator/core/cluster-objects.ts";
import type { ClockSample, NodeReport, UnmountRecord } from "../../../common/storage/node-report.ts";
import type { FakeClock } from "../../fakes/clock.ts";
import { mountedVolumeOf, nodeWith } from "./world.ts";

/** A boot clock's second is off by so much at most; it is off by just that, on each node in another direction. */
export const DRIFT = 200e-6;

/** The handle of the volume, and of another one that is nobody's business here. */
export const CSI = { driver: "csi.example", handleHash: "a".repeat(64) } as const;

/** One run of an agent: what it has read, and what it has still to tell. */
interface Agent {
  readonly instance: string;
  readonly mountedVolumes: Map<string, { seenAt: number; readonly since: number }>;
  unmountRecords: readonly UnmountRecord[];
  /** The last answer, if there was one. */
  clockSamples: readonly ClockSample[];
  /** The last scan showed the staging mount. */
  isStaged: boolean;
  generation: number;
  scan: NodeReport["scan"] | undefined;
  observedSince: number;
  reached: number;
}

/** All of a machine at a moment, as a hypervisor keeps it. */
interface Snapshot {
  readonly boot: number;
  readonly atMs: number;
  readonly mounts: readonly string[];
  readonly isStaged: boolean;
  readonly agent: Agent | undefined;
}

/** A machine with its mount table, its agent and what the API says of it. */
export class SimulatedNode {
  readonly name: string;
  /** Pods whose volume is mounted now. */
  readonly mounts = new Set<string>();
  /** The device is mounted for the pods' mounts to be made from; that stays for a while after the last of them. */
  isStaged = false;
  /** The pod watch of its agents has come so far. */
  seen: number;
  agent: Agent | undefined;
  boot = 1;
  readonly #clock: FakeClock;
  #bootedAt: number;
  #snapshot: Snapshot | undefined;
  #runs = 0;
  #objects = 1;

  constructor(name: string, { clock, seen }: { readonly clock: FakeClock; readonly seen: number }) {
    this.name = name;
    this.seen = seen;
    this.#clock = clock;
    this.#bootedAt = clock.wallMs() - 3_600_000;
    this.startAgent();
  }

  startAgent(): void {
    this.#runs += 1;
    this.agent = {
      instance: `run-${this.name}-${this.#runs}`,
      mountedVolumes: new Map(),
      unmountRecords: [],
      clockSamples: [],
      isStaged: false,
      generation: 0,
      scan: undefined,
      observedSince: 0,
      reached: 0,
    };
  }

  /** The machine starts anew; what was mounted is not. An agent that belongs there starts with it. */
  reboot(): void {
    this.mounts.clear();
    this.isStaged = false;
    this.#clock.pass(20);
    this.boot += 1;
    this.#bootedAt = this.#clock.wallMs();
    if (this.agent !== undefined) this.startAgent();
  }

  /** What the machine is now can be put back later. */
  takeSnapshot(): void {
    const { boot, mounts, isStaged, agent } = this;
    const copy = agent && { ...agent, mountedVolumes: new Map(agent.mountedVolumes) };
    this.#snapshot = { boot, atMs: this.#clock.wallMs() - this.#bootedAt, mounts: [...mounts], isStaged, agent: copy };
  }

  /** Puts the last snapshot of this boot back, clock and agent and all, if there is one. */
  putBack(): boolean {
    const snapshot = this.#snapshot;
    if (snapshot?.boot !== this.boot) return false;
    this.mounts.clear();
    for (const uid of snapshot.mounts) this.mounts.add(uid);
    this.isStaged = snapshot.isStaged;
    this.#bootedAt = this.#clock.wallMs() - snapshot.atMs;
    this.agent = snapshot.agent && { ...snapshot.agent, mountedVolumes: new Map(snapshot.agent.mountedVolumes) };
    return true;
  }

  /** Its Node object as the kubelet keeps it. */
  object(fields: Partial<Node> = {}): Node {
    return {
      ...nodeWith(this.name, `boot-${this.boot}`),
      uid: `${this.name}-${this.#objects}`,
      isReady: true,
      ...fields,
    };
  }

  /** The same after the object was deleted and made again. */
  newObject(): Node {
    this.#objects += 1;
    return this.object();
  }

  #stamp(): number {
    return (this.#clock.wallMs() - this.#bootedAt) * (1 + (this.name.endsWith("1") ? -DRIFT : DRIFT));
  }

  /** The agent reads the mount table after its pod watch had come to an event. Answers the pods that the scan showed. */
  read(version: number): readonly string[] {
    const { agent } = this;
    if (agent === undefined) return [];
    this.seen = Math.max(this.seen, version);
    const beganAt = this.#stamp();
    this.#clock.pass(2);
    const endedAt = this.#stamp();
    const gone = [...agent.mountedVolumes].filter(([uid]) => !this.mounts.has(uid));
    const released = gone.map(([podUid, { seenAt: after }]) => ({
      id: `boot-${this.boot}/${endedAt}/${podUid}`,
      volume: { by: "name", name: "pv-1" } as const,
      podUid,
      after,
      by: endedAt,
    }));
    for (const [uid] of gone) agent.mountedVolumes.delete(uid);
    for (const uid of this.mounts) {
      agent.mountedVolumes.set(uid, { seenAt: beganAt, since: agent.mountedVolumes.get(uid)?.since ?? endedAt });
    }
    agent.unmountRecords = [...agent.unmountRecords, ...released];
    agent.isStaged = this.isStaged;
    agent.generation += 1;
    if (agent.scan === undefined) agent.observedSince = endedAt;
    agent.scan = { beganAt, endedAt };
    agent.reached = this.seen;
    return [...this.mounts];
  }

  /** What the agent would send now; nothing before its first scan. */
  report(): NodeReport | undefined {
    const { agent } = this;
    if (agent?.scan === undefined) return undefined;
    const { instance, generation, scan, observedSince, unmountRecords, clockSamples, reached } = agent;
    const uses = [...agent.mountedVolumes].map(([uid, { since }]) => ({ ...mountedVolumeOf(uid), since }));
    return {
      version: 1,
      node: this.name,
      bootId: `boot-${this.boot}`,
      podUid: "agent",
      instance,
      generation,
      driftPpm: DRIFT * 1e6,
      sentAt: this.#stamp(),
      scan,
      observedSince,
      agentGaps: [{ to: observedSince }],
      podsResourceVersion: String(reached),
      clockSamples: [...clockSamples],
      mountedVolumes: agent.isStaged
        ? [...uses, { kind: "staging", volume: { by: "handle", ...CSI }, since: 0 }]
        : uses,
      unmountRecords: [...unmountRecords],
    };
  }

  /** The answer to a report of this agent run has come; `nowMs` is what it says of the API server's clock. */
  hear(instance: string, { forget, nowMs }: { readonly forget: readonly string[]; readonly nowMs: number }): void {
    const { agent } = this;
    if (agent?.instance !== instance) return;
    agent.unmountRecords = agent.unmountRecords.filter(({ id }) => !forget.includes(id));
    agent.clockSamples = [{ at: this.#stamp(), ms: nowMs }];
  }
}
