import type { RouteAnswer } from "../../../common/runtime/http-answer.ts";
import type { RouteCall } from "../../../common/runtime/http-server.ts";
import type { SimMachine } from "./machine.ts";
import type { Cancel, Scheduler } from "./scheduler.ts";
import type { CrashSites, Phase, SiteVisit } from "./sites.ts";

/** State of a process: `ended` in good order, `crashed` by a kill, or `failed` by an uncaught error, which is a bug. */
export type ProcessState = "running" | "paused" | "ended" | "crashed" | "failed";

/** The real agent or the real aggregator, on ports that die with it. */
export interface SimProcess {
  readonly name: string;
  readonly role: Role;
  readonly machine: SimMachine;
  readonly state: () => ProcessState;
  /** The error of a `failed` process. */
  readonly failure: () => unknown;
  /** kill -9: from now on the process has no effect, and nothing reaches it. */
  readonly crash: () => void;
  /** SIGTERM: the process shuts down by itself. */
  readonly stop: () => void;
  /** SIGSTOP and SIGCONT: clocks continue, and everything that arrives waits for the process. */
  readonly pause: () => void;
  readonly resume: () => void;
  /** Calls the listener once, when the process is gone for any reason. */
  readonly onEnd: (listener: (state: ProcessState) => void) => void;
  /** A request to its HTTP server, such as `/readyz?verbose`; undefined while it does not listen. It waits for a paused process. */
  readonly get: (target: string) => Promise<{ readonly status: number; readonly body: string } | undefined>;
}

export type Role = "agent" | "aggregator" | "provisioner" | "keeper";

/** Answers requests at an address. */
export type Router = (call: RouteCall) => Promise<RouteAnswer>;

interface LifeParts {
  readonly scheduler: Scheduler;
  readonly machine: SimMachine;
  readonly sites: CrashSites;
  readonly mayCrash: (visit: SiteVisit) => boolean;
}

/**
 * The lifetime of a process. Every call of a port and every answer passes through it. Once it has ended, pending promises stay unsettled:
 * no code of the process runs any more, and everything can be collected.
 */
export class Life {
  readonly name: string;
  readonly role: Role;
  readonly machine: SimMachine;
  readonly terminated = new AbortController();
  /** Its open timers and connections. The end of the process cancels them. */
  readonly open = new Set<Cancel>();
  /** Its HTTP servers, in the order in which they opened. */
  readonly routers: Router[] = [];
  failure: unknown;
  readonly #parts: LifeParts;
  readonly #listeners: ((state: ProcessState) => void)[] = [];
  readonly #detach: Cancel;
  #state: ProcessState = "running";
  /** What arrived during a pause and still waits. */
  readonly #waiting: (() => void)[] = [];
  #isGoingOn = false;
  readonly #pauses: number[] = [];

  constructor(name: string, role: Role, parts: LifeParts) {
    this.name = name;
    this.role = role;
    this.machine = parts.machine;
    this.#parts = parts;
    this.#detach = this.machine.attach({ onPowerOff: () => this.end("crashed"), onResume: () => this.#goOn() });
  }

  get state(): ProcessState {
    return this.#state;
  }

  get isAlive(): boolean {
    return this.#state === "running" || this.#state === "paused";
  }

  /** True when the process survives this crash site: it is alive, and does not die here. */
  survives(site: string, phase: Phase): boolean {
    if (!this.isAlive) return false;
    const { sites, mayCrash } = this.#parts;
    sites.visit(site, phase);
    if (!mayCrash({ process: this.name, site, phase })) return true;
    sites.crash(site, phase);
    this.end("crashed");
    return false;
  }

  /** Delivers something to the process: now, after its pause, or never. */
  deliver(act: () => void): void {
    if (!this.isAlive) return;
    // Deliveries keep their order.
    if (this.#isStill || this.#waiting.length > 0) this.#waiting.push(act);
    else act();
  }

  /** A call of a port: it takes effect if the process is alive, and the answer arrives if the process still is. */
  call<T>(site: string, act: () => Promise<T>): Promise<T> {
    if (!this.survives(site, "before")) return never();
    const answer = act();
    return new Promise((resolve, reject) => {
      const after = (settle: () => void): void =>
        this.deliver(() => {
          if (this.survives(site, "after")) settle();
        });
      answer.then(
        (value) => after(() => resolve(value)),
        (error: unknown) => after(() => reject(error)),
      );
    });
  }

  sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      if (!this.isAlive) return;
      if (signal?.aborted) return resolve();
      const wake = (): void => {
        cancel();
        this.open.delete(cancel);
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      const ring = (): void => {
        if (this.survives("timer", "after")) wake();
      };
      const cancel = this.machine.timer(ms, () => this.deliver(ring));
      this.open.add(cancel);
      signal?.addEventListener("abort", wake);
    });
  }

  pause(): void {
    if (this.#state !== "running") return;
    this.#state = "paused";
    this.#pauses.push(this.machine.clock.monotonicMs());
  }

  /** When the process was first paused after a moment, on its monotonic clock; infinity when it was not. */
  pausedAfter(ms: number): number {
    return this.#pauses.find((at) => at >= ms) ?? Number.POSITIVE_INFINITY;
  }

  resume(): void {
    if (this.#state !== "paused") return;
    this.#state = "running";
    this.#goOn();
  }

  onEnd(listener: (state: ProcessState) => void): void {
    if (this.isAlive) this.#listeners.push(listener);
    else listener(this.#state);
  }

  end(state: "ended" | "crashed" | "failed"): void {
    if (!this.isAlive) return;
    this.#state = state;
    this.#waiting.length = 0;
    this.routers.length = 0;
    for (const cancel of this.open) cancel();
    this.open.clear();
    this.#detach();
    for (const listener of this.#listeners.splice(0)) listener(state);
  }

  /** Unwinds the pending promises of a dead process without effect, so that it can be collected. */
  unwind(): void {
    this.end("crashed");
    this.terminated.abort("over");
  }

  get #isStill(): boolean {
    return this.#state === "paused" || this.machine.isSuspended();
  }

  /** Delivers what waited, one event-loop turn each: any delivery may end or pause the process again. */
  #goOn(): void {
    if (this.#waiting.length === 0 || this.#isGoingOn) return;
    this.#isGoingOn = true;
    this.#parts.scheduler.after(0, () => {
      this.#isGoingOn = false;
      if (this.#isStill) return;
      const act = this.#waiting.shift();
      act?.();
      this.#goOn();
    });
  }
}

/** A promise for a dead process. Each call makes a new one, so that none keeps another alive. */
export function never<T>(): Promise<T> {
  return new Promise(() => {});
}

/** Runs `main` as a process until it ends, fails or is killed. */
export function startProcess(life: Life, main: (signal: AbortSignal) => Promise<void>): SimProcess {
  main(life.terminated.signal).then(
    () => life.end("ended"),
    (error: unknown) => {
      if (!life.isAlive) return;
      life.failure = error;
      life.end("failed");
    },
  );
  return {
    name: life.name,
    role: life.role,
    machine: life.machine,
    state: () => life.state,
    failure: () => life.failure,
    crash: () => life.end("crashed"),
    stop: () => life.deliver(() => life.terminated.abort()),
    pause: () => life.pause(),
    resume: () => life.resume(),
    onEnd: (listener) => life.onEnd(listener),
    get: (target) => ask(life, target),
  };
}

async function ask(life: Life, target: string): Promise<RouteAnswer | undefined> {
  const [router] = life.routers;
  if (router === undefined) return undefined;
  return await new Promise((resolve) => {
    life.onEnd(() => resolve(undefined));
    life.deliver(() => void router({ method: "GET", target, body: async () => "" }).then(resolve));
  });
}
