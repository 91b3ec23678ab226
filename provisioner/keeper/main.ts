import { createSystemClock } from "../../common/runtime/clock.ts";
import { listen } from "../../common/runtime/http-server.ts";
import { runProcess } from "../../common/runtime/lifecycle.ts";
import { createLogger } from "../../common/runtime/logger.ts";
import { createMetrics } from "../../common/runtime/metrics.ts";
import { createSystemRandom } from "../../common/runtime/random.ts";
import { type KeeperConfig, readKeeperCommand } from "./config.ts";
import { runKeeper } from "./keeper-process.ts";
import { openKernel } from "./kernel.ts";
import { demandRights } from "./rights.ts";

const clock = createSystemClock();
let logger = createLogger("info", { component: "keeper" });

async function run(config: KeeperConfig, signal: AbortSignal): Promise<void> {
  logger = createLogger(config.logLevel, { component: "keeper" });
  await demandRights();
  const [random, metrics, kernel] = [createSystemRandom(), createMetrics(), openKernel()];
  await runKeeper(config, { clock, random, logger, logLevel: logger, metrics, listen, kernel }, signal);
}

await runProcess(
  async (signal) => {
    const command = readKeeperCommand({ argv: process.argv.slice(2), env: process.env });
    if (command.kind === "run") return await run(command.config, signal);
    process.stdout.write(`${command.text}\n`);
  },
  () => logger,
);
