import type { AgentConfig } from "../../../agent/config.ts";
import { createMemoryJournal } from "../../../agent/sinks/journal.ts";
import { formatMicroTime } from "../../../common/runtime/micro-time.ts";
import { AGENT_CONFIG } from "../engine/configs.ts";
import type { Engine } from "../engine/engine.ts";
import type { KernelTable } from "../engine/kernel.ts";
import type { SimMachine } from "../engine/machine.ts";
import type { SimProcess } from "../engine/process.ts";
import type { AffinitySetup } from "../plan/step.ts";
import type { Tempo } from "../plan/tempo.ts";
import type { Truth } from "../truth.ts";
import type { Cluster } from "./cluster.ts";
import type { Dice } from "./dice.ts";
import { Disk } from "./disk.ts";
import type { Health } from "./health.ts";
import { Kubelet } from "./kubelet.ts";
import { foreignMounts, tokenMount } from "./kubelet-paths.ts";
import { MountTable } from "./mount-table.ts";
import { AGENTS, agentPodObject } from "./objects.ts";
import { Power } from "./power.ts";
import { ScanLog } from "./scan-log.ts";
import { type KernelKind, type ReadDamage, readTable } from "./table-read.ts";

interface NodeParts {
  readonly engine: Engine;
  readonly cluster: Cluster;
  readonly truth: Truth;
  readonly tempo: Tempo;
  readonly health: Health;
  readonly dice: Dice;
  /** Runs a task in the background; an error in it ends the simulation. */
  readonly start: (work: Promise<void>) => void;
  /** Whether its agent fails pods whose volumes exclude the node. */
  readonly isEnforcing: boolean;
  readonly affinity: AffinitySetup | undefined;
}

interface NodeOptions {
  readonly name: string;
  readonly machine: SimMachine;
  readonly kernel: KernelKind;
  readonly root: string;
  /** Its agent has no journal that outlives it. */
  readonly isForgetful: boolean;
}

/** Milliseconds of true time. */
const HEARTBEAT_MS = 10_000;
/** For how long a node has been in the cluster when its world begins: a pod that is bound in the Node's first second is not judged. */
const JOINED_AGO_MS = 3_600_000;
const WATCH_MS = 30;
/** Duration of a scan before and after the moment that it shows. A duration of zero needs no event. */
export const USUAL_READ_MS = [0.4, 0] as const;

/** A machine with its kernel, its kubelet, its disk and its agent. */
export class SimNode {
  readonly name: string;
  readonly machine: SimMachine;
  readonly power: Power;
  readonly kubelet: Kubelet;
  readonly disk: Disk;
  readonly root: string;
  /** Damage of the next scans of the mount table, one entry each. */
  damage: ReadDamage[] = [];
  /** Duration of a scan before and after the moment that it shows. Milliseconds of true time. */
  readMs: readonly [number, number] = USUAL_READ_MS;
  readonly scans = new ScanLog();
  #agent: SimProcess | undefined;
  readonly #parts: NodeParts;
  readonly #kernel: KernelKind;
  readonly #isForgetful: boolean;
  #table: MountTable;
  #agentPod: { readonly name: string; readonly uid: string } | undefined;
  #agentPods = 0;

  constructor(parts: NodeParts, { name, machine, kernel, root, isForgetful }: NodeOptions) {
    const { scheduler } = parts.engine;
    this.name = name;
    this.machine = machine;
    this.root = root;
    this.#parts = parts;
    this.#kernel = kernel;
    this.#isForgetful = isForgetful;
    this.power = new Power(scheduler);
    this.disk = new Disk(scheduler);
    parts.health.down(`agent-${name}`);
    if (isForgetful) this.disk.isSound = false;
    this.#table = this.#newTable();
    const own = { node: name, root, power: this.power, bootId: machine.bootId, table: () => this.#table };
    this.kubelet = new Kubelet({ ...parts, ...own });
    parts.cluster.register(name, machine.bootId(), JOINED_AGO_MS);
    this.#heartbeat();
  }

  get agent(): SimProcess | undefined {
    return this.#agent;
  }

  set agent(agent: SimProcess | undefined) {
    this.#agent = agent;
    this.#parts.health[agent === undefined ? "down" : "up"](`agent-${this.name}`);
  }

  get table(): MountTable {
    return this.#table;
  }

  /** UID of the agent's pod; undefined without one. */
  get agentPodUid(): string | undefined {
    return this.#agentPod?.uid;
  }

  #newTable(): MountTable {
    const table = new MountTable(this.#parts.engine.scheduler.nowMs);
    for (const mount of foreignMounts(this.root)) table.mount(mount);
    return table;
  }

  /** The kubelet sees a change of its pods. */
  notice(): void {
    this.#parts.engine.scheduler.after(WATCH_MS, () => this.kubelet.sync());
  }

  thaw(): void {
    // A suspended machine stays suspended until it resumes, whatever else ends meanwhile.
    if (this.machine.isSuspended()) return;
    this.power.thaw();
    this.kubelet.sync();
    this.startAgent();
  }

  suspend(): void {
    this.machine.suspend();
    this.#parts.health.down(`agent-${this.name}`);
    this.power.freeze();
  }

  resume(): void {
    if (!this.machine.isSuspended()) return;
    this.machine.resume();
    if (this.agent !== undefined) this.#parts.health.up(`agent-${this.name}`);
    this.thaw();
  }

  /** Restores a snapshot of the machine. The old agent process cannot come back: another one starts. Mounts stay. */
  putBack({ byMs, lostWrites }: { readonly byMs: number; readonly lostWrites: number }): void {
    if (!this.power.isOn || this.machine.isSuspended()) return;
    this.disk.loseLast(lostWrites);
    this.machine.goBack(byMs);
  }

  /** Everything that runs or is mounted ends; the disk may lack its last writes. */
  cutPower(lostWrites: number): void {
    if (!this.power.isOn) return;
    this.resume();
    this.power.cut();
    this.kubelet.forget();
    this.machine.powerOff();
    this.disk.loseLast(lostWrites);
    this.agent = undefined;
  }

  boot(): void {
    if (this.power.isOn) return;
    this.machine.powerOn();
    this.power.boot();
    this.#table = this.#newTable();
    const { signal } = this.power;
    this.#parts.engine.scheduler.after(this.#parts.tempo.bootMs, () => {
      if (!signal.aborted) this.#onBooted();
    });
  }

  #onBooted(): void {
    this.#parts.cluster.register(this.name, this.machine.bootId());
    this.#heartbeat();
    this.kubelet.sync();
    this.startAgent();
  }

  #heartbeat(): void {
    const { cluster, engine } = this.#parts;
    const { signal } = this.power;
    const isRunning = !this.power.isFrozen && !this.machine.isSuspended() && cluster.isReachableFrom(this.name);
    const { machine, name } = this;
    if (isRunning) cluster.statuses.heartbeat(name, machine.bootId(), formatMicroTime(machine.clock.wallMs()));
    engine.scheduler.after(HEARTBEAT_MS, () => {
      if (!signal.aborted) this.#heartbeat();
    });
  }

  /** Creates an agent pod on the node, beside the present one if there is one. */
  installAgent(): void {
    this.#agentPods += 1;
    const name = `agent-${this.name}-${this.#agentPods}`;
    const { uid } = this.#parts.engine.api.create("pods", agentPodObject(name, this.name)).metadata;
    this.#agentPod = { name, uid };
    this.startAgent();
  }

  /** The agent process shuts down, and its pod is deleted. */
  removeAgent(): void {
    const pod = this.#agentPod;
    if (pod === undefined) return;
    this.#agentPod = undefined;
    this.agent?.stop();
    this.agent = undefined;
    this.#parts.engine.api.delete({ resource: "pods", namespace: AGENTS, name: pod.name });
    const { table } = this;
    this.#parts.engine.scheduler.after(this.#parts.tempo.agentStartMs, () =>
      table.unmount(tokenMount(this.root, pod.uid)),
    );
  }

  /** A rollout with surge: the old agent pod goes once the new one runs, so that the node has two for a while. */
  surgeAgent(): void {
    const [old, pod] = [this.agent, this.#agentPod];
    if (pod === undefined) return;
    this.agent = undefined;
    this.installAgent();
    const { engine } = this.#parts;
    engine.scheduler.after(2 * this.#parts.tempo.agentStartMs, () => {
      old?.stop();
      engine.api.delete({ resource: "pods", namespace: AGENTS, name: pod.name });
    });
  }

  /** The kubelet starts the agent's container, and restarts it whenever it ends. */
  startAgent(): void {
    const pod = this.#agentPod;
    if (pod === undefined || this.agent !== undefined || !this.power.isOn) return;
    // Nothing starts while the machine or its kubelet is stopped; the kubelet returns to it later.
    if (this.power.isFrozen) return;
    const point = tokenMount(this.root, pod.uid);
    if (!this.#table.isMounted(point)) this.#table.mount({ point, fsType: "tmpfs", source: "tmpfs" });
    const { engine } = this.#parts;
    const started: { agent: SimProcess | undefined } = { agent: undefined };
    const agent = engine.startAgent({
      machine: this.machine,
      node: this.name,
      podUid: pod.uid,
      table: this.#kernelTable(started),
      journal: this.#isForgetful
        ? createMemoryJournal()
        : this.disk.journal({ isAlive: () => started.agent === undefined || isAlive(started.agent) }),
      config: agentConfig(this.#parts),
    });
    started.agent = agent;
    this.agent = agent;
    agent.onEnd(() => {
      if (this.agent !== agent) return;
      this.agent = undefined;
      const { signal } = this.power;
      engine.scheduler.after(this.#parts.tempo.agentStartMs, () => {
        if (!signal.aborted) this.startAgent();
      });
    });
  }

  #kernelTable(agent: unknown): KernelTable {
    const table = this.#table;
    const { dice, engine } = this.#parts;
    const { scheduler } = engine;
    return {
      needsAgreement: this.#kernel === "line-count",
      readMs: () => this.readMs,
      text: (windowMs) => {
        const damage = this.damage.shift();
        this.scans.note({ agent, atMs: scheduler.nowMs(), isDamaged: damage !== undefined });
        return readTable(table, { kernel: this.#kernel, dice, windowMs, damage, root: this.root });
      },
      onChange: (listener) => table.onChange(listener),
    };
  }
}

function agentConfig({ tempo, isEnforcing, affinity: more }: NodeParts): Partial<AgentConfig> {
  const graceMs = Math.round(AGENT_CONFIG.affinity.graceMs / tempo.quickness);
  const affinity = { ...AGENT_CONFIG.affinity, ...more, mode: "enforce", graceMs } as const;
  return { heartbeatMs: tempo.heartbeatMs, ...(isEnforcing && { affinity }) };
}

function isAlive(process: SimProcess): boolean {
  return process.state() === "running" || process.state() === "paused";
}
