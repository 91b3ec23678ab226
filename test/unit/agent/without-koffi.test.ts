import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const MAIN = fileURLToPath(new URL("../../../agent/main.ts", import.meta.url));

/** Makes koffi a package that is not there, as on a machine that it has no binary for. */
const HIDE = `data:text/javascript,import { registerHooks } from "node:module";
registerHooks({ resolve(name, context, next) { if (name === "koffi") throw new Error("no koffi"); return next(name, context); } });`;

it("an agent without koffi reads by timer and bounds its clock more widely", async () => {
  const args = ["--import", HIDE, MAIN, "--dry-run", "--output", "json", "--mountinfo", "/proc/self/mountinfo"];

  const { stdout } = await promisify(execFile)(process.execPath, args);

  const { changes } = JSON.parse(stdout);
  expect(changes).toEqual({ noticedBy: "timer", clock: "monotonic", driftPpm: 100_000 });
});
