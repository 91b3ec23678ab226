import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import type { Clock } from "../../../common/runtime/clock.ts";
import { HarnessError } from "./errors.ts";
import { identify, type ProcessTable } from "./identity.ts";
import { findProgram } from "./program.ts";
import { RUN_VARIABLE, recordChild } from "./run-folder.ts";

const STOP_LIMIT_MS = 10_000;
const DRAIN_LIMIT_MS = 300;
const TAIL_BYTES = 64 * 1024;

/** A program to run as a child of this process. */
export interface ChildSpec {
  /** Names the child in messages. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Added to this process's environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Takes standard output and standard error; `<name>.log` in the run folder unless told. */
  readonly logFile?: string;
  /** Takes each line of standard output and standard error, which then do not go to the log file. */
  readonly onLine?: (line: string) => void;
  /** How long SIGTERM is given before SIGKILL follows, in ms (10 s unless told). */
  readonly stopLimitMs?: number;
  /** At the end of the run it gets SIGKILL at once. */
  readonly isKilledAtEnd?: boolean;
}

/** How a process ended: by an exit code or by a signal. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** What a child needs of its run. */
export interface ChildSetting {
  readonly folder: string;
  readonly table: ProcessTable;
  readonly clock: Clock;
  /** Goes before the command, so that the kernel kills the child with this process; empty where there is no such program. */
  readonly prefix: readonly string[];
  /** Aborted when the run is over and nothing may start any more. */
  readonly signal: AbortSignal;
}

/** A child process of this run: it leads a process group of its own, and ends with the run. */
export class OwnedChild {
  readonly name: string;
  readonly logFile: string;
  readonly #setting: ChildSetting;
  #spec: ChildSpec;
  #process: ChildProcess | undefined;
  #exited: Promise<Exit> = Promise.resolve({ code: null, signal: null });
  #lines: string[] = [];

  constructor(setting: ChildSetting, spec: ChildSpec) {
    this.name = spec.name;
    this.logFile = spec.logFile ?? `${setting.folder}/${spec.name}.log`;
    this.#setting = setting;
    this.#spec = spec;
  }

  /** The process id, as long as it runs. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Resolves when the process that was started last has ended. */
  get exited(): Promise<Exit> {
    return this.#exited;
  }

  /** Starts the program; does nothing when it runs. Throws a HarnessError when the program cannot be started. */
  async start(): Promise<void> {
    if (this.#process !== undefined) return;
    if (this.#setting.signal.aborted) throw new HarnessError(`${this.name} does not start: the run is over`);
    if (findProgram(this.#spec.command) === undefined) throw new HarnessError(`no program ${this.#spec.command} here`);
    const child = this.#spawn();
    const failed = new Promise<never>((_, reject) => {
      child.once("error", (cause) => reject(new HarnessError(`cannot run ${this.#spec.command}: ${cause.message}`)));
    });
    await Promise.race([new Promise<void>((resolve) => child.once("spawn", resolve)), failed]);
  }

  /** Asks the process group to end by SIGTERM and kills it after the limit; returns when it is gone. */
  async stop(): Promise<void> {
    const abort = new AbortController();
    this.signal("SIGTERM");
    const limit = this.#setting.clock.sleep(this.#spec.stopLimitMs ?? STOP_LIMIT_MS, abort.signal);
    await Promise.race([this.#exited, limit]);
    abort.abort();
    await this.kill();
  }

  /** Kills the process group by SIGKILL; returns when the process is gone. */
  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.#exited;
  }

  /** Stops the program if it runs, and starts it; `change` replaces parts of how it is run. */
  async restart(change: Partial<ChildSpec> = {}): Promise<void> {
    await this.stop();
    this.#spec = { ...this.#spec, ...change };
    await this.start();
  }

  /** Sends a signal to the process group; nothing happens when the process has ended. */
  signal(signal: NodeJS.Signals): void {
    // Until the exit is seen here, the process is not reaped, so the id cannot belong to another group.
    if (this.#process?.pid === undefined) return;
    try {
      process.kill(-this.#process.pid, signal);
    } catch {
      // Between fork and setsid there is no group of this id yet; the process itself is there.
      this.#process.kill(signal);
    }
  }

  /** The last lines that the program wrote. */
  tail(count = 15): string {
    const lines = this.#spec.onLine === undefined ? readTail(this.logFile) : this.#lines;
    return lines.slice(-count).join("\n");
  }

  #spawn(): ChildProcess {
    const { folder, table, prefix } = this.#setting;
    const { command, args, env, cwd, onLine } = this.#spec;
    const [program = command, ...rest] = [...prefix, command, ...args];
    const log = onLine === undefined ? openSync(this.logFile, "a") : "pipe";
    const child = spawn(program, rest, {
      stdio: ["ignore", log, log],
      detached: true,
      env: { ...process.env, ...env, [RUN_VARIABLE]: folder },
      ...(cwd === undefined ? {} : { cwd }),
    });
    if (log !== "pipe") closeSync(log);
    for (const stream of [child.stdout, child.stderr]) if (stream !== null) this.#readLines(stream);
    const identity = child.pid === undefined ? undefined : identify(table, child.pid);
    if (identity !== undefined) recordChild(folder, identity);
    this.#follow(child);
    return child;
  }

  #follow(child: ChildProcess): void {
    this.#process = child;
    const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
    const ended = new Promise<Exit>((resolve) => {
      child.once("exit", (code, signal) => {
        this.#process = undefined;
        resolve({ code, signal });
      });
      child.once("error", () => {
        this.#process = undefined;
        resolve({ code: null, signal: null });
      });
    });
    this.#exited = ended.then(async (exit) => {
      await this.#drained(closed);
      return exit;
    });
  }

  /** Waits for the last lines, but not for a process that left the group and still holds the pipe. */
  async #drained(closed: Promise<void>): Promise<void> {
    const over = new AbortController();
    await Promise.race([closed, this.#setting.clock.sleep(DRAIN_LIMIT_MS, over.signal)]);
    over.abort();
  }

  #readLines(stream: Readable): void {
    createInterface({ input: stream }).on("line", (line) => {
      this.#lines = [...this.#lines.slice(-50), line];
      this.#spec.onLine?.(line);
    });
  }
}

/** `code 1` or `signal SIGKILL`. */
export function describeExit({ code, signal }: Exit): string {
  return signal === null ? `code ${code}` : `signal ${signal}`;
}

function readTail(file: string): readonly string[] {
  try {
    return readFileSync(file).subarray(-TAIL_BYTES).toString("utf8").trimEnd().split("\n");
  } catch {
    // Never started, so nothing was written.
    return [];
  }
}
