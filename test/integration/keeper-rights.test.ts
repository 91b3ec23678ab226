import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";

const MAIN = fileURLToPath(new URL("../../provisioner/keeper/main.ts", import.meta.url));

it("a keeper without root exits at once, names the missing permissions, and creates nothing", async () => {
  const folder = mkdtempSync(join(tmpdir(), "mooring-keeper-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const flags = [
    "--pool",
    `default=${folder}`,
    "--socket",
    join(folder, "keeper.sock"),
    "--metrics-bind-address",
    "127.0.0.1:0",
  ];

  // A user namespace without a map: this user is `nobody` there.
  const ended = promisify(execFile)("unshare", ["--user", process.execPath, MAIN, ...flags]);

  const why = "it runs as user 65534, and images and loop devices are root's: set runAsUser: 0 for the container";
  await expect(ended).rejects.toMatchObject({ code: 1, stderr: `The keeper cannot work here:\n  ${why}\n` });
  expect(readdirSync(folder)).toEqual([]);
});
