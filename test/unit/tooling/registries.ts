import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSqliteJournal } from "../../../agent/sinks/sqlite-journal.ts";
import { createReportServing } from "../../../aggregator/aggregator.ts";
import { createKubeClient } from "../../../common/kube/client.ts";
import { watchEventLoop } from "../../../common/runtime/event-loop.ts";
import type { Metrics } from "../../../common/runtime/metrics.ts";
import { createFixedRandom } from "../../fakes/random.ts";
import { createFakeConnection } from "../../fakes/transport.ts";
import { startAgent } from "../../program/agent/started-agent.ts";
import { startAggregator } from "../aggregator/started-aggregator.ts";
import { startKeeper } from "../provisioner/keeper/started-keeper.ts";
import { startProvisioner } from "../provisioner/started-provisioner.ts";

/** All metrics of an agent that enforces and has a journal; a caller stops the agents. */
export async function agentRegistry(): Promise<Metrics> {
  const folder = mkdtempSync(join(tmpdir(), "mooring-registry-"));
  try {
    let registry: Metrics | undefined;
    const { advance } = await startAgent({
      mode: "audit",
      ports: ({ metrics, clock, logger }) => {
        registry = metrics;
        createSqliteJournal({ clock, logger, metrics }, { directory: folder, node: "node-1" });
        return {};
      },
    });
    await advance(5_000);
    if (registry === undefined) throw new Error("the agent was started without ports");
    return registry;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** All metrics of an aggregator that leads, with series of claims and volumes; a caller stops the aggregators. */
export async function aggregatorRegistry(): Promise<Metrics> {
  const stop = new AbortController();
  const { api, clock, logger, metrics } = await startAggregator(["--claim-metrics", "--volume-metrics"]);
  // What takes reports by TLS has metrics from the moment at which it is made.
  const client = createKubeClient(createFakeConnection(api.transport), { clock });
  const agents = { namespace: "mooring-agents", account: "mooring-agent" };
  const certificate = { kind: "files", certificateFile: "tls.crt", keyFile: "tls.key" } as const;
  const parts = { client, clock, logger, metrics, random: createFixedRandom(0.5), nowMs: () => 0 };
  createReportServing(parts, { agents, certificate });
  const watching = watchEventLoop({ clock, metrics }, stop.signal);
  await clock.advance(5_000);
  stop.abort();
  await watching;
  return metrics;
}

/** All metrics of a provisioner; a caller stops the provisioners. */
export async function provisionerRegistry(): Promise<Metrics> {
  const { metrics, clock } = await startProvisioner();
  await clock.advance(5_000);
  return metrics;
}

/** All metrics of a keeper; a caller stops the keepers. */
export async function keeperRegistry(): Promise<Metrics> {
  return (await startKeeper()).metrics;
}
