import { createKubeClient, type KubeClient } from "../common/kube/client.ts";
import { connect } from "../common/kube/connection.ts";
import { createSystemClock } from "../common/runtime/clock.ts";
import { type Attempt, explain, VOLUMES } from "./explain.ts";
import { type LocalCommand, type LocalFlags, readLocalCommand } from "./local/command-line.ts";
import { forgetNode, listOrphans, listPools } from "./local/commands.ts";
import { uninstall } from "./local/uninstall-command.ts";
import { type Printout, print } from "./print.ts";

type Request = Extract<LocalCommand, { readonly flags: LocalFlags }>;

const clock = createSystemClock();
/** Ctrl-C ends a removal between two objects, so that it can report what it did. A read ends at once. */
const interrupted = new AbortController();

async function answer(request: Request): Promise<Printout> {
  let attempt: Attempt = { server: undefined, requested: VOLUMES };
  try {
    const { kubeconfig, context } = request.flags;
    const connection = await connect({ kubeconfig, context, inCluster: false }, process.env);
    attempt = { server: connection.server, requested: VOLUMES };
    const client = createKubeClient(connection, { clock, userAgent: "mooring-cli" });
    try {
      return await carryOut(request, client);
    } finally {
      await client.close();
    }
  } catch (error) {
    const lines = explain(error, attempt);
    if (lines === undefined) throw error;
    return { text: "", notices: [`error: ${lines[0]}`, ...lines.slice(1)], code: 1 };
  }
}

async function carryOut(request: Request, client: KubeClient): Promise<Printout> {
  const { signal } = interrupted;
  const commandContext = { client, output: request.flags.output, signal };
  if (request.kind === "forget" || request.kind === "uninstall") {
    for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => interrupted.abort());
    if (request.kind === "forget") return await forgetNode(commandContext, request);
    const printLine = (line: string) => process.stderr.write(`${line}\n`);
    return await uninstall({ ...commandContext, clock, printLine }, request);
  }
  return request.kind === "pools" ? await listPools(commandContext) : await listOrphans(commandContext);
}

async function printoutFor(argv: readonly string[]): Promise<Printout> {
  const command = readLocalCommand({ argv, env: process.env });
  if (command.kind === "help") return { text: command.text, notices: [], code: 0 };
  if (command.kind === "problem") return { text: "", notices: [command.text.trimEnd()], code: 1 };
  return await answer(command);
}

await print(printoutFor(process.argv.slice(2)));
