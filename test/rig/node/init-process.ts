import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createSystemRandom } from "../../../common/runtime/random.ts";
import type { OwnedChild } from "../process/child.ts";
import { HarnessError } from "../process/errors.ts";
import type { Owner } from "../process/owner.ts";
import { waitUntil } from "../process/wait.ts";
import { type Command, inNamespaces } from "./commands.ts";
import { KUBELET_SYSCTLS, nodeInitScript, PID_LINE, READY_LINE } from "./node-init.ts";

const START_LIMIT_MS = 60_000;
const END_LIMIT_MS = 10_000;

/** Where a node's files are and what it shares with the machine. */
export interface InitSetup {
  readonly name: string;
  /** A folder of the run; the node's disk is in it. */
  readonly folder: string;
  readonly shared: readonly string[];
}

/**
 * The first process of a node, in namespaces of its own. When it is killed, the kernel ends every process of the node and
 * with them its mounts and links, and it is killed with this process.
 */
export class InitProcess {
  readonly #owner: Owner;
  readonly #setup: InitSetup;
  readonly #child: OwnedChild;
  #pid: number | undefined;
  #isReady = false;
  #bootId = "";
  /** On both clocks of the machine, in ms. */
  #endedAt = Number.NEGATIVE_INFINITY;

  constructor(owner: Owner, setup: InitSetup) {
    this.#owner = owner;
    this.#setup = setup;
    this.#child = owner.child({
      name: setup.name,
      command: "unshare",
      args: [],
      onLine: (line) => this.#hear(line),
      // A node's end is that of its power.
      stopLimitMs: 0,
    });
  }

  /** The process id as this machine sees it. Throws a HarnessError while the node is down. */
  get pid(): number {
    if (this.#child.pid === undefined || this.#pid === undefined) throw new HarnessError(`${this.#setup.name} is down`);
    return this.#pid;
  }

  /** Another one with each start. */
  get bootId(): string {
    return this.#bootId;
  }

  /** The command that runs a program in the node. */
  inside(command: Command): Command {
    return inNamespaces(this.pid, ["mount", "net", "pid", "uts", "ipc", "time"], command);
  }

  async start(): Promise<void> {
    const { name, folder, shared } = this.#setup;
    const zero = await this.#clockZero();
    const place = (part: string): string => join(folder, part);
    for (const part of ["root", "disk"]) mkdirSync(place(part), { recursive: true });
    this.#bootId = createSystemRandom().id();
    writeFileSync(place("boot-id"), `${this.#bootId}\n`);
    this.#pid = undefined;
    this.#isReady = false;
    const script = nodeInitScript({
      hostname: name,
      root: place("root"),
      disk: place("disk"),
      bootId: place("boot-id"),
      shared,
      sysctls: KUBELET_SYSCTLS,
    });
    await this.#child.restart({ args: [...namespaceFlags(zero), "sh", "-c", script] });
    const check = async (): Promise<void> => {
      if (!this.#isReady) throw new HarnessError("its file system is not there yet");
    };
    await waitUntil(this.#owner, { what: name, limitMs: START_LIMIT_MS, child: this.#child, check, everyMs: 10 });
  }

  /** Ends every process of the node at once, as a power cut does; returns when all are gone. */
  async kill(): Promise<void> {
    const pid = this.#pid;
    await this.#child.kill();
    if (pid === undefined) return;
    const { clock, table } = this.#owner;
    // The first process of a pid namespace ends after all others of it (pid_namespaces(7)).
    const check = async (): Promise<void> => {
      if (table.startTicksOf(pid) !== undefined) throw new HarnessError(`process ${pid} is still there`);
    };
    const waiter = { clock, signal: new AbortController().signal };
    await waitUntil(waiter, { what: `the end of ${this.#setup.name}`, limitMs: END_LIMIT_MS, check, everyMs: 5 });
    this.#pid = undefined;
    this.#endedAt = Math.max(...this.#clocks());
  }

  #hear(line: string): void {
    const pid = PID_LINE.exec(line)?.[1];
    if (pid !== undefined) this.#pid = Number(pid);
    this.#isReady ||= line === READY_LINE;
  }

  /** The machine's second that becomes the node's boot: whole, past, and after the end of the boot before. */
  async #clockZero(): Promise<number> {
    const { clock, signal } = this.#owner;
    while (!signal.aborted) {
      const zero = Math.floor(Math.min(...this.#clocks()) / 1000);
      if (zero * 1000 > this.#endedAt) return zero;
      await clock.sleep(20, signal);
    }
    throw new HarnessError(`${this.#setup.name} does not start: the run is over`);
  }

  /** CLOCK_MONOTONIC_RAW, which drifts from CLOCK_MONOTONIC; the offset of a time namespace moves both (time_namespaces(7)). */
  #clocks(): readonly [number, number] {
    return [this.#owner.clock.monotonicMs(), Number(process.hrtime.bigint() / 1_000_000n)];
  }
}

/** New namespaces of every kind, with clocks that begin at the boot: a node has an age of its own. */
function namespaceFlags(zero: number): readonly string[] {
  const uptime = Math.floor(Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]));
  return [
    ...["--pid", "--fork", "--kill-child", "--mount", "--uts", "--ipc", "--net", "--time"],
    `--monotonic=${-zero}`,
    `--boottime=${-uptime}`,
  ];
}
