import { readFile } from "node:fs/promises";
import { createKubeClient } from "../common/kube/client.ts";
import { type ConnectionChoice, connect } from "../common/kube/connection.ts";
import { createSystemClock } from "../common/runtime/clock.ts";
import { listen } from "../common/runtime/http-server.ts";
import { runProcess } from "../common/runtime/lifecycle.ts";
import { createLogger } from "../common/runtime/logger.ts";
import { createMetrics } from "../common/runtime/metrics.ts";
import { createSystemRandom } from "../common/runtime/random.ts";
import { createAgentPorts, prepareNode, runAgent } from "./agent.ts";
import { type AgentConfig, readAgentCommand } from "./config.ts";
import { dryRun } from "./dry-run.ts";

const clock = createSystemClock();
let logger = createLogger("info", { component: "agent" });

async function run(config: AgentConfig, signal: AbortSignal): Promise<void> {
  logger = createLogger(config.logLevel, { component: "agent", node: config.node });
  const { kubeconfig } = config;
  const choice: ConnectionChoice =
    kubeconfig === undefined ? { inCluster: true, clock, logger } : { inCluster: false, kubeconfig };
  const connection = await connect(choice, process.env);
  const client = createKubeClient(connection, { clock });
  const bootId = (await readFile(config.bootId, "utf8")).trim();
  const ports = createAgentPorts(config, {
    clock,
    random: createSystemRandom(),
    logger,
    logLevel: logger,
    metrics: createMetrics(),
    listen,
    client,
    bootId,
  });
  try {
    await runAgent(config, ports, signal);
  } finally {
    await Promise.all([client.close(), ports.reportTransport.close()]);
  }
}

await runProcess(
  async (signal) => {
    const command = readAgentCommand({ argv: process.argv.slice(2), env: process.env });
    if (command.kind === "run") return await run(command.config, signal);
    if (command.kind === "prepare-journal") return prepareNode(command.directory);
    const { text, code } =
      command.kind === "help" ? { text: command.text, code: 0 } : await dryRun(command.config, { clock });
    (code === 0 ? process.stdout : process.stderr).write(`${text}\n`);
    process.exitCode = code;
  },
  () => logger,
);
