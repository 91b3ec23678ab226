import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { createSystemClock } from "../../common/runtime/clock.ts";
import { waitUntil } from "../process/wait.ts";
import { footprintOf, machineState, NO_FOOTPRINT } from "./footprint.ts";
import { type KubectlTarget, kubectl } from "./kubectl.ts";

const PROGRAM = fileURLToPath(new URL("../node/main.ts", import.meta.url));
const clock = createSystemClock();
const waiter = { clock, signal: new AbortController().signal };

/** A cluster that another process holds. */
interface Held extends KubectlTarget {
  readonly process: ChildProcess;
  readonly ended: Promise<number | NodeJS.Signals | null>;
  readonly output: () => string;
  /** The run folder. */
  readonly folder: string;
}

/** What `npm run node` starts, without Mooring, with its run folders in `parent`. */
async function hold(parent: string, nodes = 1): Promise<Held> {
  const args = [PROGRAM, "--bare", "--nodes", String(nodes)];
  const child = spawn(process.execPath, args, { env: { ...process.env, TMPDIR: parent }, stdio: "pipe" });
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.once("close", (code, signal) => resolve(code ?? signal));
  });
  const [, kubeconfig = "", program = ""] = await said(() => output, /^export KUBECONFIG=(.*)\nalias kubectl=(.*)$/m);
  return {
    process: child,
    ended,
    output: () => output,
    folder: dirname(dirname(kubeconfig)),
    kubeconfig,
    kubectl: program,
  };
}

async function said(output: () => string, pattern: RegExp): Promise<RegExpExecArray> {
  const check = async (): Promise<void> => expect(output()).toMatch(pattern);
  await waitUntil(waiter, { what: "the program", limitMs: 90_000, check });
  return pattern.exec(output()) ?? expect.fail("it said so a moment ago");
}

/** A folder for run folders; it stays empty in between. */
function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), "scratch-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function readyNodes(target: KubectlTarget): Promise<readonly string[]> {
  const lines = await kubectl(target, "get", "nodes", "--no-headers");
  return lines.split("\n").flatMap((line) => (/ Ready /.test(line) ? [line.split(" ")[0] ?? ""] : []));
}

describe("npm run node", () => {
  it("leaves nothing when Ctrl-C ends it, and is gone within seconds", async () => {
    const parent = scratch();
    const before = await machineState();
    const held = await hold(parent, 2);
    expect(await readyNodes(held)).toEqual(["node-1", "node-2"]);
    expect(await footprintOf(held.folder)).not.toEqual(NO_FOOTPRINT);

    const begin = clock.monotonicMs();
    held.process.kill("SIGINT");
    const code = await held.ended;
    const took = clock.monotonicMs() - begin;

    expect(code).toBe(130);
    expect(await footprintOf(held.folder)).toEqual(NO_FOOTPRINT);
    expect(readdirSync(parent)).toEqual([]);
    expect(await machineState()).toEqual(before);
    expect(took).toBeLessThan(10_000);
  });

  it("starts right after one that was killed, and removes what that one left", async () => {
    const parent = scratch();
    const before = await machineState();
    const killed = await hold(parent);

    killed.process.kill("SIGKILL");
    await killed.ended;
    const next = await hold(parent);

    expect(await readyNodes(next)).toEqual(["node-1"]);
    expect(next.output()).toContain(`removed ${killed.folder}, which a killed run left behind`);
    expect(existsSync(killed.folder)).toBe(false);
    expect(await footprintOf(killed.folder)).toEqual(NO_FOOTPRINT);
    next.process.kill("SIGTERM");
    expect(await next.ended).toBe(143);
    expect(await footprintOf(next.folder)).toEqual(NO_FOOTPRINT);
    expect(readdirSync(parent)).toEqual([]);
    expect(await machineState()).toEqual(before);
  });

  it("runs beside another one", async () => {
    const [first, second] = await Promise.all([hold(scratch()), hold(scratch())]);

    expect(await readyNodes(first)).toEqual(["node-1"]);
    expect(await readyNodes(second)).toEqual(["node-1"]);
    for (const held of [first, second]) held.process.kill("SIGINT");
    expect(await Promise.all([first.ended, second.ended])).toEqual([130, 130]);
    expect(await footprintOf(first.folder)).toEqual(NO_FOOTPRINT);
    expect(await footprintOf(second.folder)).toEqual(NO_FOOTPRINT);
  });
});
