import { type AgentConfig, readAgentCommand } from "../../../agent/config.ts";
import {
  type AggregatorConfig,
  type ElectionConfig,
  readAggregatorCommand,
} from "../../../aggregator/settings/config.ts";

/**
 * The defaults of the product, so that the simulation covers a changed default, too. Only enforcement is off unless a world turns it on.
 */
export const AGENT_CONFIG: AgentConfig = agentDefaults();
export const AGGREGATOR_CONFIG: AggregatorConfig & { readonly election: ElectionConfig } = aggregatorDefaults();

function agentDefaults(): AgentConfig {
  const identity = ["--node", "node", "--pod-uid", "uid", "--affinity", "off", "--aggregator-token-file", "/token"];
  const argv = [...identity, "--aggregator-url", "https://mooring-aggregator.mooring"];
  const command = readAgentCommand({ argv, env: {} });
  if (command.kind !== "run") throw new Error("the agent's defaults are no configuration");
  return command.config;
}

function aggregatorDefaults(): AggregatorConfig & { readonly election: ElectionConfig } {
  const argv = ["--leader-elect", "--pod-name", "pod", "--pod-namespace", "mooring"];
  const command = readAggregatorCommand({ argv, env: {} });
  if (command.kind !== "run" || command.config.election === undefined)
    throw new Error("the aggregator's defaults are no configuration");
  return { ...command.config, election: command.config.election };
}
