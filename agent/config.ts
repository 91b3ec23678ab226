import { LOG_LEVELS, type LogLevel } from "../common/runtime/logger.ts";
import {
  type Address,
  addressSetting,
  choiceSetting,
  describeSettings,
  durationSetting,
  isLoopback,
  loopbackOnly,
  optionalPath,
  optionalText,
  readSettings,
  type SettingsInput,
  switchSetting,
  textSetting,
  type ValuesOf,
} from "../common/runtime/settings.ts";
import { AFFINITY_SETTINGS, type AffinityConfig, affinityConfigOf } from "./enforcement/settings.ts";

/** Every setting of the agent, with its default. */
export const AGENT_SETTINGS = {
  node: optionalText({ name: "node", description: "name of the node this agent runs on" }),
  podUid: optionalText({
    name: "pod-uid",
    description: "UID of the agent's own pod, whose token mount proves the mount table",
  }),
  podNamespace: textSetting(
    { name: "pod-namespace", description: "namespace of the agent's own pod" },
    "mooring-agents",
  ),
  aggregatorUrl: optionalText({
    name: "aggregator-url",
    description: "where reports go; http only to a loopback address",
  }),
  aggregatorCaFile: optionalPath({
    name: "aggregator-ca-file",
    description:
      "authorities that the aggregator's certificate may be of, and no other; default: the certificates that the aggregator publishes in --pod-namespace",
  }),
  aggregatorTokenFile: optionalPath({
    name: "aggregator-token-file",
    description: "service account token for the audience mooring-aggregator; needed with https",
  }),
  kubeconfig: optionalText({ name: "kubeconfig", description: "kubeconfig file; without it the cluster this runs in" }),
  mountInfo: textSetting({ name: "mountinfo", description: "the node's mount table" }, "/proc/1/mountinfo"),
  bootId: textSetting({ name: "boot-id-file", description: "the kernel's boot ID" }, "/proc/sys/kernel/random/boot_id"),
  kubeletRoot: optionalPath({
    name: "kubelet-root",
    description: "the kubelet's root; default: learnt from the own pod's mount",
  }),
  journalDir: optionalPath({
    name: "journal-dir",
    description: "the node's directory for the journal; without it a restart is a gap",
  }),
  prepareJournal: switchSetting({
    name: "prepare-journal",
    description: "give the journal's directory to user and group 60871, and end; needs root and CHOWN",
  }),
  heartbeatMs: durationSetting(
    { name: "heartbeat", description: "a report at least this often, plus or minus a fifth" },
    { min: 500, max: 600_000 },
    "30s",
  ),
  debounceMs: durationSetting(
    { name: "debounce", description: "wait after a change of the mount table before it is read" },
    { min: 0, max: 5_000 },
    "100ms",
  ),
  ...AFFINITY_SETTINGS,
  metricsAddress: addressSetting(
    { name: "metrics-bind-address", description: "address of health and metrics" },
    "127.0.0.1:9808",
  ),
  debugAddress: addressSetting(
    {
      name: "debug-bind-address",
      description: "loopback address of /debug/mounted-volumes, /debug/verdicts and /debug/log-level",
    },
    "127.0.0.1:9810",
  ),
  logLevel: choiceSetting(
    { name: "log-level", description: "lines below this level are not logged" },
    LOG_LEVELS,
    "info",
  ),
  dryRun: switchSetting({
    name: "dry-run",
    description: "print what the mount table shows, open no connection, and end",
  }),
  output: choiceSetting({ name: "output", description: "format of the dry run" }, ["table", "json"], "table"),
} as const;

/** What an agent in a cluster runs with. Durations in milliseconds. */
export interface AgentConfig {
  readonly node: string;
  readonly podUid: string;
  readonly podNamespace: string;
  readonly aggregatorUrl: string;
  readonly aggregatorCaFile: string | undefined;
  readonly aggregatorTokenFile: string | undefined;
  readonly kubeconfig: string | undefined;
  readonly mountInfo: string;
  readonly bootId: string;
  readonly kubeletRoot: string | undefined;
  /** Where the journal is; without it there is none that outlives the process. */
  readonly journalDir: string | undefined;
  readonly heartbeatMs: number;
  readonly debounceMs: number;
  readonly affinity: AffinityConfig;
  readonly metricsAddress: Address;
  /** A loopback address. */
  readonly debugAddress: Address;
  readonly logLevel: LogLevel;
}

/** What a dry run needs. */
export interface DryRunConfig {
  readonly mountInfo: string;
  readonly bootId: string;
  readonly kubeletRoot: string | undefined;
  readonly output: "table" | "json";
}

/** What the command line asks for. */
export type AgentCommand =
  | { readonly kind: "help"; readonly text: string }
  | { readonly kind: "dry-run"; readonly config: DryRunConfig }
  | { readonly kind: "prepare-journal"; readonly directory: string }
  | { readonly kind: "run"; readonly config: AgentConfig };

/** Reads the whole configuration once. Throws `MooringError` "config-invalid" that lists every problem. */
export function readAgentCommand(input: SettingsInput): AgentCommand {
  const usage = "Usage: agent [flags]\n\nWatches a node's mount table and reports what it shows to the aggregator.";
  if (input.argv.includes("--help")) return { kind: "help", text: `${usage}\n\n${describeSettings(AGENT_SETTINGS)}` };
  const values = readSettings(AGENT_SETTINGS, input, RULES);
  const { prepareJournal, dryRun, journalDir, mountInfo, bootId, output } = values;
  if (prepareJournal) return { kind: "prepare-journal", directory: journalDir ?? "" };
  // The mount table is kept as latin1, a character a byte, so what it is compared with is, too.
  const kubeletRoot = values.kubeletRoot && Buffer.from(values.kubeletRoot, "utf8").toString("latin1");
  if (dryRun) return { kind: "dry-run", config: { mountInfo, bootId, kubeletRoot, output } };
  const { node = "", podUid = "", aggregatorUrl = "" } = values;
  const affinity = affinityConfigOf(values);
  return { kind: "run", config: Object.freeze({ ...values, kubeletRoot, node, podUid, aggregatorUrl, affinity }) };
}

type Values = ValuesOf<typeof AGENT_SETTINGS>;

/** What only the settings together show. */
const RULES = [
  missingProblems,
  ({ debugAddress }: Values) => loopbackOnly(AGENT_SETTINGS.debugAddress, debugAddress),
  aggregatorProblems,
];

function missingProblems({ prepareJournal, journalDir, dryRun, node, podUid, aggregatorUrl }: Values) {
  if (prepareJournal) return journalDir === undefined ? ["--journal-dir is missing: what is to be prepared?"] : [];
  if (dryRun) return [];
  const needed = { node, "pod-uid": podUid, "aggregator-url": aggregatorUrl };
  const missing = Object.entries(needed).filter(([, value]) => value === undefined);
  return missing.map(([name]) => `--${name} is missing (or use --dry-run)`);
}

function aggregatorProblems({ aggregatorUrl, aggregatorTokenFile, dryRun }: Values): readonly string[] {
  return aggregatorUrl === undefined || dryRun ? [] : urlProblems(aggregatorUrl, aggregatorTokenFile !== undefined);
}

function urlProblems(text: string, hasToken: boolean): readonly string[] {
  const url = URL.parse(text);
  if (url === null || !["http:", "https:"].includes(url.protocol)) return ["--aggregator-url is no http or https URL"];
  // Not repeated: it may hold a password.
  if (url.username !== "" || url.password !== "") return ["--aggregator-url must not name a user"];
  if (url.search !== "" || url.hash !== "") return ["--aggregator-url must not have a query or a fragment"];
  if (url.protocol === "https:")
    return hasToken ? [] : ["--aggregator-token-file is missing: without a token no report is taken over https"];
  if (hasToken) return ["--aggregator-token-file: a token is sent over https only"];
  if (isLoopback(url.hostname.replace(/^\[|\]$/g, ""))) return [];
  return [`--aggregator-url "${text}" would send reports unencrypted; http is for loopback addresses only`];
}
