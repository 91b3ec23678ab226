import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { type Clock, createSystemClock } from "../../../common/runtime/clock.ts";
import { type ChildSetting, type ChildSpec, OwnedChild } from "./child.ts";
import { HarnessError } from "./errors.ts";
import { type ProcessTable, systemProcessTable } from "./identity.ts";
import { createRunFolder } from "./run-folder.ts";
import { endRun, endRunNow, type Sweep, sweepRunFolders } from "./sweep.ts";

/** What a run may be told; each has the value of this machine unless told. */
export interface OwnerOptions {
  readonly clock?: Clock;
  /** The folder that holds run folders. */
  readonly parent?: string;
  /** Takes one line for the person at the terminal. */
  readonly say?: (line: string) => void;
}

/** Owns everything that a run starts: a folder, child processes, and whatever else has to be undone at its end. */
export class Owner implements AsyncDisposable {
  readonly clock: Clock;
  /** The run folder; it is removed at the end. */
  readonly folder: string;
  /** Takes one line for the person at the terminal. */
  readonly say: (line: string) => void;
  /** How processes are told apart. */
  readonly table: ProcessTable;
  readonly #stack = new AsyncDisposableStack();
  readonly #ending = new AbortController();
  readonly #setting: ChildSetting;
  readonly #sweep: Sweep;
  #closed: Promise<void> | undefined;

  constructor(sweep: Sweep, folder: string) {
    this.clock = sweep.clock;
    this.say = sweep.say;
    this.folder = folder;
    this.table = sweep.table;
    this.#sweep = sweep;
    this.#setting = { folder, table: sweep.table, clock: sweep.clock, prefix: parentDeath(), signal: this.signal };
  }

  /** Aborted when the run ends, for whatever reason: every wait of the run takes it. */
  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** A child that is ended at the end of the run; it is not started yet. Throws a HarnessError when the run is over. */
  child(spec: ChildSpec): OwnedChild {
    const child = new OwnedChild(this.#setting, spec);
    this.defer(() => (spec.isKilledAtEnd === true ? child.kill() : child.stop()));
    return child;
  }

  /**
   * Undoes something at the end of the run; what was deferred last is undone first. Throws a HarnessError when the run is
   * over: defer before doing what is to be undone.
   */
  defer(undo: () => Promise<void> | void): void {
    if (this.signal.aborted) throw new HarnessError("the run is over");
    this.#stack.defer(undo);
  }

  /** Ends the run: undoes everything, kills what is left of it, removes the folder. Safe to call again. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  /** The same for a process that is about to exit: kills, blocks until all are gone, removes the folder; undoes nothing else. */
  closeNow(): void {
    this.#ending.abort();
    try {
      endRunNow(this.#sweep, this.folder);
    } catch {
      // A process that does not die in time still writes into it: the next run's sweep removes it.
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(): Promise<void> {
    this.#ending.abort();
    try {
      await this.#stack.disposeAsync();
    } finally {
      await endRun(this.#sweep, this.folder);
    }
  }
}

/** Sweeps what dead runs left behind and begins a run. Throws a HarnessError on a system other than Linux. */
export async function openOwner(options: OwnerOptions = {}): Promise<Owner> {
  requireLinux(process.platform);
  const sweep = {
    parent: options.parent ?? tmpdir(),
    clock: options.clock ?? createSystemClock(),
    say: options.say ?? ((line: string) => void process.stderr.write(`mooring: ${line}\n`)),
    table: systemProcessTable(),
  };
  for (const folder of await sweepRunFolders(sweep)) sweep.say(`removed ${folder}, which a killed run left behind`);
  return new Owner(sweep, createRunFolder(sweep.parent, sweep.table, process.pid));
}

/** Throws a HarnessError, which says what to do, on a system other than Linux. */
export function requireLinux(platform: NodeJS.Platform): void {
  if (platform === "linux") return;
  throw new HarnessError(
    `this starts real Linux programs and does not run on ${platform}: use a Linux machine, a virtual machine or WSL 2`,
  );
}

/** The program of util-linux that has the kernel kill a child with its parent; BusyBox's does not know the option. */
function parentDeath(): readonly string[] {
  const prefix = ["setpriv", "--pdeathsig", "KILL", "--"];
  return spawnSync("setpriv", [...prefix.slice(1), "true"]).status === 0 ? prefix : [];
}
