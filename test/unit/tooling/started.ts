import { type ChildProcess, spawn } from "node:child_process";

/** What a process said so far and how it ended. */
export interface Started {
  readonly pid: number;
  readonly signal: (signal: NodeJS.Signals) => void;
  /** Resolves as soon as the output (both streams) matches; rejects if the process ends without. */
  readonly said: (pattern: RegExp) => Promise<RegExpExecArray>;
  readonly ended: Promise<{ readonly code: number | null; readonly output: string }>;
}

/** A program that stays until a signal ends it, or the test process does: its standard input ends then. */
export const staying = "process.stdin.resume().on('end', () => process.exit()); console.log('ready');";

/** Starts Node with these arguments in a process group of its own, as a shell would. */
export function startNode(
  args: readonly string[],
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Started {
  const child = spawn(process.execPath, args, { ...options, stdio: "pipe", detached: true });
  if (child.pid === undefined) throw new Error(`cannot start ${process.execPath}`);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const ended = new Promise<{ code: number | null; output: string }>((resolve) => {
    child.once("close", (code) => resolve({ code, output }));
  });
  return {
    pid: child.pid,
    signal: (signal) => child.kill(signal),
    said: (pattern) => match(child, pattern, () => output),
    ended,
  };
}

function match(child: ChildProcess, pattern: RegExp, output: () => string): Promise<RegExpExecArray> {
  return new Promise((resolve, reject) => {
    const look = (): void => {
      const found = pattern.exec(output());
      if (found !== null) resolve(found);
    };
    child.stdout?.on("data", look);
    child.stderr?.on("data", look);
    child.once("close", () => reject(new Error(`ended without ${pattern}: ${output()}`)));
    look();
  });
}
