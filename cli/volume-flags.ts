import { Command, Option } from "commander";
import * as v from "valibot";
import {
  type CommandInput,
  type CommonFlags,
  type ListCommand,
  readCommand,
  withCommonOptions,
} from "./command-line.ts";
import { type OutputFormat, outputOption } from "./flags.ts";
import type { VolumeFilter } from "./volume-view.ts";

export interface VolumesFlags extends CommonFlags {
  readonly output: OutputFormat;
  readonly filter: VolumeFilter;
}

const HELP = `
Columns:
  PHASE        Failed      Kubernetes gave up to reclaim it
               Released    its claim is gone: with policy Delete about to be deleted, with Retain kept for ever
               Available   no claim has it
               Bound       a claim has it; whether it is used says "claims"
  SINCE        since when, by the API server's clock; ">12d" is at least that long, where the API server does not say
  CLAIM        the claim that it is bound to, or was
  MOUNTED ON   nodes that have it mounted ("+2": on two more); in red where no claim is bound to it
  ATTACHED TO  nodes that it is attached to; "?" where you may not list volumeattachments
  LAST USED    the last use that is over, as far as Mooring saw it; none while it is mounted

Failed and Released on top, the oldest first; Bound last. Names are shortened where the terminal is too narrow;
-o wide and pipes get all. -o wide adds times instead of ages, what they are known from, and the driver.

An aggregator of this very cluster is asked instead of the API server. It knows which nodes have a volume mounted
or staged, and has a first sight where the API server does not say since when.

Examples:
  volumes --phase Released --reclaim-policy Retain
  volumes -o json | jq '.items[] | select(.phase == "Released" and .attachedTo.nodes != [])'`;

const Options = v.object({
  output: v.optional(v.picklist(["table", "wide", "json"]), "table"),
  phase: v.optional(v.array(v.string()), []),
  class: v.optional(v.array(v.string()), []),
  reclaimPolicy: v.optional(v.array(v.string()), []),
});

/** The parsed command line of the list of volumes. */
export function readVolumesCommand(input: CommandInput): ListCommand<VolumesFlags> {
  return readCommand(createCommand(), input, (options) => {
    const { output, phase: phases, class: classes, reclaimPolicy: policies } = v.parse(Options, options);
    return { output, filter: { phases, classes, policies } };
  });
}

function createCommand(): Command {
  const command = new Command("volumes")
    .description(
      "Lists PersistentVolumes, since when they are in their phase and who has them. Reads only, changes nothing.",
    )
    .addOption(
      new Option("--phase <phase...>", "only volumes in one of these phases").choices([
        "Pending",
        "Available",
        "Bound",
        "Released",
        "Failed",
      ]),
    )
    .option("--class <name...>", "only volumes of one of these storage classes")
    .addOption(
      new Option("--reclaim-policy <policy...>", "only volumes with one of these reclaim policies").choices([
        "Retain",
        "Delete",
        "Recycle",
      ]),
    )
    .addOption(outputOption("volumes"));
  return withCommonOptions(command, HELP);
}
