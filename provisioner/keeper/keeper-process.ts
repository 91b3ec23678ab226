import { createMountInfoFile } from "../../common/mounts/mount-info-file.ts";
import type { Clock } from "../../common/runtime/clock.ts";
import { type CheckResult, degraded, PASSED } from "../../common/runtime/health.ts";
import type { Listen } from "../../common/runtime/http-server.ts";
import { createInternalErrors } from "../../common/runtime/internal-errors.ts";
import { logLevelRoutes } from "../../common/runtime/log-level-route.ts";
import type { LevelControl, Logger } from "../../common/runtime/logger.ts";
import type { Metrics } from "../../common/runtime/metrics.ts";
import { observabilityRoutes } from "../../common/runtime/observability.ts";
import { registerProcess } from "../../common/runtime/process-metrics.ts";
import type { Random } from "../../common/runtime/random.ts";
import type { PoolState } from "../protocol.ts";
import type { KeeperConfig } from "./config.ts";
import { createKeeper, type Keeper } from "./keeper.ts";
import type { Kernel } from "./kernel.ts";
import { createNodeActions } from "./node-actions.ts";
import { NODE_FILES } from "./node-files.ts";
import { serveKeeper } from "./server.ts";

/** The dependencies of a keeper's process. */
export interface KeeperPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Changes the log level while the process runs. */
  readonly logLevel?: LevelControl;
  readonly metrics: Metrics;
  readonly listen: Listen;
  readonly kernel: Kernel;
}

/** Runs the keeper of a node until the signal is aborted. Rejects only for a bug or when it cannot listen. */
export async function runKeeper(config: KeeperConfig, ports: KeeperPorts, signal: AbortSignal): Promise<void> {
  const { clock, logger, metrics, kernel } = ports;
  registerProcess(ports, "keeper");
  const errors = createInternalErrors(ports, ["volumes"]);
  const parts = {
    ...{ ...ports, files: NODE_FILES, actions: createNodeActions(kernel), errors: errors.in("volumes") },
    mountInfo: createMountInfoFile(config.mountInfo, { clock }),
  };
  const keeper = createKeeper(parts, config);
  let pools = await keeper.pools();
  const answer: Keeper["answer"] = async (request) => {
    const reply = await keeper.answer(request);
    if (reply.ok && "pools" in reply) pools = reply.pools;
    return reply;
  };
  const settings = { socket: config.socket, group: config.socketGroup };
  const server = await serveKeeper({ clock, keeper: { answer } }, settings);
  const ready = { pools: () => checkPools(pools), "internal-errors": () => errors.check() };
  const health = { live: { ping: () => PASSED }, ready, isDraining: () => signal.aborted };
  const routes = [...observabilityRoutes(metrics, health), ...logLevelRoutes(ports)];
  const http = await ports.listen(routes, config.metricsAddress, logger);
  for (const pool of pools) logPool(pool, { config, logger });
  logger.info({ socket: config.socket, health: http.url }, "keeper started");
  await aborted(signal);
  await Promise.all([server.close(), http.close()]);
  logger.info({}, "keeper stopped");
}

function logPool(
  { name, state, why }: PoolState,
  { config, logger }: { readonly config: KeeperConfig; readonly logger: Logger },
): void {
  const fields = { pool: name, folder: config.pools.find((pool) => pool.name === name)?.path };
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
