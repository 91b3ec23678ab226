import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const DEMO = fileURLToPath(new URL("main.ts", import.meta.url));

/** A demo in another process. */
export interface SpawnedDemo extends Disposable {
  readonly child: ChildProcess;
  /** Resolves when it has ended and its output is complete. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** The folder of its run folders; no other run uses it. */
  readonly parent: string;
  /** The files that are left in it. */
  readonly left: () => readonly string[];
  /** Resolves once the demo has printed this; rejects when it ends before. */
  readonly printed: (text: string) => Promise<void>;
}

/** Starts the demo with these arguments; disposal kills it. */
export function spawnDemo(args: readonly string[], env: Readonly<Record<string, string>> = {}): SpawnedDemo {
  const parent = mkdtempSync(join(tmpdir(), "demo-"));
  const child = spawn(process.execPath, [DEMO, ...args], {
    env: { ...process.env, TMPDIR: parent, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const text = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (chunk: string) => {
      text[name] += chunk;
    });
  }
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.once("close", (code, signal) => resolve(code ?? signal));
  });
  return {
    child,
    ended,
    parent,
    stdout: () => text.stdout,
    stderr: () => text.stderr,
    left: () => readdirSync(parent),
    printed: (wanted) =>
      new Promise((resolve, reject) => {
        const check = (): void => {
          if (text.stdout.includes(wanted)) resolve();
        };
        child.stdout.on("data", check);
        child.once("close", () => reject(new Error(`it ended without printing ${wanted}: ${text.stderr}`)));
        check();
      }),
    [Symbol.dispose]: () => {
      child.kill("SIGKILL");
      rmSync(parent, { recursive: true, force: true });
    },
  };
}
