import { createKubeClient } from "../common/kube/client.ts";
import { type ConnectionChoice, connect } from "../common/kube/connection.ts";
import { createSystemClock } from "../common/runtime/clock.ts";
import { runProcess } from "../common/runtime/lifecycle.ts";
import { createLogger } from "../common/runtime/logger.ts";
import { createSystemRandom } from "../common/runtime/random.ts";
import { runAggregator } from "./aggregator.ts";
import { type AggregatorConfig, readAggregatorCommand } from "./config.ts";

const clock = createSystemClock();
let logger = createLogger("info", { component: "aggregator" });

async function run(config: AggregatorConfig, signal: AbortSignal): Promise<void> {
  logger = createLogger(config.logLevel, { component: "aggregator" });
  const { kubeconfig } = config;
  const choice: ConnectionChoice =
    kubeconfig === undefined ? { inCluster: true, clock, logger } : { inCluster: false, kubeconfig };
  const connection = await connect(choice, process.env);
  const client = createKubeClient(connection, { clock });
  try {
    await runAggregator(config, { clock, random: createSystemRandom(), logger, client }, signal);
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
