import { isIP } from "node:net";
import { LONGEST_DURATION_MS } from "../../common/kube/election.ts";
import { LOG_LEVELS } from "../../common/runtime/logger.ts";
import {
  addressSetting,
  choiceSetting,
  countSetting,
  describeSettings,
  durationSetting,
  loopbackOnly,
  optionalAddress,
  optionalPath,
  optionalText,
  readSettings,
  type SettingsInput,
  switchSetting,
  textSetting,
  type ValuesOf,
} from "../../common/runtime/settings.ts";
import type { OwnCertificate } from "../certificates/own-serving.ts";
import { PROTECTION_MODES } from "../core/claims/deletion.ts";
import type { AgentAccount } from "../core/reports/reporter.ts";

export const AGGREGATOR_SETTINGS = {
  kubeconfig: optionalText({ name: "kubeconfig", description: "kubeconfig file; without it the cluster this runs in" }),
  apiAddress: addressSetting(
    {
      name: "api-bind-address",
      description: "loopback address of lists, health and metrics, and of reports without --report-bind-address",
    },
    "127.0.0.1:9809",
  ),
  metricsAddress: optionalAddress({
    name: "metrics-bind-address",
    description: "a further address of health and metrics, for probes and scrapes",
  }),
  reportAddress: optionalAddress({
    name: "report-bind-address",
    description:
      "address of reports by TLS 1.3, from agents' pods alone; without it from anybody at --api-bind-address",
  }),
  agentAccount: textSetting(
    { name: "agent-account", description: "namespace/name of the service account of the agents" },
    "mooring-agents/mooring-agent",
  ),
  tlsCertFile: optionalPath({
    name: "tls-cert-file",
    description: "externally managed certificate for --report-bind-address; without it each replica makes its own",
  }),
  tlsKeyFile: optionalPath({ name: "tls-key-file", description: "key of --tls-cert-file" }),
  tlsNames: optionalText({
    name: "tls-names",
    description: "names and addresses of the own certificate, with commas [mooring-aggregator.<pod-namespace>.svc]",
  }),
  nodeStaleAfterMs: durationSetting(
    { name: "node-stale-after", description: "a node without a report for this long is Stale; three heartbeats" },
    { min: 1_000, max: 3_600_000 },
    "90s",
  ),
  noAgentAfterMs: durationSetting(
    {
      name: "no-agent-after",
      description: "a node without report and agent pod for this long has no agent, once it is Ready",
    },
    { min: 1_000, max: 86_400_000 },
    "10m",
  ),
  nodeGoneAfterMs: durationSetting(
    { name: "node-gone-after", description: "a node whose Node object has been deleted for this long is gone" },
    { min: 1_000, max: 86_400_000 },
    "5m",
  ),
  protection: choiceSetting(
    {
      name: "protection",
      description: "what policies do with a deleted claim that is mounted; if not off, a staged claim says so",
    },
    PROTECTION_MODES,
    "off",
  ),
  pauseRejectionsAt: countSetting(
    {
      name: "pause-rejections-at",
      description:
        "no pod is rejected any more after so many were in ten minutes, or one on more than a fifth of the nodes (at least five); one namespace counts for half of that at most; 0 for never",
    },
    { min: 0, max: 100_000 },
    "50",
  ),
  leaderElect: switchSetting({
    name: "leader-elect",
    description: "let one of several replicas decide and write, by the Lease mooring-aggregator in their namespace",
  }),
  podName: optionalText({ name: "pod-name", description: "name of the own pod, with --leader-elect" }),
  podNamespace: optionalText({ name: "pod-namespace", description: "namespace of the own pod, with --leader-elect" }),
  leaseDurationMs: durationSetting(
    {
      name: "leader-elect-lease-duration",
      description: "a leader that does not renew its Lease for this long is replaced; it stops after two thirds of it",
    },
    { min: 3_000, max: LONGEST_DURATION_MS },
    "15s",
  ),
  claimMetrics: switchSetting({
    name: "claim-metrics",
    description: "also metrics of single claims, by namespace and name, of the leader; of 20,000 claims at most",
  }),
  volumeMetrics: switchSetting({
    name: "volume-metrics",
    description: "also metrics of single volumes, by name, of the leader; of 20,000 volumes at most",
  }),
  logLevel: choiceSetting(
    { name: "log-level", description: "lines below this level are not logged" },
    LOG_LEVELS,
    "info",
  ),
} as const;

type Values = ValuesOf<typeof AGGREGATOR_SETTINGS>;

/** The configuration of an aggregator. Durations in milliseconds. */
export type AggregatorConfig = ReturnType<typeof configOf> & { readonly reasonDelayMs?: number };

export type ElectionConfig = ReturnType<typeof electionOf>;

/** Where agents report, and which certificate they see. */
export type ReportConfig = NonNullable<ReturnType<typeof reportsOf>>;

type AggregatorCommand =
  | { readonly kind: "help"; readonly text: string }
  | { readonly kind: "run"; readonly config: AggregatorConfig };

/** Reads the whole configuration once. Throws `MooringError` "config-invalid" that lists every problem. */
export function readAggregatorCommand(input: SettingsInput): AggregatorCommand {
  const usage = "Usage: aggregator [flags]\n\nMerges the reports of all nodes and writes the status of claims.";
  if (input.argv.includes("--help"))
    return { kind: "help", text: `${usage}\n\n${describeSettings(AGGREGATOR_SETTINGS)}` };
  const rules = [listenProblems, electionProblems, reportProblems];
  return { kind: "run", config: configOf(readSettings(AGGREGATOR_SETTINGS, input, rules)) };
}

function configOf(values: Values) {
  return Object.freeze({
    ...values,
    /** Undefined where reports come from this machine alone. */
    reports: reportsOf(values),
    agents: agentAccountIn(values),
    /** Undefined for a single process. */
    election: values.leaderElect ? electionOf(values) : undefined,
  });
}

/** This address takes anyone's reports, and lists name claims and pods: `kubectl port-forward` checks who calls. */
function listenProblems({ apiAddress }: Values): readonly string[] {
  const instead = "probes and metrics have --metrics-bind-address, reports --report-bind-address";
  return loopbackOnly(AGGREGATOR_SETTINGS.apiAddress, apiAddress).map((problem) => `${problem}; ${instead}`);
}

/** The proportions of client-go's defaults: 15, 10 and 2 s. */
function electionOf({ podNamespace = "", podName = "", leaseDurationMs: durationMs }: Values) {
  const timing = { durationMs, renewDeadlineMs: (durationMs * 2) / 3, retryMs: (durationMs * 2) / 15 };
  return Object.freeze({ namespace: podNamespace, pod: podName, timing });
}

function electionProblems({ leaderElect, leaseDurationMs, podName, podNamespace }: Values): readonly string[] {
  if (!leaderElect) return [];
  const problems = leaseDurationMs % 1_000 === 0 ? [] : ["--leader-elect-lease-duration must be whole seconds"];
  if (podName === undefined) problems.push("--pod-name is missing: --leader-elect needs it");
  if (podNamespace === undefined) problems.push("--pod-namespace is missing: --leader-elect needs it");
  return problems;
}

const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;
/** The key of the only replica, where there is no election. */
const SOLE = "mooring-aggregator";

function agentAccountIn({ agentAccount }: Values): AgentAccount {
  const [namespace = "", account = ""] = agentAccount.split("/");
  return { namespace, account };
}

function reportsOf(values: Values) {
  const { reportAddress: address, tlsCertFile: certificateFile, tlsKeyFile: keyFile, podName, podNamespace } = values;
  if (address === undefined) return undefined;
  if (certificateFile !== undefined && keyFile !== undefined)
    return { address, certificate: { kind: "files" as const, certificateFile, keyFile } };
  const names = namesIn(values.tlsNames) ?? [`mooring-aggregator.${podNamespace}.svc`];
  const own: OwnCertificate = { replica: podName ?? SOLE, names, agentNamespace: agentAccountIn(values).namespace };
  return { address, certificate: { kind: "own" as const, ...own } };
}

function reportProblems(values: Values): readonly string[] {
  const problems: string[] = [];
  const account = values.agentAccount.split("/");
  if (account.length !== 2 || !account.every((part) => NAME.test(part)))
    problems.push("--agent-account must be namespace/name");
  const files = [values.tlsCertFile, values.tlsKeyFile];
  if ((files[0] === undefined) !== (files[1] === undefined))
    problems.push("--tls-cert-file and --tls-key-file belong together");
  if (values.reportAddress === undefined) return problems;
  const names = namesIn(values.tlsNames);
  if (files[0] === undefined && names === undefined && values.podNamespace === undefined)
    problems.push("--pod-namespace is missing: the own certificate names it (or use --tls-names)");
  // An address with a zone is one of this machine alone.
  const bad = (names ?? []).filter((name) => !NAME.test(name) && (isIP(name) === 0 || name.includes("%")));
  return [...problems, ...bad.map((name) => `--tls-names: "${name}" is no name and no address`)];
}

function namesIn(text: string | undefined): readonly string[] | undefined {
  return text?.split(",").map((name) => name.trim());
}
