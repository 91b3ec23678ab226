import { runAggregator } from "../../../aggregator/aggregator.ts";
import { readAggregatorCommand } from "../../../aggregator/settings/config.ts";
import { createKubeClient } from "../../../common/kube/client.ts";
import { createMetrics } from "../../../common/runtime/metrics.ts";
import { createFakeApiServer } from "../../fakes/api-server.ts";
import { createFakeClock, eventually, settle } from "../../fakes/clock.ts";
import { createFakeListen } from "../../fakes/listen.ts";
import { createFakeLogger } from "../../fakes/logger.ts";
import { createFixedRandom } from "../../fakes/random.ts";
import { createFakeConnection } from "../../fakes/transport.ts";

const cleanUps: (() => Promise<void>)[] = [];

/** Stops every aggregator of a test. */
export async function stopAggregators(): Promise<void> {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
}

const ELECTION = ["--leader-elect", "--pod-name", "aggregator-0", "--pod-namespace", "mooring"];

type Objects = Parameters<typeof createFakeApiServer>[1];

/** One replica in a cluster with nothing in it but `objects`, whose API server keeps no history. */
export async function startAggregator(argv: readonly string[] = [], objects: Objects = {}) {
  const [clock, logger, server] = [createFakeClock(), createFakeLogger(), createFakeListen()];
  const metadata = { namespace: "mooring", name: "aggregator-0", uid: "pod-0", resourceVersion: "1" };
  const api = createFakeApiServer(clock, { pods: [{ metadata, spec: {} }], ...objects });
  const client = createKubeClient(createFakeConnection(api.transport), { clock });
  const command = readAggregatorCommand({ argv: ["--api-bind-address", "127.0.0.1:0", ...ELECTION, ...argv], env: {} });
  if (command.kind !== "run") throw new Error("the flags ask for something else");
  const [metrics, { listen }, stop] = [createMetrics(), server, new AbortController()];
  const ports = { clock, random: createFixedRandom(0.5), logger, metrics, listen, client };
  let isOver = false;
  const over = runAggregator(command.config, ports, stop.signal).finally(() => {
    isOver = true;
  });
  cleanUps.push(async () => {
    stop.abort();
    // What is given back on the way out has limits of its own, on this clock.
    for (; !isOver; await settle()) await clock.advance(1_000);
    await over;
  });
  await eventually(() => logger.messages().includes("aggregator started"));
  return { clock, logger, metrics, api, server };
}
