import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, opendirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { number, object, parse, string } from "valibot";
import { describe, expect, it, onTestFinished } from "vitest";
import { createSystemClock } from "../../../../common/runtime/clock.ts";
import { openMountNamespace } from "../../../integration/mount-namespace.ts";
import { identify, systemProcessTable } from "../../process/identity.ts";
import { waitUntil } from "../../process/wait.ts";

const PROGRAM = fileURLToPath(new URL("./owned-program.ts", import.meta.url));
const Said = object({ folder: string(), child: number() });
const table = systemProcessTable();
const waiter = { clock: createSystemClock(), signal: new AbortController().signal };

interface Started {
  readonly process: ChildProcess;
  readonly output: () => string;
  readonly ended: Promise<number | NodeJS.Signals | null>;
}

function start(ending: string, parent: string): Started {
  const child = spawn(process.execPath, [PROGRAM, ending, parent], { stdio: ["ignore", "pipe", "pipe"] });
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
  return { process: child, output: () => output, ended };
}

function saidBy({ output }: Started, pattern: RegExp): Promise<void> {
  return waitUntil(waiter, {
    what: "the program",
    limitMs: 10_000,
    check: async () => expect(output()).toMatch(pattern),
  });
}

function whatThereIs({ output }: Started): { folder: string; child: number } {
  return parse(Said, JSON.parse(/^\{.*\}$/m.exec(output())?.[0] ?? "null"));
}

function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), "scratch-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Waits until no such process runs: a process that exits at once does not wait for those that it killed. */
function gone(pid: number): Promise<void> {
  const check = async (): Promise<void> => expect(identify(table, pid)).toBeUndefined();
  return waitUntil(waiter, { what: `the end of process ${pid}`, limitMs: 2_000, check });
}

describe("a program that owns what it starts", () => {
  it.each([
    { name: "exits with 0 at its normal end", ending: "return", code: 0, said: "" },
    {
      name: "exits with 1 and a sentence on a failure",
      ending: "fail",
      code: 1,
      said: "mooring: this machine has no such thing\n",
    },
    { name: "exits with 1 and the stack on a bug", ending: "break", code: 1, said: "Error: a bug\n    at " },
    {
      name: "exits with 1 on an exception that nothing catches",
      ending: "crash",
      code: 1,
      said: "nobody catches it\n    at ",
    },
    {
      name: "exits with 1 on a rejection that nothing catches",
      ending: "reject",
      code: 1,
      said: "nobody catches it\n    at ",
    },
    { name: "exits by process.exit", ending: "exit", code: 7, said: "" },
  ])("$name and leaves nothing", async ({ ending, code, said }) => {
    const parent = scratch();
    const program = start(ending, parent);

    const ended = await program.ended;

    expect(program.output()).toContain(said);
    expect(ended).toBe(code);
    await gone(whatThereIs(program).child);
    expect(readdirSync(parent)).toEqual([]);
  });

  it.each([
    { signal: "SIGINT", code: 130 },
    { signal: "SIGTERM", code: 143 },
    { signal: "SIGHUP", code: 129 },
  ] as const)("exits with $code on $signal and leaves nothing", async ({ signal, code }) => {
    const parent = scratch();
    const program = start("stay", parent);
    await saidBy(program, /child/);

    program.process.kill(signal);
    const ended = await program.ended;

    expect(ended).toBe(code);
    expect(program.output()).toContain("undone");
    await gone(whatThereIs(program).child);
    expect(readdirSync(parent)).toEqual([]);
  });

  it("finishes its clean-up when Ctrl-C is pressed again and again", async () => {
    const parent = scratch();
    const program = start("stay", parent);
    await saidBy(program, /child/);

    program.process.kill("SIGINT");
    await saidBy(program, /undoing/);
    program.process.kill("SIGINT");
    program.process.kill("SIGTERM");
    const ended = await program.ended;

    expect(ended).toBe(130);
    expect(program.output()).toContain("undone");
    expect(readdirSync(parent)).toEqual([]);
  });

  it("takes its children along when it is killed, and the next run removes the folder", async () => {
    const parent = scratch();
    const killed = start("stay", parent);
    await saidBy(killed, /child/);
    const { folder, child } = whatThereIs(killed);

    killed.process.kill("SIGKILL");
    await killed.ended;
    await gone(child);
    const next = start("return", parent);
    await next.ended;

    expect(next.output()).toContain(`removed ${folder}, which a killed run left behind`);
    expect(existsSync(folder)).toBe(false);
    expect(readdirSync(parent)).toEqual([]);
  });
});

function opendirNames(folder: string): readonly string[] {
  using opened = opendirSync(folder);
  const names: string[] = [];
  for (let entry = opened.readSync(); entry !== null; entry = opened.readSync()) names.push(entry.name);
  return names;
}

describe("a run folder that cannot be removed wholly", () => {
  it("keeps the record of its owner, so that the next sweep finds it", async () => {
    const namespace = await openMountNamespace();
    const folder = join(scratch(), "mooring-busy");
    for (const name of ["a", "b", "c", "d", "e", "f"]) mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, "owner.json"), "{}");
    // In the order of the disk, in which a folder is removed: what cannot be removed comes after the record.
    const [last = ""] = opendirNames(folder)
      .filter((name) => name !== "owner.json")
      .slice(-1);
    const module = new URL("../../process/run-folder.ts", import.meta.url);
    const program = `import(${JSON.stringify(module)}).then((it) => it.removeRunFolder(${JSON.stringify(folder)}))`;
    await namespace.run(`mount --bind '${folder}/${last}' '${folder}/${last}'`);

    await namespace.run(`! '${process.execPath}' -e '${program}' 2>/dev/null`);

    expect(existsSync(join(folder, "owner.json"))).toBe(true);
  });
});
