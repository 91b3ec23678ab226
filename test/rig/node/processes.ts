import { readdirSync, readFileSync } from "node:fs";
import { codeOf, HarnessError } from "../process/errors.ts";

/**
 * The process of a pod, as this machine sees it, whose command line begins with `program`. Throws a HarnessError unless there is
 * exactly one. The kubelet names the cgroup of a pod after its UID.
 */
export function processOfPod(podUid: string, program: string): number {
  const found = readdirSync("/proc").filter(
    (pid) =>
      /^\d+$/.test(pid) &&
      readText(`/proc/${pid}/cmdline`).startsWith(`${program}\0`) &&
      readText(`/proc/${pid}/cgroup`).includes(podUid),
  );
  const [pid, ...more] = found.map(Number);
  if (pid === undefined || more.length > 0)
    throw new HarnessError(`${found.length} processes ${program} are in the pod ${podUid}`);
  return pid;
}

/** Empty once the process is gone. */
function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ESRCH") return "";
    throw error;
  }
}
