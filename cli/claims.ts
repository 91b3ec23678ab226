import { createKubeClient } from "../common/kube/client.ts";
import { connect } from "../common/kube/connection.ts";
import { createSystemClock } from "../common/runtime/clock.ts";
import { jsonOf } from "./claim-json.ts";
import { listClaims, type Scope } from "./claim-list.ts";
import { tableOf } from "./claim-table.ts";
import { type ClaimUse, sortUses, useOf } from "./claim-use.ts";
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
    const client = createKubeClient(connection, { clock: createSystemClock() });
    try {
      const claims = await listClaims(client, scope, new AbortController().signal);
      const now = client.serverTime();
      // At the earliest: an idle time is rather too short than too long.
      const nowMs = now && now.latestMs - now.widthMs;
      const uses = sortUses(claims.map(useOf));
      return { text: render(uses, { flags, nowMs }), notices: noticesFor(uses, scope), code: 0 };
    } finally {
      await client.close();
    }
  } catch (error) {
    const lines = explain(error, attempt);
    if (lines === undefined) throw error;
    return { text: "", notices: [`error: ${lines[0]}`, ...lines.slice(1)], code: 1 };
  }
}

function namespaceOf({ namespace }: ClaimsFlags, fromContext: string | undefined): string {
  return namespace ?? fromContext ?? "default";
}

function render(
  uses: readonly ClaimUse[],
  { flags, nowMs }: { readonly flags: ClaimsFlags; readonly nowMs: number | undefined },
): string {
  if (flags.output === "json") return jsonOf(uses, nowMs);
  if (uses.length === 0) return "";
  const isWide = flags.output === "wide";
  return layOut(tableOf(uses, { withNamespace: flags.allNamespaces, isWide, nowMs }), screenOf(isWide));
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
  const command = readClaimsCommand(argv);
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
