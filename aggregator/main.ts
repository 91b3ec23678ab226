import { createKubeClient } from "../common/kube/client.ts";
import { type ConnectionChoice, connect } from "../common/kube/connection.ts";
import { createSystemClock } from "../common/runtime/clock.ts";
import { watchEventLoop } from "../common/runtime/event-loop.ts";
import { listen } from "../common/runtime/http-server.ts";
import { runProcess, runTogether } from "../common/runtime/lifecycle.ts";
import { createLogger } from "../common/runtime/logger.ts";
import { createMetrics } from "../common/runtime/metrics.ts";
import { createSystemRandom } from "../common/runtime/random.ts";
import { runAggregator } from "./aggregator.ts";
import { type AggregatorConfig, readAggregatorCommand } from "./settings/config.ts";

const clock = createSystemClock();
let logger = createLogger("info", { component: "aggregator" });

async function run(config: AggregatorConfig, signal: AbortSignal): Promise<void> {
  logger = createLogger(config.logLevel, { component: "aggregator" });
  const { kubeconfig } = config;
  const choice: ConnectionChoice =
    kubeconfig === undefined ? { inCluster: true, clock, logger } : { inCluster: false, kubeconfig };
  const connection = await connect(choice, process.env);
  const client = createKubeClient(connection, { clock });
  const metrics = createMetrics();
  const ports = { clock, random: createSystemRandom(), logger, logLevel: logger, metrics, listen, client };
  const aggregate = (limited: AbortSignal): Promise<void> => runAggregator(config, ports, limited);
  try {
    await runTogether([aggregate, (limited) => watchEventLoop({ clock, metrics }, limited)], signal);
  } finally {
    await client.close();
  }
}

await runProcess(
  async (signal) => {
    const command = readAggregatorCommand({ argv: process.argv.slice(2), env: process.env });
    if (command.kind === "run") await run(command.config, signal);
    else process.stdout.write(`${command.text}\n`);
  },
  () => logger,
);
