// Records the mounts and unmounts of a mount namespace: node .ci/launch.mjs test/rig/oracle/main.ts /proc/<pid>/ns/mnt <record>
import { createSystemClock } from "../../../common/runtime/clock.ts";
import { HarnessError } from "../process/errors.ts";
import { watchMounts } from "./watcher.ts";

const [namespace, record] = process.argv.slice(2);

try {
  if (namespace === undefined || record === undefined)
    throw new HarnessError("usage: main.ts <namespace file> <record file>");
  const stop = new AbortController();
  for (const name of ["SIGTERM", "SIGINT"] as const) process.on(name, () => stop.abort());
  await watchMounts({ namespace, record }, createSystemClock(), stop.signal);
} catch (error) {
  if (!(error instanceof HarnessError)) throw error;
  process.stderr.write(`mooring: ${error.message}\n`);
  process.exitCode = 1;
}
