// A program under test: it polls the mount table of this machine, and ends in the way that its argument names.
import { createMountNotifier } from "../../agent/sources/mount-notifier.ts";
import { createSystemClock } from "../../common/runtime/clock.ts";
import { MooringError } from "../../common/runtime/errors.ts";
import { runProcess } from "../../common/runtime/lifecycle.ts";
import { createLogger } from "../../common/runtime/logger.ts";

const [ending] = process.argv.slice(2);
const logger = createLogger("info");
const clock = createSystemClock();

await runProcess(
  async (signal) => {
    const mountNotifier = createMountNotifier("/proc/self/mountinfo", { clock, logger });
    const waiting = mountNotifier.wait(60_000, signal);
    // By now the poll occupies its thread.
    await clock.sleep(50);
    process.stdout.write(`${mountNotifier.mode}\n`);
    if (ending === "fail") throw new MooringError("listen-failed", "cannot listen");
    if (ending === "config") throw new MooringError("config-invalid", "--flag is missing");
    if (ending === "reject") void Promise.reject(new Error("rejected where nobody catches it"));
    if (ending === "throw") {
      queueMicrotask(() => {
        throw new Error("thrown where nobody catches it");
      });
    }
    await waiting;
    mountNotifier.close();
  },
  () => logger,
);
