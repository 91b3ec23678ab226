import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const PROGRAM = fileURLToPath(new URL("../rig/faults/aborted-writes.ts", import.meta.url));

// In a process of its own, for when this fails it blocks its event loop and takes 300 MB each second.
it("writes that are given up in the middle do not stop the process", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM], {
    timeout: 120_000,
    killSignal: "SIGKILL",
  });

  expect(Number(stdout)).toBeGreaterThanOrEqual(200);
});
