import { createKubeClient } from "../../../common/kube/client.ts";
import { listen } from "../../../common/runtime/http-server.ts";
import { createMetrics, type Metrics } from "../../../common/runtime/metrics.ts";
import { type ProvisionerPorts, runProvisioner } from "../../../provisioner/provisioner.ts";
import { createFakeApiServer } from "../../fakes/api-server.ts";
import { createFakeClock, eventually, type FakeClock, settle } from "../../fakes/clock.ts";
import { createFakeKeeper, type FakeKeeper } from "../../fakes/keeper.ts";
import { createFakeLogger, type FakeLogger } from "../../fakes/logger.ts";
import { createFixedRandom } from "../../fakes/random.ts";
import { createFakeConnection } from "../../fakes/transport.ts";

/** A provisioner without a cluster: an API server with nothing in it but its node, and a keeper in memory. */
export interface StartedProvisioner {
  readonly clock: FakeClock;
  readonly keeper: FakeKeeper;
  readonly logger: FakeLogger;
  readonly metrics: Metrics;
  /** The text of one of its pages, and its status. */
  readonly page: (path: string) => Promise<{ readonly status: number; readonly text: string }>;
}

const stops: (() => Promise<void>)[] = [];

/** Stops every provisioner of a test. */
export async function stopProvisioners(): Promise<void> {
  for (const stop of stops.splice(0)) await stop();
}

const LISTEN = { host: "127.0.0.1", port: 0 } as const;
const NODE = {
  metadata: { name: "n1", uid: "node-uid", resourceVersion: "3", labels: { "kubernetes.io/hostname": "n1" } },
};

export async function startProvisioner(change: Partial<ProvisionerPorts> = {}): Promise<StartedProvisioner> {
  const clock = createFakeClock();
  const [logger, metrics, keeper] = [createFakeLogger(), createMetrics(), createFakeKeeper()];
  const { transport } = createFakeApiServer(clock, { nodes: [NODE] });
  const client = createKubeClient(createFakeConnection(transport), { clock });
  const stopping = new AbortController();
  const config = {
    ...{ node: "n1", socket: "", kubeconfig: undefined, capacity: true, namespace: "mooring-provisioner" },
    ...{ metricsAddress: LISTEN, debugAddress: LISTEN, logLevel: "info" as const },
  };
  const ports = { clock, random: createFixedRandom(0.5), logger, metrics, listen, client, keeper, ...change };
  const running = runProvisioner(config, ports, stopping.signal);
  stops.push(async () => {
    stopping.abort();
    await running;
  });
  const started = () => logger.lines.find(({ message }) => message === "provisioner started");
  await eventually(() => started() !== undefined);
  await settle();
  const url = String(started()?.fields.health);
  const page = async (path: string) => {
    const response = await fetch(`${url}${path}`);
    return { status: response.status, text: await response.text() };
  };
  return { clock, keeper, logger, metrics, page };
}
