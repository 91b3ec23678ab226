import { createKubeClient } from "../common/kube/client.ts";
import { type ConnectionChoice, connect } from "../common/kube/connection.ts";
import { createSystemClock } from "../common/runtime/clock.ts";
import { listen } from "../common/runtime/http-server.ts";
import { runProcess } from "../common/runtime/lifecycle.ts";
import { createLogger } from "../common/runtime/logger.ts";
import { createMetrics } from "../common/runtime/metrics.ts";
import { createSystemRandom } from "../common/runtime/random.ts";
import { type ProvisionerConfig, readProvisionerCommand } from "./config.ts";
import { runProvisioner } from "./provisioner.ts";
import { createKeeperClient } from "./sinks/keeper-client.ts";

const clock = createSystemClock();
let logger = createLogger("info", { component: "provisioner" });

/** Reserving a large image on a slow disk takes some seconds. Milliseconds. */
const KEEPER_DEADLINE_MS = 60_000;

async function run(config: ProvisionerConfig, signal: AbortSignal): Promise<void> {
  logger = createLogger(config.logLevel, { component: "provisioner", node: config.node });
  const { kubeconfig, socket } = config;
  const choice: ConnectionChoice =
    kubeconfig === undefined ? { inCluster: true, clock, logger } : { inCluster: false, kubeconfig };
  const client = createKubeClient(await connect(choice, process.env), { clock, userAgent: "mooring-provisioner" });
  const keeper = createKeeperClient({ clock }, { socket, deadlineMs: KEEPER_DEADLINE_MS });
  const [random, metrics] = [createSystemRandom(), createMetrics()];
  const ports = { clock, random, logger, logLevel: logger, metrics, listen, client, keeper };
  try {
    await runProvisioner(config, ports, signal);
  } finally {
    await client.close();
  }
}

await runProcess(
  async (signal) => {
    const command = readProvisionerCommand({ argv: process.argv.slice(2), env: process.env });
    if (command.kind === "run") return await run(command.config, signal);
    process.stdout.write(`${command.text}\n`);
  },
  () => logger,
);
