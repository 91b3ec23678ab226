import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import * as v from "valibot";

/** How the claims are printed. */
export type OutputFormat = "table" | "wide" | "json";

export interface ClaimsFlags {
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
  NODE        where it is mounted ("+2": on two more nodes), else where it was last
  LAST POD    the pod of the last use that is over; none while the claim is mounted
  KUBERNETES  what Kubernetes' own condition Unused says, and since when
              DISAGREES    it says unused, but a node has the volume mounted: do not delete

Longest unused first, in use last. Node and pod names are shortened where the terminal is too
narrow; -o wide and pipes get all. -o wide adds volume, reason, release and message.

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
});

/** Reads the arguments after the script's name. */
export function readClaimsCommand(argv: readonly string[]): ClaimsCommand {
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
  const { namespace, context, kubeconfig, ...rest } = v.parse(Options, command.opts());
  const flags = {
    ...rest,
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
    .helpOption("-h, --help", "show this help")
    .allowExcessArguments(false)
    .showHelpAfterError("Run with --help to see all flags.")
    .addHelpText("after", HELP)
    .exitOverride();
}

/** A DNS label, as every namespace is called: anything else would become part of the request's path. */
function namespaceOf(text: string): string {
  if (/^(?:[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)?$/.test(text)) return text;
  throw new InvalidArgumentError("A namespace has lower-case letters, digits and dashes, at most 63.");
}
