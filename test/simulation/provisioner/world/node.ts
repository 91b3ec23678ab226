import { INTERNAL_ERROR } from "../../../../common/runtime/internal-errors.ts";
import { readProvisionerCommand } from "../../../../provisioner/config.ts";
import type { Keeper as KeeperLink } from "../../../../provisioner/core/keeper.ts";
import { createKeeper } from "../../../../provisioner/keeper/keeper.ts";
import { decodeReply, decodeRequest, type KeeperRequest } from "../../../../provisioner/protocol.ts";
import { runProvisioner } from "../../../../provisioner/provisioner.ts";
import type { Engine } from "../../engine/engine.ts";
import type { SimMachine } from "../../engine/machine.ts";
import { type Life, never, type SimProcess } from "../../engine/process.ts";
import type { Dice } from "../../world/dice.ts";
import { Disk } from "../node/disk.ts";
import { keeperPorts } from "../node/keeper-ports.ts";
import { NodeKernel, type Place } from "../node/kernel.ts";
import type { Judge } from "./judge.ts";

export const RESERVE_PERCENT = 20;
export const LINKS = "/run/mooring/volumes";
const DEADLINE_MS = 60_000;
const MIB = 2 ** 20;

export interface NodeSetup {
  /** The disk of each pool; the first disk is the node's own, which keeps a fifth free. */
  readonly pools: readonly { readonly name: string; readonly disk: number }[];
  readonly diskMib: readonly number[];
}

/** Answers a request line; undefined while no keeper runs. */
type KeeperEndpoint = (line: string) => Promise<string>;

/** A node: its disks, its kernel, and the two processes of the provisioner. */
export class ProvisionerNode {
  readonly name: string;
  readonly machine: SimMachine;
  readonly disks: readonly Disk[];
  readonly setup: NodeSetup;
  kernel: NodeKernel;
  /** Requests to the keeper are slow or lost for a while. */
  fault: "none" | "slow" | "lost" = "none";
  isAway = new Set<string>();
  readonly processes = new Map<string, SimProcess>();
  readonly #parts: { readonly engine: Engine; readonly judge: Judge; readonly dice: Dice };
  readonly #endpoints = new Map<string, KeeperEndpoint>();
  #upSinceMs = Number.NEGATIVE_INFINITY;
  #ids = 0;

  constructor(
    name: string,
    setup: NodeSetup,
    parts: { readonly engine: Engine; readonly judge: Judge; readonly dice: Dice },
  ) {
    this.name = name;
    this.setup = setup;
    this.#parts = parts;
    this.machine = parts.engine.machine({ name });
    this.disks = setup.diskMib.map((mib, index) => new Disk(index + 1, mib * MIB));
    this.kernel = new NodeKernel(this.places());
  }

  /** The place of each pool. An absent pool is an empty folder on the node's own disk. */
  places(): Map<string, Place> {
    const [root] = this.disks;
    return new Map(
      this.setup.pools.flatMap(({ name, disk }): [string, Place][] => {
        const own = this.disks[disk];
        if (own === undefined || root === undefined) return [];
        if (this.isAway.has(name)) return [[name, { disk: root, folder: `under-${name}`, isMount: false }]];
        return [[name, { disk: own, folder: name, isMount: disk > 0 }]];
      }),
    );
  }

  /** It is up, and its disks have been unchanged for this long. */
  isSteady(ms: number): boolean {
    return this.machine.isUp() && this.#parts.engine.scheduler.nowMs() - this.#upSinceMs >= ms;
  }

  reserveOf(pool: string): number {
    const place = this.kernel.pools.get(pool);
    return place === undefined || place.isMount ? 0 : Math.ceil((place.disk.bytes * RESERVE_PERCENT) / 100);
  }

  start(): void {
    this.startKeeper("");
    this.startProvisioner("");
  }

  /** `suffix` distinguishes the second keeper during an update from the first. */
  startKeeper(suffix: string): void {
    const name = `keeper-${this.name}${suffix}`;
    const { engine, judge, dice } = this.#parts;
    const { kernel } = this;
    const podUid = "11111111-0000-4000-8000-000000000001";
    const process = engine.start({ name, role: "keeper", machine: this.machine }, async (ports, life, signal) => {
      const node = keeperPorts({
        ...{ scheduler: engine.scheduler, life, kernel, dice, podUid },
        witness: {
          onErase: (inode, file) =>
            judge.onErase(inode, file, { kernel, node: this.name, nowMs: engine.scheduler.nowMs() }),
          onBegin: (place, pool) =>
            judge.onBegin(place, {
              ...{ pool, node: this.name, nowMs: engine.scheduler.nowMs() },
              volumes: engine.api.list("persistentvolumes"),
            }),
          onAllocated: (disk, pool) => judge.onAllocated(disk, this.reserveOf(pool), engine.scheduler.nowMs()),
        },
      });
      const errors = {
        note: (_: string, error: unknown) => ports.logger.error({ err: error }, INTERNAL_ERROR),
        ...{ clear: () => {}, clearAll: () => {}, attempt: <T>(_: string, work: () => T) => work() },
        attemptInSteps: () => {
          throw new Error("the keeper has no steps");
        },
      };
      const random = { fraction: () => dice.fraction(), id: () => this.#newId() };
      const pools = this.setup.pools.map((pool) => ({ name: pool.name, path: `/pools/${pool.name}` }));
      const keeper = createKeeper(
        { ...node, random, logger: ports.logger, errors },
        { pools, reservePercent: RESERVE_PERCENT, links: LINKS, podUid },
      );
      this.#endpoints.set(name, (line) => this.#answer(life, line, keeper.answer));
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    });
    this.#keep(name, process, () => this.startKeeper(suffix));
    process.onEnd(() => this.#endpoints.delete(name));
  }

  startProvisioner(suffix: string): void {
    const name = `provisioner-${this.name}${suffix}`;
    const { engine } = this.#parts;
    const command = readProvisionerCommand({ argv: ["--node", this.name, "--namespace", "mooring"], env: {} });
    if (command.kind !== "run") throw new Error("the provisioner's defaults are no configuration");
    const process = engine.start({ name, role: "provisioner", machine: this.machine }, (ports, life, signal) =>
      runProvisioner(command.config, { ...ports, keeper: this.#link(life) }, signal),
    );
    this.#keep(name, process, () => this.startProvisioner(suffix));
  }

  /** Stops the processes with this suffix, which are left from an update. */
  dismiss(suffix: string): void {
    for (const role of ["keeper", "provisioner"]) {
      const process = this.processes.get(`${role}-${this.name}${suffix}`);
      this.processes.delete(`${role}-${this.name}${suffix}`);
      process?.crash();
    }
  }

  powerOff(isClean: boolean): void {
    if (!this.machine.isUp()) return;
    for (const disk of this.disks) {
      if (isClean) disk.flush();
      else disk.cut(this.#parts.dice);
    }
    this.processes.clear();
    this.machine.powerOff();
  }

  powerOn(): void {
    if (this.machine.isUp()) return;
    for (const disk of this.disks) disk.held.clear();
    this.kernel = new NodeKernel(this.places());
    this.#upSinceMs = this.#parts.engine.scheduler.nowMs();
    this.machine.powerOn();
    this.start();
  }

  #newId(): string {
    this.#ids += 1;
    return `aaaaaaaa-0000-4000-8000-${this.name.slice(-1).padStart(4, "0")}${String(this.#ids).padStart(8, "0")}`;
  }

  /** The kubelet restarts it. */
  #keep(name: string, process: SimProcess, again: () => void): void {
    this.processes.set(name, process);
    process.onEnd((state) => {
      if (state === "failed") this.#parts.judge.fail("bug", `${name} failed: ${String(process.failure())}`);
      if (this.processes.get(name) !== process) return;
      this.#parts.engine.scheduler.after(this.#parts.dice.between(50, 2_000), () => {
        if (this.machine.isUp() && this.processes.get(name) === process) again();
      });
    });
  }

  #answer(life: Life, line: string, answer: (request: KeeperRequest) => Promise<object>): Promise<string> {
    return new Promise((resolve) =>
      life.deliver(() => {
        const request = decodeRequest(line);
        if (request.verb === "invalid") return this.#parts.judge.fail("bug", `the keeper was asked ${line}`);
        void answer(request).then((reply) => {
          if (life.isAlive) resolve(JSON.stringify(reply));
        });
      }),
    );
  }

  #link(life: Life): KeeperLink {
    return {
      ask: (request, signal) => {
        const site = `ask ${request.verb}`;
        if (!life.survives(site, "before")) return never();
        const { promise, resolve } = Promise.withResolvers<string | undefined>();
        this.#send(life, JSON.stringify(request), { resolve, signal });
        life.survives(site, "sent");
        return promise.then((line) => {
          const reply = line === undefined ? undefined : decodeReply(request.verb, line);
          return reply ?? { ok: false, code: "keeper-away", message: "no reply from the keeper" };
        });
      },
    };
  }

  #send(
    life: Life,
    line: string,
    { resolve, signal }: { readonly resolve: (line: string | undefined) => void; readonly signal: AbortSignal },
  ): void {
    const { engine, dice } = this.#parts;
    let isOver = false;
    const end = (reply: string | undefined): void => {
      if (isOver) return;
      isOver = true;
      cancel();
      life.open.delete(cancel);
      signal.removeEventListener("abort", giveUp);
      life.deliver(() => {
        if (life.survives("keeper's reply", "after")) resolve(reply);
      });
    };
    const giveUp = (): void => end(undefined);
    const cancel = life.machine.timer(DEADLINE_MS, giveUp);
    life.open.add(cancel);
    signal.addEventListener("abort", giveUp);
    const wayMs = (): number => (this.fault === "slow" ? dice.between(1, 70_000) : 2 * dice.fraction());
    const isLost = (): boolean => this.fault === "lost" && dice.chance(0.5);
    // A connection leads to one keeper, and does not outlive it.
    const [name, endpoint] = [...this.#endpoints].at(-1) ?? [];
    if (name === undefined || endpoint === undefined) {
      engine.scheduler.after(0, giveUp);
      return;
    }
    this.processes.get(name)?.onEnd(() => engine.scheduler.after(0, giveUp));
    if (isLost()) return;
    engine.scheduler.after(wayMs(), () => {
      if (this.#endpoints.get(name) !== endpoint) return;
      void endpoint(line).then((reply) => {
        if (!isLost()) engine.scheduler.after(wayMs(), () => end(reply));
      });
    });
  }
}
