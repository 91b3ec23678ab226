import { readdirSync, readFileSync, statSync } from "node:fs";
import { codeOf, HarnessError } from "../../rig/process/errors.ts";
import { waitUntil } from "../../rig/process/wait.ts";
import { folderOf } from "./claims.ts";
import { userEnd } from "./last-use.ts";
import { deletePod, type MadePod, type PodSpec, runPod } from "./pods.ts";
import type { Truth } from "./scenario.ts";
import type { Stage } from "./stage.ts";

const LIMIT_MS = 120_000;
const LOOK_MS = 5;

/** A line that writes to the volume twenty times a second until it is asked to end; the claim's name tells its process. */
export function heartbeatLine(claim: string): string {
  return `: ${claim}; trap 'exit 0' TERM; while :; do touch /data/beat; sleep 0.05; done`;
}

/** A process of this machine that writes to a volume which is a folder of a node. */
export interface Heart {
  /** When it ended: after its last write, and before nothing was seen of it any more. */
  readonly end: () => Promise<Truth>;
}

/** Runs such a pod and finds its process. The machine shows its end, no part of Kubernetes. */
export async function runHeart(stage: Stage, spec: PodSpec & { readonly claim: string }): Promise<Heart & MadePod> {
  const pod = await runPod(stage, { ...spec, line: heartbeatLine(spec.claim) });
  const pid = await untilFound(stage, heartbeatLine(spec.claim));
  const beganMs = stage.owner.clock.wallMs();
  const beat = (): string => stage.node(spec.node).path(`${folderOf(spec.claim)}/beat`);
  const end = async (): Promise<Truth> => {
    const check = async (): Promise<void> => {
      if (isRunning(pid)) throw new HarnessError(`process ${pid} still runs`);
    };
    await waitUntil(stage.owner, { what: `the end of ${spec.name}`, limitMs: LIMIT_MS, everyMs: LOOK_MS, check });
    const end = { afterMs: statSync(beat()).mtimeMs, byMs: stage.owner.clock.wallMs() };
    return { ...end, users: [{ ...userEnd(pod, { ...end, beganMs }), isShown: false }] };
  };
  return { ...pod, end };
}

/** Deletes it and tells when its process ended. */
export async function endHeart(stage: Stage, heart: Heart & MadePod): Promise<Truth> {
  await deletePod(stage, heart);
  return await heart.end();
}

/** A container may count as running before its process has become the shell. */
async function untilFound(stage: Stage, line: string): Promise<number> {
  let found: number | undefined;
  await stage.until(`the process that runs ${line}`, () => {
    found = processOf(line);
  });
  if (found === undefined) throw new HarnessError(`no process runs ${line}`);
  return found;
}

/** The shell that runs a line, wherever on the machine. Throws a HarnessError unless there is one. */
function processOf(line: string): number {
  const command = `/bin/sh\0-c\0${line}\0`;
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && textOf(`/proc/${name}/cmdline`) === command);
  // What the shell is about to run has the shell's own command line for a moment.
  const shells = pids.map(Number).filter((pid) => !pids.includes(statOf(pid).parent));
  const [pid, ...more] = shells;
  if (pid === undefined || more.length > 0) throw new HarnessError(`${shells.length} processes run ${line}`);
  return pid;
}

/** A process that has ended writes no more, also while its parent does not know. */
function isRunning(pid: number): boolean {
  const { state } = statOf(pid);
  return state !== "" && state !== "Z" && state !== "X";
}

/** Both are empty once it is gone. */
function statOf(pid: number): { readonly state: string; readonly parent: string } {
  const stat = textOf(`/proc/${pid}/stat`);
  const [state = "", parent = ""] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { state, parent };
}

/** The text of a file of a process; empty once it is gone. */
function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ESRCH") return "";
    throw error;
  }
}
