import { Command, InvalidArgumentError, Option } from "commander";
import * as v from "valibot";
import {
  type CommandInput,
  type CommonFlags,
  given,
  type ListCommand,
  readCommand,
  withCommonOptions,
} from "./command-line.ts";

/** The output format of a list. */
export type OutputFormat = "table" | "wide" | "json";

export interface ClaimsFlags extends CommonFlags {
  /** Undefined: the namespace of the kubeconfig's context. */
  readonly namespace: string | undefined;
  readonly allNamespaces: boolean;
  readonly output: OutputFormat;
}

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
              unwatched    it may have been used until then, unobserved
  NODE        where it is mounted ("+2": on two more nodes), else where it was last
  LAST POD    the pod of the last use that is over; none while the claim is mounted
  KUBERNETES  what Kubernetes' own condition Unused says, and since when
              STILL MOUNTED  it says unused, but a node has the volume mounted: do not delete
  PENDING NODES
              a node that has to answer before the claim may count as unused: it is stale, has not
              reported since the aggregator started, or its next scan is due; only if there is one

Longest unused first, in use last. Node and pod names are shortened where the terminal is too
narrow; -o wide and pipes get all. -o wide adds volume, class, size, reason, release and message.

An aggregator of this very cluster is asked instead of the API server. It knows what is mounted
now, not only what was written on a claim: -o wide then adds nodes, pods and staging mounts.

Examples:
  claims -A                   all claims that you may see
  claims -n shop -o wide      everything about the claims of one namespace
  claims -A -o json | jq '.items[] | select(.unusedWhileMounted)'`;

const Options = v.object({
  allNamespaces: v.optional(v.boolean(), false),
  output: v.optional(v.picklist(["table", "wide", "json"]), "table"),
});

/** The parsed command line of the list of claims. */
export function readClaimsCommand(input: CommandInput): ListCommand<ClaimsFlags> {
  return readCommand(createCommand(), input, (options) => ({
    ...v.parse(Options, options),
    namespace: given(options.namespace),
  }));
}

export function outputOption(what: string): Option {
  return new Option("-o, --output <format>", `how to print the ${what}`).choices(["table", "wide", "json"]);
}

function createCommand(): Command {
  const command = new Command("claims")
    .description("Lists PersistentVolumeClaims and whether they are really used. Reads only, changes nothing.")
    .option("-n, --namespace <name>", "namespace to list; by default the one of the kubeconfig's context", namespaceOf)
    .option("-A, --all-namespaces", "list the claims of all namespaces")
    .addOption(outputOption("claims"));
  return withCommonOptions(command, HELP);
}

/** A DNS label, like every namespace: any other text would change the request's path. */
function namespaceOf(text: string): string {
  if (/^(?:[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)?$/.test(text)) return text;
  throw new InvalidArgumentError("A namespace has lower-case letters, digits and dashes, at most 63.");
}
