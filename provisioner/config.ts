import { LOG_LEVELS, type LogLevel } from "../common/runtime/logger.ts";
import {
  type Address,
  addressSetting,
  choiceSetting,
  describeSettings,
  loopbackOnly,
  optionalText,
  readSettings,
  type SettingsInput,
  textSetting,
  type ValuesOf,
} from "../common/runtime/settings.ts";
import { isLabelValue } from "../common/storage/label-syntax.ts";

/** Every setting of the provisioner, with its default. */
export const PROVISIONER_SETTINGS = {
  node: optionalText({ name: "node", description: "name of the node this provisioner runs on" }),
  socket: textSetting(
    { name: "socket", description: "Unix socket of the keeper on this node" },
    "/run/keeper/keeper.sock",
  ),
  kubeconfig: optionalText({ name: "kubeconfig", description: "kubeconfig file; without it the cluster this runs in" }),
  capacity: choiceSetting(
    { name: "capacity", description: "publish the room of this node as CSIStorageCapacity objects" },
    ["on", "off"],
    "on",
  ),
  namespace: textSetting({ name: "namespace", description: "namespace of these objects" }, "mooring-provisioner"),
  metricsAddress: addressSetting(
    { name: "metrics-bind-address", description: "address of health and metrics" },
    "127.0.0.1:9812",
  ),
  debugAddress: addressSetting(
    { name: "debug-bind-address", description: "loopback address of /debug/log-level" },
    "127.0.0.1:9813",
  ),
  logLevel: choiceSetting(
    { name: "log-level", description: "lines below this level are not logged" },
    LOG_LEVELS,
    "info",
  ),
} as const;

/** The configuration of a provisioner. */
export interface ProvisionerConfig {
  readonly node: string;
  readonly socket: string;
  readonly kubeconfig: string | undefined;
  readonly capacity: boolean;
  readonly namespace: string;
  readonly metricsAddress: Address;
  /** A loopback address. */
  readonly debugAddress: Address;
  readonly logLevel: LogLevel;
}

export type ProvisionerCommand =
  | { readonly kind: "help"; readonly text: string }
  | { readonly kind: "run"; readonly config: ProvisionerConfig };

/** Reads the whole configuration once. Throws `MooringError` "config-invalid" with every problem. */
export function readProvisionerCommand(input: SettingsInput): ProvisionerCommand {
  const usage = "Usage: provisioner [flags]\n\nProvisions local volumes of a node for the claims that its pods use.";
  if (input.argv.includes("--help"))
    return { kind: "help", text: `${usage}\n\n${describeSettings(PROVISIONER_SETTINGS)}` };
  const values = readSettings(PROVISIONER_SETTINGS, input, RULES);
  const { node = "", capacity } = values;
  return { kind: "run", config: Object.freeze({ ...values, node, capacity: capacity === "on" }) };
}

type Values = ValuesOf<typeof PROVISIONER_SETTINGS>;

function nodeProblems({ node }: Values): readonly string[] {
  if (node === undefined) return ["--node is missing"];
  if (!NAME.test(node)) return [`--node "${node}" is no name of a node`];
  // A label value cannot be longer: this is the label by which a provisioner finds its node's volumes, and the hostname label.
  return isLabelValue(node) ? [] : [`--node "${node}" has more than the 63 characters that a label can hold`];
}

function namespaceProblems({ namespace }: Values): readonly string[] {
  return NAME.test(namespace) ? [] : [`--namespace "${namespace}" is no name of a namespace`];
}

const RULES = [
  nodeProblems,
  namespaceProblems,
  ({ debugAddress }: Values) => loopbackOnly(PROVISIONER_SETTINGS.debugAddress, debugAddress),
];

const NAME = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;
