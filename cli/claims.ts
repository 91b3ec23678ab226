import { connect } from "../common/kube/connection.ts";
import { createSystemClock } from "../common/runtime/clock.ts";
import { jsonOf } from "./claim-json.ts";
import type { Scope } from "./claim-list.ts";
import { type ClaimList, readClaims } from "./claim-source.ts";
import { tableOf } from "./claim-table.ts";
import { sortUses } from "./claim-use.ts";
import { type Attempt, claimsIn, explain } from "./explain.ts";
import { type ClaimsFlags, readClaimsCommand } from "./flags.ts";
import { noticesFor } from "./notices.ts";
import { type Printout, print, screenOf } from "./print.ts";
import { layOut } from "./table.ts";

async function list(flags: ClaimsFlags): Promise<Printout> {
  let attempt: Attempt = { server: undefined, requested: undefined };
  try {
    const { kubeconfig, context } = flags;
    const connection = await connect({ kubeconfig, context, inCluster: false }, process.env);
    const scope: Scope = flags.allNamespaces ? "all" : { namespace: namespaceOf(flags, connection.namespace) };
    attempt = { server: connection.server, requested: claimsIn(scope) };
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

async function printoutFor(argv: readonly string[]): Promise<Printout> {
  const command = readClaimsCommand({ argv, env: process.env });
  if (command.kind === "list") return await list(command.flags);
  if (command.kind === "help") return { text: command.text, notices: [], code: 0 };
  return { text: "", notices: [command.text.trimEnd()], code: 1 };
}

await print(printoutFor(process.argv.slice(2)));
