import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import * as v from "valibot";
import type { AggregatorTarget } from "./aggregator.ts";

/** How the claims are printed. */
export type OutputFormat = "table" | "wide" | "json";

export interface ClaimsFlags {
  /** Nothing: none is to be asked. */
  readonly aggregator: AggregatorTarget | undefined;
  /** Nothing: the namespace of the kubeconfig's context. */
  readonly namespace: string | undefined;
  readonly allNamespaces: boolean;
  readonly output: OutputFormat;
  readonly context: string | undefined;
  readonly kubeconfig: string | undefined;
}

/** What the command line asks for. */
export type ClaimsCommand =
  | { readonly kind: "list"; readonly flags: ClaimsFlags }
  | { readonly kind: "help"; readonly text: string }
  | { readonly kind: "problem"; readonly text: string };

const HELP = `
Columns:
  STATUS      Mounted      a node has the volume mounted
              Referenced   not mounted, but a pod that is not finished names the claim
              Unused       neither
              Not watched  bound, but Mooring has not written anything about it
              Pending ...  the phase of a claim that is not bound
  SINCE       since when, by the API server's clock; never a longer idle time than the truth
  EVIDENCE    mount-table  seen in the node's mount table
              pod-status   known from pods only; an unmount was not observed
              node-gone    assumed: the node that had it is gone
              first-seen   no use was ever seen: unused at least since Mooring first saw the claim
              unwatched    it may have been used until then, while nobody watched
  NODE        where it is mounted ("+2": on two more nodes), else where it was last
  LAST POD    the pod of the last use that is over; none while the claim is mounted
  KUBERNETES  what Kubernetes' own condition Unused says, and since when
              DISAGREES    it says unused, but a node has the volume mounted: do not delete
  WAITS FOR   a node whose word is needed before the claim may count as unused: it is silent, was
              not heard of since the aggregator started, or has to look again; only if there is one

Longest unused first, in use last. Node and pod names are shortened where the terminal is too
narrow; -o wide and pipes get all. -o wide adds volume, class, size, reason, release and message.

An aggregator of this very cluster is asked instead of the API server. It knows who holds a claim
now, not only what was written on it: -o wide then adds holders, pods and staging mounts.

Examples:
  claims -A                   all claims that you may see
  claims -n shop -o wide      everything about the claims of one namespace
  claims -A -o json | jq '.items[] | select(.disagrees)'`;

const Options = v.object({
  namespace: v.optional(v.string()),
  allNamespaces: v.optional(v.boolean(), false),
  output: v.optional(v.picklist(["table", "wide", "json"]), "table"),
  context: v.optional(v.string()),
  kubeconfig: v.optional(v.string()),
  aggregator: v.optional(v.string()),
});

/** Where an aggregator on this machine, or a port that is forwarded to one, is by default. */
const DEFAULT_AGGREGATOR = "http://127.0.0.1:9809";
const AGGREGATOR_VARIABLE = "MOORING_AGGREGATOR";

/** Where the command line comes from. */
export interface ClaimsInput {
  /** The arguments after the script's name. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

export function readClaimsCommand({ argv, env }: ClaimsInput): ClaimsCommand {
  let printed = "";
  const print = (text: string): void => {
    printed += text;
  };
  const command = createCommand().configureOutput({ writeOut: print, writeErr: print });
  try {
    command.parse([...argv], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? { kind: "help", text: printed } : { kind: "problem", text: printed };
  }
  const { namespace, context, kubeconfig, aggregator, ...rest } = v.parse(Options, command.opts());
  const target = targetOf(aggregator || env[AGGREGATOR_VARIABLE]);
  if (target === "invalid") {
    const text = `error: ${AGGREGATOR_VARIABLE} is "${env[AGGREGATOR_VARIABLE]}". ${NO_AGGREGATOR}\n`;
    return { kind: "problem", text };
  }
  const flags = {
    ...rest,
    aggregator: target,
    // As with kubectl, an empty text is none: scripts pass variables that are not set.
    namespace: namespace || undefined,
    context: context || undefined,
    kubeconfig: kubeconfig || undefined,
  };
  return { kind: "list", flags };
}

function createCommand(): Command {
  return new Command("claims")
    .description("Lists PersistentVolumeClaims and whether they are really used. Reads only, changes nothing.")
    .option("-n, --namespace <name>", "namespace to list; by default the one of the kubeconfig's context", namespaceOf)
    .option("-A, --all-namespaces", "list the claims of all namespaces")
    .addOption(new Option("-o, --output <format>", "how to print the claims").choices(["table", "wide", "json"]))
    .option("--context <name>", "context of the kubeconfig to use")
    .option("--kubeconfig <file>", "kubeconfig file; by default KUBECONFIG, then ~/.kube/config")
    .option(
      "--aggregator <url>",
      `aggregator to ask, or "none"; by default ${AGGREGATOR_VARIABLE}, then ${DEFAULT_AGGREGATOR} if it answers`,
      aggregatorOf,
    )
    .helpOption("-h, --help", "show this help")
    .allowExcessArguments(false)
    .showHelpAfterError("Run with --help to see all flags.")
    .addHelpText("after", HELP)
    .exitOverride();
}

const NO_AGGREGATOR = `An aggregator is a URL like ${DEFAULT_AGGREGATOR}, without user and query, or "none".`;

function aggregatorOf(text: string): string {
  if (text !== "" && targetOf(text) === "invalid") throw new InvalidArgumentError(NO_AGGREGATOR);
  return text;
}

function targetOf(text: string | undefined): AggregatorTarget | undefined | "invalid" {
  if (!text) return { url: DEFAULT_AGGREGATOR, isExplicit: false };
  if (text === "none") return undefined;
  const url = URL.parse(text);
  const isPlain =
    url !== null && /^https?:$/.test(url.protocol) && !(url.username || url.password || url.search || url.hash);
  return isPlain ? { url: url.href.replace(/\/$/, ""), isExplicit: true } : "invalid";
}

/** A DNS label, as every namespace is called: anything else would become part of the request's path. */
function namespaceOf(text: string): string {
  if (/^(?:[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)?$/.test(text)) return text;
  throw new InvalidArgumentError("A namespace has lower-case letters, digits and dashes, at most 63.");
}
