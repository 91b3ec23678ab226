import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { HarnessError } from "../process/errors.ts";
import { systemPath } from "../process/program.ts";

const OUTPUT_LIMIT = 64 * 1024 * 1024;

/** A program and its arguments. */
export interface Command {
  readonly command: string;
  readonly args: readonly string[];
}

/** Kinds of namespaces, as nsenter(1) calls them. */
export type NamespaceKind = "mount" | "net" | "pid" | "uts" | "ipc" | "time";

/** The command that runs a program in namespaces of the process `pid`. */
export function inNamespaces(pid: number, kinds: readonly NamespaceKind[], { command, args }: Command): Command {
  const flags = kinds.map((kind) => `--${kind}`);
  return { command: "nsenter", args: ["--target", String(pid), ...flags, "--", command, ...args] };
}

/** Runs a program to its end and returns what it printed. Throws a HarnessError with its words when it fails. */
export async function runCommand({ command, args }: Command, input = ""): Promise<string> {
  const running = promisify(execFile)(command, [...args], {
    maxBuffer: OUTPUT_LIMIT,
    env: { ...process.env, PATH: systemPath() },
  });
  // A program that ends without reading all of it tells so by its exit code.
  running.child.stdin?.on("error", () => {});
  running.child.stdin?.end(input);
  try {
    return (await running).stdout;
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    throw new HarnessError(input === "" ? text : `${text.trimEnd()}\ninput:\n${input}`);
  }
}
