import { execFile } from "node:child_process";
import { availableParallelism } from "node:os";
import { promisify } from "node:util";
import type { ControlPlane } from "../rig/control-plane/control-plane.ts";

const run = promisify(execFile);

/**
 * Gives the API server and etcd the first half of the processors, and this process with all that it starts from now on the others. In a
 * cluster they are on different machines; on one machine each client would be charged with the processor time that it takes from the server.
 * Does nothing on a machine with one processor.
 */
export async function keepApart(plane: ControlPlane): Promise<void> {
  const count = availableParallelism();
  const half = Math.floor(count / 2);
  if (half === 0) return;
  const servers = [plane.part("etcd").pid, plane.part("kube-apiserver").pid];
  for (const pid of servers) await pin(pid, `0-${half - 1}`);
  await pin(process.pid, `${half}-${count - 1}`);
}

/** All of its threads. */
async function pin(pid: number | undefined, processors: string): Promise<void> {
  await run("taskset", ["--all-tasks", "--cpu-list", "--pid", processors, String(pid)]);
}
