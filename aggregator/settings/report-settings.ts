import {
  type Address,
  optionalAddress,
  optionalPath,
  optionalText,
  textSetting,
  type ValuesOf,
} from "../../common/runtime/settings.ts";
import { type IssuerConfig, LOOK_EVERY_MS } from "../certificates/certificate-issuer.ts";
import type { AgentAccount } from "../core/reports/reporter.ts";

const HOUR_MS = 3_600_000;
const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

/** The settings of reports from other machines. */
export const REPORT_SETTINGS = {
  reportAddress: optionalAddress({
    name: "report-bind-address",
    description:
      "address of reports, by TLS 1.3 and from agents' pods alone; without it they are taken from anybody at --api-bind-address",
  }),
  agentAccount: textSetting(
    { name: "agent-account", description: "namespace/name of the service account of the agents" },
    "mooring-agents/mooring-agent",
  ),
  tlsCertFile: optionalPath({
    name: "tls-cert-file",
    description: "externally managed certificate for --report-bind-address; without it Mooring issues its own",
  }),
  tlsKeyFile: optionalPath({ name: "tls-key-file", description: "key of --tls-cert-file" }),
  tlsNames: optionalText({
    name: "tls-names",
    description:
      "names and addresses of the own certificate, with commas; default: mooring-aggregator.<pod-namespace>.svc",
  }),
} as const;

type ReportValues = ValuesOf<typeof REPORT_SETTINGS>;

/** Which pods may report, and which certificate they see. */
export interface ReportConfig {
  readonly address: Address;
  readonly agents: AgentAccount;
  readonly certificate:
    | { readonly kind: "files"; readonly certificateFile: string; readonly keyFile: string }
    | ({ readonly kind: "issued" } & IssuerConfig);
}

const TIMES = { authorityMs: 8_760 * HOUR_MS, certificateMs: 720 * HOUR_MS } as const;

/** The account that `--agent-account` names. */
export function agentAccountIn({ agentAccount }: ReportValues): AgentAccount {
  const [namespace = "", account = ""] = agentAccount.split("/");
  return { namespace, account };
}

/** `podNamespace` is the aggregator's namespace. Undefined without an address for reports. */
export function readReportConfig(values: ReportValues, podNamespace: string | undefined): ReportConfig | undefined {
  const { reportAddress: address, tlsCertFile: certificateFile, tlsKeyFile: keyFile } = values;
  if (address === undefined) return undefined;
  const agents = agentAccountIn(values);
  if (certificateFile !== undefined && keyFile !== undefined)
    return { address, agents, certificate: { kind: "files", certificateFile, keyFile } };
  const own = podNamespace ?? "";
  const names = namesIn(values.tlsNames) ?? [`mooring-aggregator.${own}.svc`];
  const issuer = { namespace: own, agentNamespace: agents.namespace, names, times: TIMES, lookEveryMs: LOOK_EVERY_MS };
  return { address, agents, certificate: { kind: "issued", ...issuer } };
}

/** The problems of settings that do not fit together. */
export function reportProblems(values: ReportValues, podNamespace: string | undefined): readonly string[] {
  const problems: string[] = [];
  const account = values.agentAccount.split("/");
  if (account.length !== 2 || !account.every((part) => NAME.test(part)))
    problems.push("--agent-account must be namespace/name");
  const files = [values.tlsCertFile, values.tlsKeyFile];
  if ((files[0] === undefined) !== (files[1] === undefined))
    problems.push("--tls-cert-file and --tls-key-file belong together");
  if (values.reportAddress === undefined) return problems;
  const isIssued = files[0] === undefined;
  if (isIssued && podNamespace === undefined)
    problems.push("--pod-namespace is missing: own certificates are kept there");
  const bad = (namesIn(values.tlsNames) ?? []).filter((name) => !NAME.test(name) && !/^[\da-f.:]+$/i.test(name));
  return [...problems, ...bad.map((name) => `--tls-names: "${name}" is no name and no address`)];
}

function namesIn(text: string | undefined): readonly string[] | undefined {
  return text?.split(",").map((name) => name.trim());
}
