import { createKubeClient } from "../../common/kube/client.ts";
import { type ConnectionChoice, connect } from "../../common/kube/connection.ts";
import { createSystemClock } from "../../common/runtime/clock.ts";
import { MooringError } from "../../common/runtime/errors.ts";
import { runProcess } from "../../common/runtime/lifecycle.ts";
import { createLogger } from "../../common/runtime/logger.ts";
import { removeTraces } from "./claim-traces.ts";
import { removeJournal, removeJournalDirectory } from "./journal-traces.ts";

const USAGE = `Usage: uninstall claims [kubeconfig] | journal <directory> | directory <directory> | wait

Removes what Mooring leaves behind once it is deleted (docs/install.md, Remove):
  claims     its conditions and annotations, from all claims and volumes
  journal    an agent's files in its directory on the node
  directory  that directory, which must be empty by then
  wait       nothing; ends when it is told to
`;

const clock = createSystemClock();
const logger = createLogger("info", { component: "uninstall" });

async function removeFromClaims(kubeconfig: string | undefined, signal: AbortSignal): Promise<void> {
  const choice: ConnectionChoice =
    kubeconfig === undefined ? { inCluster: true, clock, logger } : { inCluster: false, kubeconfig };
  const client = createKubeClient(await connect(choice, process.env), { clock });
  try {
    await removeTraces({ client, clock, logger }, signal);
  } finally {
    await client.close();
  }
}

async function waitFor(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) await clock.sleep(3_600_000, signal);
}

await runProcess(
  async (signal) => {
    const [task, argument] = process.argv.slice(2);
    if (task === "claims") return await removeFromClaims(argument, signal);
    if (task === "wait") return await waitFor(signal);
    if (task === "journal" && argument !== undefined) {
      const others = removeJournal(argument);
      if (others.length > 0) logger.warn({ folder: argument, examples: others }, "files of other owners stay");
      return;
    }
    if (task === "directory" && argument !== undefined) return removeJournalDirectory(argument);
    throw new MooringError("config-invalid", USAGE);
  },
  () => logger,
);
