import { readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";

/** Resident memory of a process in MiB, as the kernel counts it. */
export function residentMiB(pid: number | undefined): number {
  return memoryMiB(pid, "VmRSS");
}

/** The most that a process has had resident since `resetPeak`, or its start. MiB. */
export function peakMiB(pid: number | undefined): number {
  return memoryMiB(pid, "VmHWM");
}

/** Begins a new span for `peakMiB`: writing 5 resets the mark (proc_pid_clear_refs(5)). */
export function resetPeak(pid: number | undefined): void {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
}

function memoryMiB(pid: number | undefined, what: "VmRSS" | "VmHWM"): number {
  const kib = new RegExp(`^${what}:\\s+(\\d+) kB$`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kib) / 1024;
}

/** User and system time of a process in milliseconds; the kernel counts hundredths of a second (proc_pid_stat(5), 14 and 15). */
export function cpuMs(pid: number | undefined): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/**
 * For how long the first thread of a process, the one of its event loop, has been ready to run and was given no processor: what it had to
 * wait for others (Documentation/scheduler/sched-stats.rst, `/proc/<pid>/schedstat`). Milliseconds.
 */
export function queuedMs(pid: number | undefined): number {
  const [, waitedNs] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ");
  return Number(waitedNs) / 1e6;
}

/** Connections that the process made, not those that a measurement makes to its health endpoints. */
export function connections(pid: number | undefined, ownPort: number): number {
  const sockets = readdirSync(`/proc/${pid}/fd`).map((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      // Closed since it was listed.
      return "";
    }
  });
  const table = readFileSync(`/proc/${pid}/net/tcp`, "utf8").split("\n").slice(1);
  // State 01 is an established connection (include/net/tcp_states.h).
  const established = table.map((line) => line.trim().split(/\s+/)).filter((fields) => fields[3] === "01");
  const own = `:${ownPort.toString(16).toUpperCase().padStart(4, "0")}`;
  const made = established.filter((fields) => !fields[1]?.endsWith(own));
  return made.filter((fields) => sockets.includes(`socket:[${fields[9]}]`)).length;
}
