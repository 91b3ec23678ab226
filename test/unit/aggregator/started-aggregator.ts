import { runAggregator } from "../../../aggregator/aggregator.ts";
import { type AggregatorConfig, readAggregatorCommand } from "../../../aggregator/settings/config.ts";
import { createKubeClient } from "../../../common/kube/client.ts";
import type { LevelControl } from "../../../common/runtime/logger.ts";
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

const OWN_POD = {
  metadata: { namespace: "mooring", name: "aggregator-0", uid: "pod-0", resourceVersion: "1" },
  spec: {},
};

/** One replica of an aggregator that leads a cluster with nothing in it but `objects`. */
export async function startAggregator({
  argv = [],
  objects = {},
  logLevel,
}: {
  readonly argv?: readonly string[];
  readonly objects?: Parameters<typeof createFakeApiServer>[1];
  readonly logLevel?: LevelControl;
} = {}) {
  const clock = createFakeClock();
  const logger = createFakeLogger();
  const metrics = createMetrics();
  const api = createFakeApiServer(clock, { pods: [OWN_POD], ...objects });
  const client = createKubeClient(createFakeConnection(api.transport), { clock });
  const server = createFakeListen();
  const { listen } = server;
  const ports = { clock, random: createFixedRandom(0.5), logger, metrics, listen, client };
  const stop = new AbortController();
  const running = runAggregator(configOf(argv), { ...ports, ...(logLevel && { logLevel }) }, stop.signal);
  const end = async (): Promise<void> => {
    stop.abort();
    let isOver = false;
    const over = running.finally(() => {
      isOver = true;
    });
    // What is given back on the way out has limits of its own, on this clock.
    while (!isOver) {
      await clock.advance(1_000);
      await settle();
    }
    await over;
  };
  cleanUps.push(end);
  await eventually(() => logger.messages().includes("aggregator started"));
  return { clock, logger, metrics, api, server, stop, running, end };
}

function configOf(argv: readonly string[]): AggregatorConfig {
  const election = ["--leader-elect", "--pod-name", "aggregator-0", "--pod-namespace", "mooring"];
  const command = readAggregatorCommand({ argv: ["--api-bind-address", "127.0.0.1:0", ...election, ...argv], env: {} });
  if (command.kind !== "run") throw new Error("the flags ask for something else");
  return command.config;
}
