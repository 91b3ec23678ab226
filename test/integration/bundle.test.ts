import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type Bundle, bundle } from "../../.ci/bundle.ts";

const run = promisify(execFile);
const scratch = (): string => mkdtempSync(join(tmpdir(), "scratch-"));
let made: Bundle;

beforeAll(async () => {
  // Far from this repository, whose node_modules it must not need.
  made = await bundle(scratch());
  return () => rmSync(made.folder, { recursive: true, force: true });
});

function mooring(...args: readonly string[]): Promise<{ readonly stdout: string; readonly stderr: string }> {
  return run(process.execPath, [join(made.folder, "mooring.mjs"), ...args], { cwd: made.folder });
}

describe("the bundle", () => {
  it.each(["agent", "aggregator", "provisioner", "keeper"])(
    "has the command %s, which knows its settings",
    async (command) => {
      const { stdout, stderr } = await mooring(command, "--help");

      expect(stdout).toContain(`Usage: ${command} [flags]`);
      expect(stderr).toBe("");
    },
  );

  it("has what the agent loads on demand: native code, and the program that asks for the distribution", async () => {
    const { stdout } = await mooring("agent", "--dry-run", "--output=json");

    expect(JSON.parse(stdout)).toMatchObject({
      node: { distribution: expect.any(String) },
      changes: { noticedBy: "poll", clock: "monotonic-raw" },
    });
  });

  it("closes what a turn of a loop has opened without the error of the turn before", async () => {
    const folder = scratch();
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    await bundle(folder, { disposing: fileURLToPath(new URL("./disposing-program.ts", import.meta.url)) });

    const { stdout } = await run(process.execPath, [join(folder, "disposing.mjs")]);

    expect(stdout).toBe("first try: Error: taken\nsecond try\n");
  });

  it("has what reads a kubeconfig", async () => {
    await expect(mooring("aggregator", "--kubeconfig=/nowhere")).rejects.toMatchObject({
      stderr: expect.stringContaining("cannot read the kubeconfig /nowhere"),
    });
  });

  it.each([
    { name: "an unknown command", args: ["agents"] },
    { name: "a name that every object has", args: ["constructor"] },
    { name: "no command", args: [] },
  ])("refuses $name", async ({ args }) => {
    await expect(mooring(...args)).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining("agent|aggregator"),
    });
  });

  it("has its own licence, and names every package in it with its licence", () => {
    const notices = readFileSync(join(made.folder, "THIRD-PARTY-NOTICES.txt"), "utf8");

    expect(readFileSync(join(made.folder, "LICENSE"), "utf8")).toContain("Apache License");
    for (const name of ["undici", "pino", "valibot", "koffi"]) expect(made.packages).toContain(`node_modules/${name}`);
    for (const path of made.packages) expect(notices).toContain(`\n${path.split("node_modules/").at(-1)} `);
  });

  it("has no package that is only for development, and no source", () => {
    const manifest: { readonly devDependencies: object } = JSON.parse(readFileSync("package.json", "utf8"));
    const files = readdirSync(made.folder, { recursive: true, encoding: "utf8" });

    const developed = Object.keys(manifest.devDependencies).map((name) => `node_modules/${name}`);
    expect(made.packages.filter((path) => developed.includes(path))).toEqual([]);
    expect(files.filter((file) => /\.(ts|map|cc|hh)$/.test(file))).toEqual([]);
  });

  it.each(["ws", "tar-fs", "tar-stream", "stream-buffers", "socks", "socks-proxy-agent", "hpagent"])(
    "has no %s, which only parts of the client need that Mooring does not use",
    (name) => {
      expect(made.packages).not.toContain(`node_modules/${name}`);
    },
  );

  it("has one build of the native package, that for this platform and its C library", () => {
    const files = readdirSync(made.folder, { recursive: true, encoding: "utf8" });

    expect(files.filter((file) => file.endsWith(".node"))).toEqual([
      expect.stringContaining(`${process.platform}_${process.arch}/koffi.node`),
    ]);
  });

  it("is the same when it is made again", async () => {
    const again = await bundle(scratch());
    onTestFinished(() => rmSync(again.folder, { recursive: true, force: true }));

    const files = readdirSync(made.folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    for (const { parentPath, name } of files) {
      const path = join(parentPath, name);
      expect(readFileSync(path.replace(made.folder, again.folder)).equals(readFileSync(path)), path).toBe(true);
    }
  });
});

describe("a command's flags of Node.js", () => {
  /** What a program gets that does nothing but say so. */
  async function flagsGiven(nodeOptions: string): Promise<unknown> {
    const folder = scratch();
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    cpSync(join(made.folder, "mooring.mjs"), join(folder, "mooring.mjs"));
    writeFileSync(join(folder, "node-flags.json"), '{ "agent": ["--max-semi-space-size=2", "--stack-size=900"] }');
    writeFileSync(join(folder, "agent.mjs"), "console.log(JSON.stringify([process.execArgv, process.argv.slice(2)]))");
    const env = { ...process.env, NODE_OPTIONS: nodeOptions };
    const { stdout } = await run(process.execPath, [join(folder, "mooring.mjs"), "agent", "--dry-run"], { env });
    return JSON.parse(stdout);
  }

  it.each([
    { name: "are those of the file", nodeOptions: "", flags: ["--max-semi-space-size=2", "--stack-size=900"] },
    { name: "give way to NODE_OPTIONS", nodeOptions: "--max-semi-space-size=4", flags: ["--stack-size=900"] },
    { name: "give way in either spelling", nodeOptions: "--max_semi_space_size=4", flags: ["--stack-size=900"] },
  ])("$name", async ({ nodeOptions, flags }) => {
    expect(await flagsGiven(nodeOptions)).toEqual([flags, ["--dry-run"]]);
  });
});
