import { type ChildProcessByStdio, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { createSqliteJournal, JOURNAL_FILE } from "../../agent/sinks/sqlite-journal.ts";
import { createSystemClock } from "../../common/runtime/clock.ts";
import { createMetrics } from "../../common/runtime/metrics.ts";
import { createFakeLogger } from "../fakes/logger.ts";
import { essence } from "../fakes/node-states.ts";
import { numberedState } from "./journal-states.ts";
import { openMountNamespace } from "./mount-namespace.ts";

const PROGRAM = fileURLToPath(new URL("journal-program.ts", import.meta.url));
/** By hand more: `MOORING_KILLS=100`. */
const KILLS = Number(process.env.MOORING_KILLS ?? 6);

const clock = createSystemClock();

function openFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "mooring-journal-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

interface Started {
  readonly child: ChildProcessByStdio<null, Readable, null>;
  /** What it says, line by line, to its end. */
  readonly lines: AsyncIterableIterator<string>;
}

/** Starts the program; `enter` is what comes before it on the command line. */
function start(args: readonly string[], enter: readonly string[] = []): Started {
  const [command = "", ...rest] = [...enter, process.execPath, PROGRAM, ...args];
  const child = spawn(command, rest, { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() };
}

async function next({ lines }: Started): Promise<string> {
  const line = await lines.next();
  return line.done === true ? "ended" : line.value;
}

/** All that it says until it ends by itself. */
async function said(started: Started): Promise<readonly string[]> {
  const lines: string[] = [];
  for await (const line of started.lines) lines.push(line);
  return lines;
}

function journalIn(directory: string) {
  return createSqliteJournal(
    { clock, logger: createFakeLogger(), metrics: createMetrics() },
    { directory, node: "node-1" },
  );
}

/** Kills it at some moment within its next steps; answers the last step that it had said was stored. */
async function killSoon(started: Started): Promise<number> {
  const steps = randomInt(1, 12);
  let last = "";
  for (let step = 0; step < steps; step += 1) last = await next(started);
  await clock.sleep(randomInt(0, 30));
  started.child.kill("SIGKILL");
  const rest = await said(started);
  return Number((rest.at(-1) ?? last).replace("stored ", ""));
}

describe("a journal on a real disk", () => {
  it(`has the last state that was stored after each of ${KILLS} kill -9 of who stores all the time`, async () => {
    const folder = openFolder();
    let stored = 0;
    for (let kill = 0; kill < KILLS; kill += 1) {
      const storer = start(["store", folder]);
      const found = await next(storer);
      expect(found).toEqual(kill === 0 ? "found nothing" : expect.stringMatching(/^found \d+$/));
      if (kill > 0) expect([stored, stored + 1]).toContain(Number(found.replace("found ", "")));
      stored = await killSoon(storer);

      const journal = journalIn(folder);
      const state = await journal.load();
      await journal.close?.();
      const step = state?.generation ?? -1;
      // The step that it was at may be stored although it could not say so any more.
      expect([stored, stored + 1], `kill ${kill + 1}`).toContain(step);
      expect(state && essence(state)).toEqual(essence(numberedState(step)));
      stored = step;
    }
    expect(readdirSync(folder).filter((name) => name.includes("damaged"))).toEqual([]);
  }, 600_000);

  it("belongs to one process, and to the next when that is killed", async () => {
    const folder = openFolder();
    const first = start(["store", folder]);
    await next(first);
    await next(first);

    expect(await said(start(["once", folder]))).toEqual([
      expect.stringContaining("journal-unusable: another agent holds it"),
    ]);
    const stored = await killSoon(first);

    const [found = ""] = await said(start(["once", folder]));
    expect([`found ${stored}`, `found ${stored + 1}`]).toContain(found);
  });

  it("keeps its content when the disk is full, and continues when there is space", async () => {
    const { folder, remount, enter } = await openDisk();
    expect(await said(start(["once", folder, "1"], enter))).toEqual(["found nothing", "stored 1"]);
    await remount("size=300k");

    const full = await said(start(["once", folder, "9"], enter));
    await remount("size=8m");
    const roomy = await said(start(["once", folder, "9"], enter));
    const after = await said(start(["once", folder, "10"], enter));

    expect(full).toEqual(["found 1", expect.stringMatching(/^journal-unusable: the disk.*full/)]);
    expect(roomy).toEqual(["found 1", "stored 9"]);
    expect(after).toEqual(["found 9", "stored 10"]);
  });

  it("is not used where it cannot be written, and is as it was", async () => {
    const { folder, remount, enter } = await openDisk();
    await said(start(["once", folder, "1"], enter));
    await remount("ro");

    const readOnly = await said(start(["once", folder, "2"], enter));
    await remount("rw");

    expect(readOnly).toEqual([expect.stringMatching(/^journal-unusable: EROFS/)]);
    expect((await said(start(["once", folder, "2"], enter)))[0]).toBe("found 1");
  });

  it("stays small while the same holds are stored a thousand times", async () => {
    const folder = openFolder();
    const journal = journalIn(folder);
    await journal.load();
    for (let step = 0; step < 1_000; step += 1) await journal.store(numberedState(step % 2));
    const size = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
    await journal.close?.();

    expect(size).toBeLessThan(1.5 * 1024 * 1024);
    expect(readdirSync(folder)).toEqual([JOURNAL_FILE]);
  });
});

/** A small disk that only who enters its namespace sees. */
async function openDisk() {
  const namespace = await openMountNamespace();
  const folder = join(namespace.kubeletRoot, "disk");
  await namespace.run(`mkdir '${folder}' && mount -t tmpfs -o size=8m tmpfs '${folder}'`);
  return {
    folder,
    enter: enterCommand(namespace.pid),
    // With its source: without, mount(8) repeats the options of the table, whose user IDs do not exist in a user namespace.
    remount: (options: string) => namespace.run(`mount -o remount,${options} tmpfs '${folder}'`),
  };
}

function enterCommand(pid: number): readonly string[] {
  const user = process.getuid?.() === 0 ? [] : ["--user", "--preserve-credentials"];
  return ["nsenter", "--target", String(pid), "--mount", ...user, "--"];
}
