import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";

const DEMO = fileURLToPath(new URL("../demo/main.ts", import.meta.url));

function runDemo(args: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), "demo-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const env = { ...process.env, TMPDIR: folder };
  const child = spawn(process.execPath, [DEMO, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const code = new Promise<number | null>((resolve) => child.once("close", resolve));
  return { child, code, stdout: text(child.stdout), stderr: text(child.stderr), left: () => readdirSync(folder) };
}

it("the demo's story holds from its first step to its last, and leaves nothing behind", async () => {
  const demo = runDemo([]);

  const code = await demo.code;

  expect(await demo.stderr).toBe("");
  expect(await demo.stdout).toContain("All steps hold");
  expect(code).toBe(0);
  expect(demo.left()).toEqual([]);
}, 120_000);

it("the demo cleans up after Ctrl-C", async () => {
  const demo = runDemo([]);
  demo.child.stdout.once("data", () => demo.child.kill("SIGINT"));

  const code = await demo.code;

  expect(code).toBe(130);
  expect(demo.left()).toEqual([]);
}, 60_000);

it("the demo refuses a flag that it does not know", async () => {
  const demo = runDemo(["--kepp"]);

  const code = await demo.code;

  expect(code).toBe(1);
  expect(await demo.stderr).toContain("--kepp");
});
