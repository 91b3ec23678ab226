import { describeExit } from "../rig/process/child.ts";
import { HarnessError } from "../rig/process/errors.ts";
import { fileOf, type MooringProgram } from "../rig/process/mooring-program.ts";
import type { Owner } from "../rig/process/owner.ts";
import { waitUntil } from "../rig/process/wait.ts";
import type { Span } from "./record.ts";

const START_LIMIT_MS = 60_000;
const POLL_MS = 100;
const RESTART_MS = 1_000;

/** A process that is killed and restarted, and the spans in which it was up. */
export interface KillableProcess {
  readonly name: string;
  /** It runs; `uptimes` says whether it answers, too. */
  readonly isRunning: () => boolean;
  readonly start: () => Promise<void>;
  /** SIGKILL; returns the time of the signal, by the wall clock. */
  readonly kill: () => Promise<number>;
  /** The last span ends at the time of the call. */
  readonly uptimes: () => readonly Span[];
  /** Waits until it is up. */
  readonly up: () => Promise<void>;
}

/** Records the spans in which a process was up. */
export class UptimeLog {
  readonly #now: () => number;
  readonly #uptimes: Span[] = [];
  #sinceMs: number | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  get isUp(): boolean {
    return this.#sinceMs !== undefined;
  }

  begin(): void {
    this.#sinceMs ??= this.#now();
  }

  end(): void {
    if (this.#sinceMs !== undefined) this.#uptimes.push({ fromMs: this.#sinceMs, toMs: this.#now() });
    this.#sinceMs = undefined;
  }

  uptimes(): readonly Span[] {
    return this.#sinceMs === undefined
      ? this.#uptimes
      : [...this.#uptimes, { fromMs: this.#sinceMs, toMs: this.#now() }];
  }
}

/** A program of Mooring. */
export interface ProgramSpec {
  readonly name: string;
  readonly program: MooringProgram;
  readonly args: readonly string[];
  /** The health endpoint: the process counts as up once it answers with success. */
  readonly health: string;
}

/** Creates a program; the caller starts it. */
export function createProgram(owner: Owner, { name, program, args, health }: ProgramSpec): KillableProcess {
  const { clock, signal } = owner;
  const child = owner.child({ name, command: process.execPath, args: [fileOf(program), ...args], stopLimitMs: 3_000 });
  const log = new UptimeLog(clock.wallMs);
  /** Polls until the process is up, or this run of it has ended. */
  const follow = async (pid: number | undefined): Promise<void> => {
    while (child.pid === pid && pid !== undefined && !signal.aborted) {
      const isUp = await fetch(health).then(
        ({ ok }) => ok,
        () => false,
      );
      if (isUp && child.pid === pid) return log.begin();
      await clock.sleep(POLL_MS, signal);
    }
  };
  const start = async (): Promise<void> => {
    if (child.pid !== undefined || signal.aborted) return;
    await child.start();
    void follow(child.pid);
    void child.exited.then(async (exit) => {
      log.end();
      if (exit.signal === "SIGKILL" || signal.aborted) return;
      // A kubelet restarts it. An unplanned exit is printed.
      owner.say(`${name} ended by itself with ${describeExit(exit)}:\n${child.tail(5)}`);
      await clock.sleep(RESTART_MS, signal);
      await start();
    });
  };
  return {
    name,
    isRunning: () => child.pid !== undefined,
    start,
    kill: async () => {
      log.end();
      const atMs = clock.wallMs();
      await child.kill();
      return atMs;
    },
    uptimes: () => log.uptimes(),
    up: () => waitUntil(owner, { what: name, limitMs: START_LIMIT_MS, child, check: () => requireUp(log) }),
  };
}

async function requireUp(log: UptimeLog): Promise<void> {
  if (!log.isUp) throw new HarnessError("it does not answer");
}
