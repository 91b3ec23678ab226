import type { RouteAnswer } from "../../../common/runtime/http-answer.ts";
import type { RouteCall } from "../../../common/runtime/http-server.ts";
import type { SimMachine } from "./machine.ts";
import type { Cancel, Scheduler } from "./scheduler.ts";
import type { CrashSites, Phase, SiteVisit } from "./sites.ts";

/** What a process is doing: `ended` in good order, `crashed` by a kill, `failed` by an error that nobody caught, which is a bug. */
export type ProcessState = "running" | "paused" | "ended" | "crashed" | "failed";

/** The real agent or the real aggregator, with ports that die with it. */
export interface SimProcess {
  readonly name: string;
  readonly role: Role;
  readonly machine: SimMachine;
  readonly state: () => ProcessState;
  /** What a `failed` one threw. */
  readonly failure: () => unknown;
  /** kill -9: from now on nothing that it does has any effect, and nothing reaches it. */
  readonly crash: () => void;
  /** SIGTERM: it ends in its own time. */
  readonly stop: () => void;
  /** SIGSTOP and SIGCONT: clocks go on, and what comes meanwhile waits for it. */
  readonly pause: () => void;
  readonly resume: () => void;
  /** Told once, when it is no longer there, in whatever way. */
  readonly onEnd: (listener: (state: ProcessState) => void) => void;
  /** A request to its HTTP server from outside, such as `/readyz?verbose`; nothing while it does not listen. Waits for a paused one. */
  readonly get: (target: string) => Promise<{ readonly status: number; readonly body: string } | undefined>;
}

export type Role = "agent" | "aggregator" | "provisioner" | "keeper";

/** What answers at an address. */
export type Router = (call: RouteCall) => Promise<RouteAnswer>;

interface LifeParts {
  readonly scheduler: Scheduler;
  readonly machine: SimMachine;
  readonly sites: CrashSites;
  readonly mayCrash: (visit: SiteVisit) => boolean;
}

/**
 * The thread that a process hangs by. Every call of a port goes through it, and so does everything that comes back: once it is cut,
 * promises that were asked for stay unsettled, so that nothing of the process goes on, and all of it can be collected.
 */
export class Life {
  readonly name: string;
  readonly role: Role;
  readonly machine: SimMachine;
  readonly terminated = new AbortController();
  /** What it has open: timers, connections. Each is called off when it is no longer there. */
  readonly open = new Set<Cancel>();
  /** Its HTTP servers, in the order in which they were opened. */
  readonly routers: Router[] = [];
  failure: unknown;
  readonly #parts: LifeParts;
  readonly #listeners: ((state: ProcessState) => void)[] = [];
  readonly #detach: Cancel;
  #state: ProcessState = "running";
  /** What came while it stood still, and has not been taken yet. */
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

  /** True when the process goes on after this place: it is alive, and does not die here. */
  survives(site: string, phase: Phase): boolean {
    if (!this.isAlive) return false;
    const { sites, mayCrash } = this.#parts;
    sites.visit(site, phase);
    if (!mayCrash({ process: this.name, site, phase })) return true;
    sites.crash(site, phase);
    this.end("crashed");
    return false;
  }

  /** Does what reaches the process from outside: now, when it can take it, or never. */
  deliver(act: () => void): void {
    if (!this.isAlive) return;
    // What came before it comes first.
    if (this.#isStill || this.#waiting.length > 0) this.#waiting.push(act);
    else act();
  }

  /** A call of a port: what it is asked to do is done if the process is alive, and the answer comes if it still is. */
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

  /** When it first began to stand still after a moment, on its monotonic clock; infinity when it did not. */
  stoodStillAfter(ms: number): number {
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

  /** Lets what is left of a process that is no longer there come to its ends, all of them without effect, to be collected. */
  bury(): void {
    this.end("crashed");
    this.terminated.abort("over");
  }

  get #isStill(): boolean {
    return this.#state === "paused" || this.machine.isSuspended();
  }

  /** What waited comes in turns, as the event loop has it: each may be the last, or make the process stand still again. */
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

/** A promise of a process that is no longer there: made anew each time, so that nothing hangs on to another's. */
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
