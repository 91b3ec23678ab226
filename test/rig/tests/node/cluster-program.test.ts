import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { createSystemClock } from "../../../../common/runtime/clock.ts";
import { firewallOfClusters, footprintOf, NO_FOOTPRINT } from "../../../e2e/footprint.ts";
import { apply, type KubectlTarget, kubectl } from "../../../e2e/kubectl.ts";
import { pod } from "../../../e2e/objects.ts";
import { readPage } from "../../../pages/page.ts";
import { openReader, type Reader } from "../../../pages/reader.ts";
import { startStopwatch } from "../../process/starvation.ts";
import { waitUntil } from "../../process/wait.ts";

const PROGRAM = fileURLToPath(new URL("../../node/main.ts", import.meta.url));
/** With the image of the present sources, should nobody have built it before. */
const LIMIT_MS = 600_000;
/** Within it, the kernel has ended all that a killed process held. */
const END_LIMIT_MS = 5_000;
const PAGE = readPage("../test/rig/node/README.md");
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

/** What `npm run node` starts with these options (one node without Mooring unless told), with its run folders in `parent`. */
async function hold(parent: string, options: readonly string[] = ["--bare", "--nodes=1"]): Promise<Held> {
  const child = spawn(process.execPath, [PROGRAM, ...options], {
    env: { ...process.env, TMPDIR: parent },
    stdio: "pipe",
  });
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
  await waitUntil(waiter, { what: "the program", limitMs: LIMIT_MS, check });
  return pattern.exec(output()) ?? expect.fail("it said so a moment ago");
}

/** A folder for run folders; it stays empty in between. */
function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), "scratch-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Somebody at a second terminal. */
function readerOf({ kubeconfig, kubectl: program }: Held): Promise<Reader> {
  const home = scratch();
  return openReader({ folder: home, home, kubeconfig, programs: { kubectl: `exec ${program} "$@"` } });
}

/** The processes in cgroups and below them: those of containers do not carry the name of the run. */
function processesIn(cgroups: readonly string[]): readonly string[] {
  const files = cgroups.flatMap((root) => globSync("**/cgroup.procs", { cwd: root }).map((file) => join(root, file)));
  return files.flatMap((file) => readFileSync(file, "utf8").split("\n").filter(Boolean));
}

async function readyNodes(target: KubectlTarget): Promise<readonly string[]> {
  const lines = await kubectl(target, "get", "nodes", "--no-headers");
  return lines.split("\n").flatMap((line) => (/ Ready /.test(line) ? [line.split(" ")[0] ?? ""] : []));
}

describe("npm run node", () => {
  it("rolls Mooring out, which works as its page says, and leaves nothing seconds after Ctrl-C", async () => {
    const parent = scratch();
    const before = await firewallOfClusters();
    const held = await hold(parent, []);
    const reader = await readerOf(held);
    expect(await readyNodes(held)).toEqual(["node-1", "node-2"]);
    expect(await footprintOf(held.folder)).not.toEqual(NO_FOOTPRINT);

    const inUse = await reader.follow(PAGE.block("## A first look", 1));
    const unused = await reader.follow(PAGE.block("## A first look", 2));
    const spentMs = startStopwatch({ clock });
    held.process.kill("SIGINT");
    const code = await held.ended;
    const took = spentMs();

    expect(inUse).toMatch(/mooring\.dev\/Unused +False .* Mounted /);
    expect(unused).toMatch(/mooring\.dev\/Unused +True .* Unmounted /);
    expect(code).toBe(130);
    expect(await footprintOf(held.folder)).toEqual(NO_FOOTPRINT);
    expect(readdirSync(parent)).toEqual([]);
    expect(await firewallOfClusters()).toEqual(before);
    expect(took).toBeLessThan(10_000);
  });

  it("ends with all that ran in it when it is killed, and the next one removes the rest", async () => {
    const parent = scratch();
    const before = await firewallOfClusters();
    const killed = await hold(parent);
    const volumes = { "/memory": { emptyDir: { medium: "Memory" } } };
    await apply(killed, pod({ name: "writer", node: "node-1", line: "sleep 3600", volumes }));
    await kubectl(killed, "wait", "--for=condition=Ready", "pod/writer", "--timeout=60s");
    const { processes, cgroups } = await footprintOf(killed.folder);
    const contained = processesIn(cgroups);

    killed.process.kill("SIGKILL");
    await killed.ended;

    expect(processes).not.toEqual([]);
    expect(contained).not.toEqual([]);
    await waitUntil(waiter, {
      what: "the end of all that ran in it",
      limitMs: END_LIMIT_MS,
      check: async () => {
        // The cgroups themselves outlive every process.
        expect(await footprintOf(killed.folder)).toEqual({ ...NO_FOOTPRINT, cgroups });
        expect(processesIn(cgroups)).toEqual([]);
      },
    });
    const next = await hold(parent);
    expect(await readyNodes(next)).toEqual(["node-1"]);
    expect(next.output()).toContain(`removed ${killed.folder}, which a killed run left behind`);
    expect(existsSync(killed.folder)).toBe(false);
    expect(await footprintOf(killed.folder)).toEqual(NO_FOOTPRINT);
    next.process.kill("SIGTERM");
    expect(await next.ended).toBe(143);
    expect(await footprintOf(next.folder)).toEqual(NO_FOOTPRINT);
    expect(readdirSync(parent)).toEqual([]);
    expect(await firewallOfClusters()).toEqual(before);
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
