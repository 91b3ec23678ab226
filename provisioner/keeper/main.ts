import { createMountInfoFile } from "../../common/mounts/mount-info-file.ts";
import { type Clock, createSystemClock } from "../../common/runtime/clock.ts";
import { type CheckResult, degraded, PASSED } from "../../common/runtime/health.ts";
import { listen } from "../../common/runtime/http-server.ts";
import { createInternalErrors } from "../../common/runtime/internal-errors.ts";
import { runProcess } from "../../common/runtime/lifecycle.ts";
import { createLogger, type Logger } from "../../common/runtime/logger.ts";
import { createMetrics } from "../../common/runtime/metrics.ts";
import { observabilityRoutes } from "../../common/runtime/observability.ts";
import { registerProcess } from "../../common/runtime/process-metrics.ts";
import { createSystemRandom } from "../../common/runtime/random.ts";
import type { PoolState } from "../protocol.ts";
import { type KeeperConfig, readKeeperCommand } from "./config.ts";
import { createKeeper } from "./keeper.ts";
import { openKernel } from "./kernel.ts";
import { createNodeActions } from "./node-actions.ts";
import { NODE_FILES } from "./node-files.ts";
import { countRequests } from "./request-metrics.ts";
import { serveKeeper } from "./server.ts";

const clock: Clock = createSystemClock();
let logger: Logger = createLogger("info", { component: "keeper" });

async function run(config: KeeperConfig, signal: AbortSignal): Promise<void> {
  logger = createLogger(config.logLevel, { component: "keeper" });
  const metrics = createMetrics();
  registerProcess({ metrics, clock }, "keeper");
  const errors = createInternalErrors({ logger, metrics }, ["volumes"]);
  const kernel = openKernel();
  const keeper = countRequests(
    { metrics },
    createKeeper(
      {
        kernel,
        files: NODE_FILES,
        actions: createNodeActions(kernel),
        mountInfo: createMountInfoFile(config.mountInfo, { clock }),
        random: createSystemRandom(),
        logger,
        errors: errors.in("volumes"),
      },
      config,
    ),
  );
  const pools = await keeper.pools();
  const server = await serveKeeper({ clock, keeper }, { socket: config.socket, group: config.socketGroup });
  const ready = { pools: () => checkPools(keeper.lastPools() ?? pools), "internal-errors": () => errors.check() };
  const health = { live: { ping: () => PASSED }, ready, isDraining: () => signal.aborted };
  const http = await listen(observabilityRoutes(metrics, health), config.listen, logger);
  for (const pool of pools) tellPool(pool, config);
  logger.info({ socket: config.socket, health: http.url }, "keeper started");
  await aborted(signal);
  await Promise.all([server.close(), http.close()]);
  logger.info({}, "keeper stopped");
}

function tellPool({ name, state, why }: PoolState, { pools }: KeeperConfig): void {
  const fields = { pool: name, folder: pools.find((pool) => pool.name === name)?.path };
  if (state === "lost") logger.warn({ ...fields, why }, "pool cannot be used");
  else if (state === "empty") logger.info(fields, "pool is empty, the provisioner begins it with the first volume");
  else logger.info(fields, "pool is ready");
}

/** A restart does not bring a disk back, and the other pools go on. */
function checkPools(pools: readonly PoolState[]): CheckResult {
  const lost = pools.filter(({ state }) => state === "lost");
  return lost.length === 0 ? PASSED : degraded(lost.map(({ name, why }) => `${name}: ${why}`).join("; "));
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

await runProcess(
  async (signal) => {
    const command = readKeeperCommand({ argv: process.argv.slice(2), env: process.env });
    if (command.kind === "run") await run(command.config, signal);
    else process.stdout.write(`${command.text}\n`);
  },
  () => logger,
);
