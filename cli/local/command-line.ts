import { Argument, Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { type CommandInput, given } from "../command-line.ts";

/** Flags of all commands. */
export interface LocalFlags {
  readonly output: "table" | "json";
  readonly context: string | undefined;
  readonly kubeconfig: string | undefined;
}

/** The parsed command line. */
export type LocalCommand =
  | { readonly kind: "pools" | "orphans"; readonly flags: LocalFlags }
  | { readonly kind: "uninstall"; readonly isConfirmed: boolean; readonly flags: LocalFlags }
  | { readonly kind: "forget"; readonly node: string; readonly isConfirmed: boolean; readonly flags: LocalFlags }
  | { readonly kind: "help"; readonly text: string }
  | { readonly kind: "problem"; readonly text: string };

const POOLS_HELP = `
Columns:
  STATE    usable            volumes can be made in it
           empty             it was not begun yet
           missing           its directory or its disk is not there, or is damaged
           swapped           another disk is at its place: volumes name another identity
           provisioner away  no provisioner runs on the node: the rest is what it told last
           node gone         the Node object is deleted
           unknown           nothing is published: no StorageClass names the pool, or --capacity is off
  FREE     what further volumes may take
  USED     what volumes take, and images that have none`;

const ORPHANS_HELP = `
Kinds:
  image without volume  its PersistentVolume is gone, its data is still in the pool
  volume without data   a PersistentVolume whose image is not there: its pool is missing or swapped, or the image is gone
  node gone             a PersistentVolume of a node whose Node object is deleted`;

const FORGET_HELP = `
For a node that is gone for good. Lists the PersistentVolumes that would be given up, with their claims and pods; with --yes
deletes them, and what the node has told of its room. Their data, if the disk still exists, is not touched. Refused while
the Node object exists or the provisioner's pod of the node is not over. May be run again at any time.`;

const UNINSTALL_HELP = `
Refuses while there is a volume of the provisioner, and lists them with what deletes each. Without one it lists the objects that
would go; with --yes it ends the provisioners, looks for volumes once more, and deletes these objects. StorageClasses and
the pools' directories stay. May be run again at any time.`;

/** Parses the command line of `local`. */
export function readLocalCommand({ argv }: CommandInput): LocalCommand {
  let [printed, found]: [string, LocalCommand | undefined] = ["", undefined];
  const write = (text: string): void => {
    printed += text;
  };
  const program = createProgram((command) => {
    found = command;
  });
  for (const one of [program, ...program.commands]) one.configureOutput({ writeOut: write, writeErr: write });
  try {
    program.parse([...argv], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? { kind: "help", text: printed } : { kind: "problem", text: printed };
  }
  return found ?? { kind: "problem", text: program.helpInformation() };
}

function createProgram(onCommand: (command: LocalCommand) => void): Command {
  const program = new Command("local")
    .description("Volumes on the nodes' own disks: their pools, and what is left of nodes that are gone.")
    .helpOption("-h, --help", "show this help")
    .helpCommand(false)
    .exitOverride();
  for (const [kind, description, help] of [
    ["pools", "Lists the pools of all nodes. Reads only, changes nothing.", POOLS_HELP],
    ["orphans", "Lists what does not belong together any more. Reads only, changes nothing.", ORPHANS_HELP],
  ] as const)
    withFlags(program.command(kind), { description, help }).action((options) =>
      onCommand({ kind, flags: flagsOf(options) }),
    );
  withFlags(program.command("forget"), { description: "Gives up the volumes of a node.", help: FORGET_HELP })
    .addArgument(new Argument("<node>", "name of the node").argParser(nodeOf))
    .option("--yes", "delete what is listed")
    .action((node, options) =>
      onCommand({ kind: "forget", node, isConfirmed: options.yes === true, flags: flagsOf(options) }),
    );
  withFlags(program.command("uninstall"), { description: "Removes the provisioner.", help: UNINSTALL_HELP })
    .option("--yes", "delete what is listed")
    .action((options) => onCommand({ kind: "uninstall", isConfirmed: options.yes === true, flags: flagsOf(options) }));
  return program;
}

function withFlags(
  command: Command,
  { description, help }: { readonly description: string; readonly help: string },
): Command {
  return command
    .description(description)
    .option("--context <name>", "context of the kubeconfig to use")
    .option("--kubeconfig <file>", "kubeconfig file; by default KUBECONFIG, then ~/.kube/config")
    .addOption(new Option("-o, --output <format>", "how to print it").choices(["table", "json"]))
    .helpOption("-h, --help", "show this help")
    .allowExcessArguments(false)
    .showHelpAfterError("Run with --help to see all flags.")
    .addHelpText("after", help)
    .exitOverride();
}

function flagsOf(options: Readonly<Record<string, unknown>>): LocalFlags {
  return {
    output: options.output === "json" ? "json" : "table",
    context: given(options.context),
    kubeconfig: given(options.kubeconfig),
  };
}

/** A valid node name: any other text would change the request's path. */
function nodeOf(text: string): string {
  if (/^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/.test(text)) return text;
  throw new InvalidArgumentError("A node's name has lower-case letters, digits, dashes and dots.");
}
