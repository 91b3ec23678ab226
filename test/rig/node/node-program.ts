import type { OwnedChild } from "../process/child.ts";
import type { Owner } from "../process/owner.ts";
import { waitUntil } from "../process/wait.ts";
import type { Command } from "./commands.ts";

const READY_LIMIT_MS = 180_000;
const STOP_LIMIT_MS = 5_000;

/** A program that belongs to a node: kubelet and the like. */
export interface NodeProgram {
  readonly name: string;
  readonly logFile: string;
  /** The last lines that it wrote. */
  readonly tail: () => string;
  /** Whether it runs, frozen or not. */
  readonly isRunning: () => boolean;
  /** Starts it and waits until it is ready; does nothing when it runs. */
  readonly start: () => Promise<void>;
  /** SIGTERM, then SIGKILL; waits until it is gone. */
  readonly stop: () => Promise<void>;
  /** SIGKILL; waits until it is gone. */
  readonly kill: () => Promise<void>;
  /** `stop`, then `start`. */
  readonly restart: () => Promise<void>;
  /** Stops its execution (SIGSTOP): it still is there and does nothing. */
  readonly freeze: () => void;
  /** Lets it go on (SIGCONT). */
  readonly thaw: () => void;
}

/** How such a program is run. */
export interface ProgramPlan {
  readonly name: string;
  readonly logFile: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The command with which this machine starts it; asked at each start. */
  readonly command: () => Command | Promise<Command>;
  /** Resolves when it is ready; throws, with the reason, when it is not yet. */
  readonly check: () => Promise<void>;
}

/** A program of a node that is not started yet; it ends with the run. */
export function nodeProgram(owner: Owner, plan: ProgramPlan): NodeProgram {
  const { name, logFile, env = {}, check } = plan;
  // Nothing here goes through a proxy, whatever the environment says.
  const child = owner.child({
    name,
    command: "nsenter",
    args: [],
    logFile,
    env: { NO_PROXY: "*", no_proxy: "*", ...env },
    stopLimitMs: STOP_LIMIT_MS,
  });
  const start = async (): Promise<void> => {
    if (child.pid !== undefined) return;
    await child.restart(await plan.command());
    await waitUntil(owner, { what: name, limitMs: READY_LIMIT_MS, child, check });
  };
  const stop = (): Promise<void> => stopThawed(child);
  return {
    name,
    logFile,
    tail: () => child.tail(),
    isRunning: () => child.pid !== undefined,
    start,
    stop,
    kill: () => child.kill(),
    restart: async () => {
      await stop();
      await start();
    },
    freeze: () => child.signal("SIGSTOP"),
    thaw: () => child.signal("SIGCONT"),
  };
}

/** A frozen program hears no SIGTERM. */
function stopThawed(child: OwnedChild): Promise<void> {
  child.signal("SIGCONT");
  return child.stop();
}
