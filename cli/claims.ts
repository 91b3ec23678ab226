import { connect } from "../common/kube/connection.ts";
import { createSystemClock } from "../common/runtime/clock.ts";
import { jsonOf } from "./claim-json.ts";
import type { Scope } from "./claim-list.ts";
import { type ClaimList, readClaims } from "./claim-source.ts";
import { tableOf } from "./claim-table.ts";
import { sortUses } from "./claim-use.ts";
import { type Attempt, explain } from "./explain.ts";
import { type ClaimsFlags, readClaimsCommand } from "./flags.ts";
import { noticesFor } from "./notices.ts";
import { layOut, type Screen } from "./table.ts";

/** What goes to standard output, and what beside it to standard error. */
interface Printout {
  readonly text: string;
  readonly notices: readonly string[];
  readonly code: 0 | 1;
}

async function list(flags: ClaimsFlags): Promise<Printout> {
  let attempt: Attempt = { server: undefined, scope: undefined };
  try {
    const { kubeconfig, context } = flags;
    const connection = await connect({ kubeconfig, context, inCluster: false }, process.env);
    const scope: Scope = flags.allNamespaces ? "all" : { namespace: namespaceOf(flags, connection.namespace) };
    attempt = { server: connection.server, scope };
    const { aggregator, output } = flags;
    const { signal } = new AbortController();
    const list = await readClaims(scope, { connection, aggregator, clock: createSystemClock(), signal });
    const sorted = { ...list, uses: sortUses(list.uses) };
    return { text: render(sorted, flags), notices: noticesFor(sorted, { scope, isWide: output === "wide" }), code: 0 };
  } catch (error) {
    const lines = explain(error, attempt);
    if (lines === undefined) throw error;
    return { text: "", notices: [`error: ${lines[0]}`, ...lines.slice(1)], code: 1 };
  }
}

function namespaceOf({ namespace }: ClaimsFlags, fromContext: string | undefined): string {
  return namespace ?? fromContext ?? "default";
}

function render(list: ClaimList, flags: ClaimsFlags): string {
  if (flags.output === "json") return jsonOf(list);
  const { uses, nowMs, source } = list;
  if (uses.length === 0) return "";
  const isWide = flags.output === "wide";
  const view = { withNamespace: flags.allNamespaces, isWide, hasLive: source.kind === "aggregator", nowMs };
  return layOut(tableOf(uses, view), screenOf(isWide));
}

function screenOf(isWide: boolean): Screen {
  const { isTTY, columns } = process.stdout;
  const { NO_COLOR, TERM } = process.env;
  return {
    width: isTTY && !isWide ? columns : undefined,
    hasColour: isTTY && !NO_COLOR && TERM !== "dumb",
  };
}

async function printoutFor(argv: readonly string[]): Promise<Printout> {
  const command = readClaimsCommand({ argv, env: process.env });
  if (command.kind === "list") return await list(command.flags);
  if (command.kind === "help") return { text: command.text, notices: [], code: 0 };
  return { text: "", notices: [command.text.trimEnd()], code: 1 };
}

/** A reader that has gone, as `head` does, wants no more: not an error. */
function endQuietlyWithoutReader(error: NodeJS.ErrnoException): void {
  if (error.code !== "EPIPE") throw error;
  process.exit(0);
}

for (const stream of [process.stdout, process.stderr]) stream.on("error", endQuietlyWithoutReader);
const { text, notices, code } = await printoutFor(process.argv.slice(2));
// What is said beside the claims comes after them, also where both go to one terminal.
await new Promise<void>((resolve) => {
  process.stdout.write(text, (error) => {
    if (!error) resolve();
  });
});
for (const line of notices) process.stderr.write(`${line}\n`);
process.exitCode = code;
