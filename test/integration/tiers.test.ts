import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { missingForImages } from "../image/buildah.ts";
import { adviceOn } from "../rig/node/preconditions.ts";
import { type Started, startNode } from "../unit/tooling/started.ts";

const TIERS = fileURLToPath(new URL("../../.ci/tiers.mjs", import.meta.url));

/** Stands for vitest: writes the report of one test in each tier that is named, that passed. */
const RUNNER = `
  import { writeFileSync } from "node:fs";
  export function report(...tiers) {
    const testResults = tiers.map((tier) => ({
      name: process.cwd() + "/test/" + tier + "/a.test.ts", status: "passed", assertionResults: [{ status: "passed" }],
    }));
    writeFileSync("test-results.json", JSON.stringify({ testResults }));
  }
  /** Stays until a signal; not for ever, should the test be killed. */
  export function stay(onSignal) {
    if (onSignal !== undefined) process.on("SIGTERM", () => { onSignal(); process.exit(0); });
    setTimeout(() => process.exit(1), 120_000);
    console.error("it runs");
  }`;
/** Stands for npm, which takes half a second to begin: runs the script that `npm run --silent` names. */
const NPM = '#!/bin/sh\nexec node "$3.mjs"\n';
const PASSES = `import { report } from "./runner.mjs"; report("unit", "program", "integration");`;
const E2E_PASSES = `import { writeFileSync } from "node:fs"; import { report } from "./runner.mjs";
  writeFileSync("e2e-began", ""); report("e2e");`;
const NOTHING_MISSING = "console.log('[]')";
const STAYS = `import { stay } from "../../../runner.mjs"; stay();`;

/** What the parts of a project do, in JavaScript. */
interface Parts {
  readonly test?: string;
  readonly e2e?: string;
  readonly probe?: string;
}

interface Project {
  readonly tiers: Started;
  /** Whether the script of the e2e tier was started. */
  readonly isE2eBegun: () => boolean;
}

/** Runs all tiers of a project that has nothing but stubs. */
function runTiers({ test = PASSES, e2e = E2E_PASSES, probe = NOTHING_MISSING }: Parts): Project {
  const folder = mkdtempSync(join(tmpdir(), "scratch-"));
  const files = {
    "package.json": JSON.stringify({ type: "module", scripts: { test: "", "test:e2e": "" } }),
    "bin/npm": NPM,
    ".ci/e2e-packages": "",
    "runner.mjs": RUNNER,
    "test.mjs": test,
    "test:e2e.mjs": e2e,
    "test/rig/node/probe.ts": probe,
  };
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content, { mode: 0o755 });
  }
  const PATH = [join(folder, "bin"), dirname(process.execPath), process.env.PATH].join(delimiter);
  const tiers = startNode([TIERS], { cwd: folder, env: { ...process.env, PATH } });
  onTestFinished(async () => {
    tiers.signal("SIGTERM");
    await tiers.ended;
    rmSync(folder, { recursive: true });
  });
  return { tiers, isE2eBegun: () => existsSync(join(folder, "e2e-began")) };
}

async function endOf({ tiers }: Project): Promise<{ readonly code: number | null; readonly lines: readonly string[] }> {
  const { code, output } = await tiers.ended;
  return { code, lines: output.trimEnd().split("\n") };
}

describe("all tiers", () => {
  it("are added up in the last line", async () => {
    const { code, lines } = await endOf(runTiers({}));

    expect(lines).toEqual([
      "",
      "unit: 1 passed, 0 failed",
      "program: 1 passed, 0 failed",
      "integration: 1 passed, 0 failed",
      "e2e: 1 passed, 0 failed",
      "4 passed, 0 failed",
    ]);
    expect(code).toBe(0);
  });

  it("name what this machine lacks for one of them, which does not start", async () => {
    const project = runTiers({ probe: `console.log('["root: nodes are made of mounts"]')` });

    const { code, lines } = await endOf(project);

    expect(lines.slice(-2)).toEqual([
      "e2e: NOT RUN, for this machine lacks root: nodes are made of mounts",
      "3 passed, 0 failed",
    ]);
    expect(code).toBe(0);
    expect(project.isE2eBegun()).toBe(false);
  });

  it("begin one whose probe fails: it shows why itself", async () => {
    const project = runTiers({ probe: "process.exit(1)" });

    const { code } = await endOf(project);

    expect(project.isE2eBegun()).toBe(true);
    expect(code).toBe(0);
  });

  it("are not good when one left no report, nor does the report of the one before count for it", async () => {
    const { code, lines } = await endOf(runTiers({ e2e: "" }));

    expect(lines.slice(-3)).toEqual([
      "e2e: 0 passed, 0 failed",
      "e2e: no readable report (exit code 0)",
      "3 passed, 0 failed",
    ]);
    expect(code).toBe(1);
  });
});

describe("a run that is interrupted", () => {
  it.each([
    { name: "SIGTERM", code: 143, tell: ({ signal }: Started) => signal("SIGTERM") },
    {
      name: "Ctrl-C, which its children hear as well",
      code: 130,
      tell: ({ pid }: Started) => process.kill(-pid, "SIGINT"),
    },
  ])("begins no tier whose probe ended by it: $name", async ({ code: reported, tell }) => {
    const project = runTiers({ probe: STAYS });
    await project.tiers.said(/it runs/);

    tell(project.tiers);
    const { code, lines } = await endOf(project);

    expect(project.isE2eBegun()).toBe(false);
    expect(lines.slice(-3)).toEqual([
      "e2e: 0 passed, 0 failed",
      `e2e: no readable report (exit code ${reported})`,
      "3 passed, 0 failed",
    ]);
    expect(code).toBe(1);
  });

  it("fails for the tiers that it did not begin, although earlier ones passed", async () => {
    const passes = `import { report, stay } from "./runner.mjs"; stay(() => report("unit", "program", "integration"));`;
    const project = runTiers({ test: passes });
    await project.tiers.said(/it runs/);

    project.tiers.signal("SIGTERM");
    const { code, lines } = await endOf(project);

    expect(project.isE2eBegun()).toBe(false);
    expect(lines.slice(-3)).toEqual([
      "e2e: 0 passed, 0 failed",
      "e2e: no readable report (exit code 143)",
      "3 passed, 0 failed",
    ]);
    expect(code).toBe(1);
  });
});

describe("the probe of the e2e tier", () => {
  const probe = fileURLToPath(new URL("../rig/node/probe.ts", import.meta.url));

  /** What the probe names for another user: the same files are readable, and no action is permitted. */
  async function missingAs(...flags: readonly string[]): Promise<unknown> {
    const { stdout } = await promisify(execFile)("unshare", ["--user", ...flags, process.execPath, probe]);
    return JSON.parse(stdout);
  }

  it("names nothing but root for another user", async () => {
    const missing = await missingAs();

    expect(missing).toEqual(["root: nodes are made of mounts, network links and cgroups", ...missingForImages()]);
  });

  it.each([
    { name: "with the programs of this machine", flags: ["--map-root-user"] },
    { name: "without most of them", flags: ["--map-root-user", "env", "PATH=/nowhere"] },
  ])("names what the kernel forbids this root user $name", async ({ flags }) => {
    const missing = await missingAs(...flags);

    expect(missing).toContainEqual(
      expect.stringMatching(
        /^the kernel's events of mounts \(Linux 6\.15\): fanotify_init for mounts failed with errno \d+/,
      ),
    );
  });
});

describe("a tier that this machine cannot run", () => {
  it("names what is missing, and nothing else", async () => {
    const vitest = fileURLToPath(new URL("../../node_modules/vitest/vitest.mjs", import.meta.url));
    // A user without privileges on this machine is `nobody` there, and cannot run nodes, whatever is installed.
    const asNobody = ["--user", process.execPath, vitest, "run", "--project=e2e", "--reporter=default"];
    const running = promisify(execFile)("unshare", asNobody);

    const said = await running.then(
      () => expect.fail("it passed"),
      ({ stdout, stderr }) => ({ code: running.child.exitCode, stdout, stderr }),
    );

    expect(said).toEqual({
      code: 1,
      stdout: expect.stringMatching(/^[^\n]*\n[^\n]*RUN[^\n]*\n\n$/),
      stderr: `mooring: ${adviceOn(["root: nodes are made of mounts, network links and cgroups"])}\n`,
    });
  });
});
