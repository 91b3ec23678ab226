import { type Command, CommanderError } from "commander";
import type { AggregatorTarget } from "./aggregator.ts";
import { AGGREGATOR_VARIABLE, aggregatorOption, NO_AGGREGATOR, targetOf } from "./aggregator-flag.ts";

/** The source of the command line. */
export interface CommandInput {
  /** The arguments after the script's name. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The parsed command line: `F` are the flags of a list. */
export type ListCommand<F> =
  | { readonly kind: "list"; readonly flags: F }
  | { readonly kind: "help"; readonly text: string }
  | { readonly kind: "problem"; readonly text: string };

/** Flags of every list. */
export interface CommonFlags {
  /** Undefined: ask no aggregator. */
  readonly aggregator: AggregatorTarget | undefined;
  readonly context: string | undefined;
  readonly kubeconfig: string | undefined;
}

/** Adds the flags of every list. */
export function withCommonOptions(command: Command, help: string): Command {
  return command
    .option("--context <name>", "context of the kubeconfig to use")
    .option("--kubeconfig <file>", "kubeconfig file; by default KUBECONFIG, then ~/.kube/config")
    .addOption(aggregatorOption())
    .helpOption("-h, --help", "show this help")
    .allowExcessArguments(false)
    .showHelpAfterError("Run with --help to see all flags.")
    .addHelpText("after", help)
    .exitOverride();
}

/** Parses a command line; `flagsOf` reads the command's own options. */
export function readCommand<F extends object>(
  command: Command,
  { argv, env }: CommandInput,
  flagsOf: (options: Readonly<Record<string, unknown>>) => F,
): ListCommand<F & CommonFlags> {
  let printed = "";
  const print = (text: string): void => {
    printed += text;
  };
  command.configureOutput({ writeOut: print, writeErr: print });
  try {
    command.parse([...argv], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? { kind: "help", text: printed } : { kind: "problem", text: printed };
  }
  const options: Readonly<Record<string, unknown>> = command.opts();
  const aggregator = targetOf(given(options.aggregator) ?? env[AGGREGATOR_VARIABLE]);
  if (aggregator === "invalid") {
    const text = `error: ${AGGREGATOR_VARIABLE} is "${env[AGGREGATOR_VARIABLE]}". ${NO_AGGREGATOR}\n`;
    return { kind: "problem", text };
  }
  const common = { aggregator, context: given(options.context), kubeconfig: given(options.kubeconfig) };
  return { kind: "list", flags: { ...flagsOf(options), ...common } };
}

/** As with kubectl, an empty text counts as unset: scripts pass variables that are not set. */
export function given(option: unknown): string | undefined {
  return typeof option === "string" && option !== "" ? option : undefined;
}
