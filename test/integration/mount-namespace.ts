import { type ChildProcessByStdio, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { onTestFinished } from "vitest";

/** A mount namespace of its own, where nothing reaches the machine's mounts, with a folder that plays the kubelet's root. */
export interface MountNamespace {
  /** Process whose `/proc/<pid>/mountinfo` shows the namespace. */
  readonly pid: number;
  readonly kubeletRoot: string;
  readonly mountInfo: string;
  /** Runs a line of shell inside; fails when it does. */
  readonly run: (line: string) => Promise<void>;
  /** Mounts a tmpfs at a place below the root, making its folder first. */
  readonly mount: (place: string) => Promise<void>;
  readonly unmount: (place: string) => Promise<void>;
}

/**
 * Opens a namespace that goes with the running test, or when `defer` undoes it: its shell ends with its standard input, also when this process
 * is killed. Its folder is in `parent`.
 */
export async function openMountNamespace(
  defer: (undo: () => Promise<void> | void) => void = onTestFinished,
  parent = tmpdir(),
): Promise<MountNamespace> {
  const folder = mkdtempSync(join(parent, "scratch-"));
  defer(() => rmSync(folder, { recursive: true, force: true }));
  const asRoot = process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"];
  const shell = spawn("unshare", [...asRoot, "--mount", "--propagation", "private", "sh"], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = new Promise<void>((resolve, reject) => {
    shell.once("close", () => resolve());
    shell.once("error", reject);
  });
  defer(async () => {
    shell.stdin.end();
    await ended;
  });
  const kubeletRoot = join(folder, "kubelet root");
  const run = shellOf(shell);
  await run(`mkdir -p '${kubeletRoot}'`);
  return {
    pid: shell.pid ?? 0,
    kubeletRoot,
    mountInfo: `/proc/${shell.pid}/mountinfo`,
    run,
    mount: (place) =>
      run(`mkdir -p '${kubeletRoot}/${place}' && mount -t tmpfs -o size=64k tmpfs '${kubeletRoot}/${place}'`),
    unmount: (place) => run(`umount '${kubeletRoot}/${place}'`),
  };
}

/** Runs line after line in one shell; each answers with its exit code. */
function shellOf({ stdin, stdout }: ChildProcessByStdio<Writable, Readable, null>): (line: string) => Promise<void> {
  const answers = createInterface({ input: stdout })[Symbol.asyncIterator]();
  return async (line) => {
    stdin.write(`{ ${line} ; } >&2; echo $?\n`);
    const answer = await answers.next();
    if (answer.value !== "0") throw new Error(`failed in the mount namespace: ${line}`);
  };
}
