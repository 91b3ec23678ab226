import { LOG_LEVELS, type LogLevel } from "../common/runtime/logger.ts";
import {
  type Address,
  addressSetting,
  choiceSetting,
  describeSettings,
  durationSetting,
  isLoopback,
  optionalText,
  readSettings,
  type SettingsInput,
  type SettingsReader,
  switchSetting,
} from "../common/runtime/settings.ts";
import { UPSTREAM_SETTINGS, type UpstreamSetting } from "./core/upstream-policy.ts";

/** Every setting of the aggregator, with its default. */
export const AGGREGATOR_SETTINGS = {
  kubeconfig: optionalText({ name: "kubeconfig", description: "kubeconfig file; without it the cluster this runs in" }),
  listen: addressSetting(
    {
      name: "listen",
      description: "address of reports, health and metrics; loopback only as long as reports are not authenticated",
    },
    "127.0.0.1:9809",
  ),
  allowInsecureReports: switchSetting({
    name: "allow-insecure-reports",
    description:
      "listen on any address, for tests: whoever reaches it reads the lists and can say anything of any node",
  }),
  silentAfter: durationSetting(
    { name: "silent-after", description: "a node without a report for this long is silent; three heartbeats" },
    { min: 1_000, max: 3_600_000 },
    "90s",
  ),
  agentlessAfter: durationSetting(
    {
      name: "agentless-after",
      description: "a node without a report and without an agent pod for this long has no agent, if its kubelet lives",
    },
    { min: 1_000, max: 86_400_000 },
    "10m",
  ),
  nodeGoneAfter: durationSetting(
    { name: "node-gone-after", description: "a node whose Node object has been deleted for this long is gone" },
    { min: 1_000, max: 86_400_000 },
    "5m",
  ),
  reasonDelay: durationSetting(
    { name: "reason-delay", description: "changes of the reason alone are folded over this time" },
    { min: 0, max: 60_000 },
    "5s",
  ),
  upstreamCondition: choiceSetting(
    {
      name: "upstream-condition",
      description: "also write Kubernetes' own condition Unused where nobody else does; auto: on servers before 1.36",
    },
    UPSTREAM_SETTINGS,
    "auto",
  ),
  logLevel: choiceSetting({ name: "log-level", description: "least level that is logged" }, LOG_LEVELS, "info"),
} as const;

/** What an aggregator runs with. Durations in milliseconds. */
export interface AggregatorConfig {
  readonly kubeconfig: string | undefined;
  readonly listen: Address;
  readonly allowInsecureReports: boolean;
  readonly silentAfterMs: number;
  readonly agentlessAfterMs: number;
  readonly nodeGoneAfterMs: number;
  readonly reasonDelayMs: number;
  readonly upstreamCondition: UpstreamSetting;
  readonly logLevel: LogLevel;
}

/** What the command line asks for. */
export type AggregatorCommand =
  | { readonly kind: "help"; readonly text: string }
  | { readonly kind: "run"; readonly config: AggregatorConfig };

/** Reads the whole configuration once. Throws `MooringError` "config-invalid" that lists every problem. */
export function readAggregatorCommand(input: SettingsInput): AggregatorCommand {
  const settings = Object.values(AGGREGATOR_SETTINGS);
  if (input.argv.includes("--help")) return { kind: "help", text: helpText(settings) };
  const { get } = readSettings(settings, input, [listenProblems]);
  const config = Object.freeze({
    kubeconfig: get(AGGREGATOR_SETTINGS.kubeconfig),
    listen: get(AGGREGATOR_SETTINGS.listen),
    allowInsecureReports: get(AGGREGATOR_SETTINGS.allowInsecureReports),
    silentAfterMs: get(AGGREGATOR_SETTINGS.silentAfter),
    agentlessAfterMs: get(AGGREGATOR_SETTINGS.agentlessAfter),
    nodeGoneAfterMs: get(AGGREGATOR_SETTINGS.nodeGoneAfter),
    reasonDelayMs: get(AGGREGATOR_SETTINGS.reasonDelay),
    upstreamCondition: get(AGGREGATOR_SETTINGS.upstreamCondition),
    logLevel: get(AGGREGATOR_SETTINGS.logLevel),
  });
  return { kind: "run", config };
}

function helpText(settings: Parameters<typeof describeSettings>[0]): string {
  return `Usage: aggregator [flags]\n\nMerges the reports of all nodes and writes the status of claims.\n\n${describeSettings(settings)}`;
}

/** Reports are not authenticated yet: whoever reaches the address could say anything about any node. */
function listenProblems({ get }: SettingsReader): readonly string[] {
  const { host } = get(AGGREGATOR_SETTINGS.listen);
  if (isLoopback(host) || get(AGGREGATOR_SETTINGS.allowInsecureReports)) return [];
  return [
    `--listen: ${host || "every address"} is no loopback address; reports are not authenticated yet, so only 127.0.0.1 or ::1 will do (or, for tests, --allow-insecure-reports)`,
  ];
}
