import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { type InferOutput, number, object, string } from "valibot";

/** A process id alone is used again later; with the start time, the boot and the pid namespace it means one process. */
export const ProcessIdentity = object({
  pid: number(),
  /** Clock ticks since boot, field 22 of `/proc/<pid>/stat`. */
  startTicks: number(),
  bootId: string(),
  pidNamespace: string(),
});
export type ProcessIdentity = Readonly<InferOutput<typeof ProcessIdentity>>;

/** Whether a recorded process still runs; `unknown` when it belongs to another pid namespace of the same boot. */
export type Judgement = "alive" | "dead" | "unknown";

/** What this process sees of the machine: enough to judge any recorded identity. */
export interface ProcessTable {
  readonly bootId: string;
  readonly pidNamespace: string;
  /** Start time of the running process with this id; a zombie does not run. */
  readonly startTicksOf: (pid: number) => number | undefined;
}

/** The process table of this machine (Linux only, or of the folder that stands in for `/proc`). */
export function systemProcessTable(proc = "/proc"): ProcessTable {
  return {
    bootId: readFileSync(join(proc, "sys/kernel/random/boot_id"), "utf8").trim(),
    pidNamespace: readlinkSync(join(proc, "self/ns/pid")),
    startTicksOf: (pid) => {
      const stat = read(join(proc, String(pid), "stat"));
      return stat === undefined ? undefined : parseStartTicks(stat);
    },
  };
}

/** The start time in a line of `/proc/<pid>/stat`, or nothing for a zombie or a dead process. */
export function parseStartTicks(stat: string): number | undefined {
  // The command name stands in brackets and may hold spaces and brackets itself (proc_pid_stat(5)).
  const [state, ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ticks = Number(rest[18]);
  return state === "Z" || state === "X" || !Number.isFinite(ticks) ? undefined : ticks;
}

/** Who `pid` is now; nothing when no such process runs. */
export function identify(table: ProcessTable, pid: number): ProcessIdentity | undefined {
  const startTicks = table.startTicksOf(pid);
  return startTicks === undefined
    ? undefined
    : { pid, startTicks, bootId: table.bootId, pidNamespace: table.pidNamespace };
}

/** Whether the recorded process is still the one that runs under its id. */
export function judge(table: ProcessTable, recorded: ProcessIdentity): Judgement {
  if (recorded.bootId !== table.bootId) return "dead";
  if (recorded.pidNamespace !== table.pidNamespace) return "unknown";
  return table.startTicksOf(recorded.pid) === recorded.startTicks ? "alive" : "dead";
}

/** Ids of the running processes whose environment says `name=folder`, or names a folder below it. */
export function pidsWithEnvironment(name: string, folder: string): readonly number[] {
  const isInside = (entry: string): boolean => `${entry}/`.startsWith(`${name}=${folder}/`);
  return readdirSync("/proc")
    .filter((file) => /^\d+$/.test(file) && (read(`/proc/${file}/environ`)?.split("\0").some(isInside) ?? false))
    .map(Number);
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // The process ended while it was looked at, or belongs to another user: either way it is none of ours.
    return undefined;
  }
}
