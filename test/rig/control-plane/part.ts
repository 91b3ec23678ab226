import { rmSync } from "node:fs";
import type { Random } from "../../../common/runtime/random.ts";
import type { OwnedChild } from "../process/child.ts";
import type { Owner } from "../process/owner.ts";
import { waitUntil } from "../process/wait.ts";
import { freePort, isPortTaken } from "./ports.ts";

const PORT_TRIES = 5;

/** A part of the control plane: a process that is ready again after each start. */
export interface Part {
  readonly name: string;
  /** The process id, as long as it runs. */
  readonly pid: number | undefined;
  /** Where it listens. */
  readonly port: number;
  /** Its log file. */
  readonly logFile: string;
  /** Starts it at the port it had, and waits until it is ready. */
  readonly start: () => Promise<void>;
  /** SIGTERM, then SIGKILL; waits until it is gone. */
  readonly stop: () => Promise<void>;
  /** SIGKILL; waits until it is gone. */
  readonly kill: () => Promise<void>;
  /** `stop`, then `start`. */
  readonly restart: () => Promise<void>;
}

/** How a part is run. */
export interface PartPlan {
  readonly name: string;
  readonly program: string;
  /** The folder in which it runs. */
  readonly cwd: string;
  readonly logFile: string;
  readonly address: string;
  readonly env: Readonly<Record<string, string>>;
  readonly args: (port: number) => readonly string[];
  /** Resolves when the part is ready; throws, with the reason, when it is not yet. */
  readonly check: (port: number) => Promise<void>;
  readonly readyLimitMs: number;
}

/** Starts a part at a free port and waits until it is ready. Throws a HarnessError with its last log lines otherwise. */
export async function startPart(owner: Owner, random: Random, plan: PartPlan): Promise<Part> {
  const { name, program, cwd, logFile } = plan;
  // Nothing here goes through a proxy, whatever the environment says.
  const child = owner.child({
    name,
    command: program,
    args: [],
    cwd,
    logFile,
    env: { NO_PROXY: "*", no_proxy: "*", ...plan.env },
    stopLimitMs: 3_000,
    // What it would put in order is removed with its folder.
    isKilledAtEnd: true,
  });
  for (let tries = 1; ; tries += 1) {
    const port = await freePort(random, plan.address);
    try {
      await child.restart({ args: plan.args(port) });
      await waitReady(owner, { plan, child, port });
      return createPart(owner, { plan, child, port });
    } catch (error) {
      if (tries === PORT_TRIES || !isPortTaken(child.tail())) throw error;
      await child.kill();
      rmSync(logFile, { force: true });
    }
  }
}

interface Placed {
  readonly plan: PartPlan;
  readonly child: OwnedChild;
  readonly port: number;
}

function createPart(owner: Owner, placed: Placed): Part {
  const { plan, child, port } = placed;
  const start = async (): Promise<void> => {
    await child.start();
    await waitReady(owner, placed);
  };
  return {
    name: plan.name,
    get pid() {
      return child.pid;
    },
    port,
    logFile: child.logFile,
    start,
    stop: () => child.stop(),
    kill: () => child.kill(),
    restart: async () => {
      await child.stop();
      await start();
    },
  };
}

function waitReady(owner: Owner, { plan, child, port }: Placed): Promise<void> {
  return waitUntil(owner, { what: plan.name, limitMs: plan.readyLimitMs, child, check: () => plan.check(port) });
}
