import { Elector } from "../../../../common/kube/elector.ts";
import type { Lease, LeaseChange, LeaseStore, LeaseWrite } from "../../../../common/kube/lease.ts";
import type { Clock } from "../../../../common/runtime/clock.ts";
import { MooringError } from "../../../../common/runtime/errors.ts";
import { createFakeClock, type FakeClock, settle } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createFakeRandom } from "../../../fakes/random.ts";

/** What becomes of one request to the API server, in milliseconds of true time. */
export interface Passage {
  /** Until the server does it; nothing when it never gets there. */
  readonly there: number | undefined;
  /** Until the answer is back; nothing when it is lost. */
  readonly back: number | undefined;
}

/** A process that takes part: how fast its clocks go, and what its requests meet, one after the other and then without a fault. */
export interface ProcessPlan {
  readonly rate: number;
  readonly passages: readonly Passage[];
}

/** What happens to a process, at a true time. */
export interface Incident {
  readonly atMs: number;
  readonly process: number;
  /** `stopped` and resumed like by SIGSTOP; `suspended` with its machine; `ended` by SIGTERM or `killed`, and started again. */
  readonly kind: "stopped" | "suspended" | "ended" | "killed";
  readonly forMs: number;
}

const TIMING = { durationMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 };
const CALM: Passage = { there: 5, back: 5 };

/** The one Lease, with the API server's optimistic concurrency. */
class LeaseServer {
  lease: Lease | undefined;
  #version = 0;

  write(known: Lease | undefined, change: LeaseChange): LeaseWrite {
    if (this.lease?.resourceVersion !== known?.resourceVersion) return { kind: "conflict" };
    this.#version += 1;
    const before = this.lease;
    this.lease = {
      uid: "lease-1",
      resourceVersion: String(this.#version),
      annotations: { ...before?.annotations, ...change.annotations },
      holder: change.holder,
      durationMs: change.durationMs,
      acquireTime: change.acquireTime ?? before?.acquireTime,
      renewTime: change.renewTime,
      transitions: change.transitions ?? before?.transitions ?? 0,
    };
    return { kind: "written", lease: this.lease };
  }
}

/** One run of a process: while it is paused nothing in it goes on, and answers wait for it. */
class SimulatedRun {
  readonly #elector: Elector;
  readonly #world: FakeClock;
  readonly #server: LeaseServer;
  readonly #plan: ProcessPlan;
  readonly #stop = new AbortController();
  #requests = 0;
  #resumed = Promise.resolve();
  #resume: (() => void) | undefined;
  #suspendedMs = 0;

  constructor(
    { world, server }: { readonly world: FakeClock; readonly server: LeaseServer },
    plan: ProcessPlan,
    { identity, seed }: { readonly identity: string; readonly seed: number },
  ) {
    this.#world = world;
    this.#server = server;
    this.#plan = plan;
    const clock = this.#clock();
    const parts = { clock, random: createFakeRandom(seed), logger: createFakeLogger(), leases: this.#store() };
    this.#elector = new Elector(parts, { identity, timing: TIMING, nowMs: () => world.wallMs() });
    const lead = async (_: unknown, signal: AbortSignal): Promise<void> => {
      while (!signal.aborted) await clock.sleep(60_000, signal);
    };
    void this.#elector.run(lead, this.#stop.signal);
  }

  get isPaused(): boolean {
    return this.#resume !== undefined;
  }

  /** The belief that a writer relies on. */
  get believes(): boolean {
    return !this.isPaused && this.#elector.mayAct();
  }

  pause(): void {
    this.#resumed = new Promise((resolve) => {
      this.#resume = resolve;
    });
  }

  /** Requests happen first; timers and answers come after that. */
  resume(suspendedMs: number): void {
    this.#suspendedMs += suspendedMs;
    const resume = this.#resume;
    this.#resume = undefined;
    resume?.();
  }

  end(): void {
    this.#stop.abort();
  }

  #clock(): Clock {
    const { rate } = this.#plan;
    return {
      wallMs: () => this.#world.wallMs(),
      monotonicMs: () => (this.#world.monotonicMs() - this.#suspendedMs) * rate,
      uptimeMs: () => this.#world.monotonicMs() * rate,
      processorMs: () => 0,
      rate: { source: "monotonic-raw", driftPpm: 200 },
      sleep: async (ms, signal) => {
        await this.#world.sleep(ms / rate, signal);
        await this.#resumed;
      },
    };
  }

  #store(): LeaseStore {
    return {
      read: (signal) => this.#ask(() => this.#server.lease, signal),
      create: (change, signal) => this.#ask(() => this.#server.write(undefined, change), signal),
      update: (lease, change, signal) => this.#ask(() => this.#server.write(lease, change), signal),
    };
  }

  /** A sent request arrives, also when its sender no longer waits for the answer. */
  #ask<T>(act: () => T, signal: AbortSignal): Promise<T> {
    const { there, back } = this.#plan.passages[this.#requests] ?? CALM;
    this.#requests += 1;
    return new Promise((resolve, reject) => {
      const giveUp = (): void => reject(new MooringError("transport-failed", "no answer"));
      if (signal.aborted) return giveUp();
      signal.addEventListener("abort", giveUp);
      if (there === undefined) return;
      const answered = async (): Promise<void> => {
        await this.#world.sleep(there);
        const result = act();
        if (back === undefined) return;
        await this.#world.sleep(back);
        await this.#resumed;
        resolve(result);
      };
      void answered();
    });
  }
}

/** Several processes, one Lease, and true time. */
export class SimulatedElection {
  readonly #world = createFakeClock();
  readonly #server = new LeaseServer();
  readonly #plans: readonly ProcessPlan[];
  /** The newest run of each process. */
  readonly #runs: SimulatedRun[];
  /** All but those that were killed, those that are about to end included. */
  readonly #alive = new Map<SimulatedRun, number>();
  readonly #begunAt = this.#world.monotonicMs();
  #started = 0;

  constructor(plans: readonly ProcessPlan[]) {
    this.#plans = plans;
    this.#runs = plans.map((plan, index) => this.#start(plan, index));
  }

  #start(plan: ProcessPlan, index: number): SimulatedRun {
    this.#started += 1;
    const seed = this.#started;
    const places = { world: this.#world, server: this.#server };
    const run = new SimulatedRun(places, plan, { identity: `process-${index}-${seed}`, seed });
    this.#alive.set(run, index);
    return run;
  }

  get nowMs(): number {
    return this.#world.monotonicMs() - this.#begunAt;
  }

  /** The processes that believe at this moment that they may act. */
  get believers(): readonly number[] {
    return [...this.#alive].flatMap(([run, index]) => (run.believes ? [index] : []));
  }

  async advance(ms: number): Promise<void> {
    await this.#world.advance(ms);
  }

  async begin({ process, kind }: Incident): Promise<void> {
    const run = this.#runs[process];
    if (run === undefined) return;
    if (kind === "ended") run.end();
    else run.pause();
    if (kind === "killed") this.#alive.delete(run);
    await settle();
  }

  /** `look` is called when the process is on again, before anything else in it goes on. */
  async finish({ process, kind, forMs }: Incident, look: () => void): Promise<void> {
    const [run, plan] = [this.#runs[process], this.#plans[process]];
    if (run === undefined || plan === undefined) return;
    // Of what its predecessor met, a new run knows nothing.
    if (kind === "ended" || kind === "killed") this.#runs[process] = this.#start({ ...plan, passages: [] }, process);
    else run.resume(kind === "suspended" ? forMs : 0);
    look();
    await settle();
  }
}
