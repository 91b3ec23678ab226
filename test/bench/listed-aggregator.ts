// An aggregator that leads a cluster of idle claims, in front of a fake API server. `lists` queries it. Usage: listed-aggregator.ts <port>
// <claims>
import { runAggregator } from "../../aggregator/aggregator.ts";
import { readAggregatorCommand } from "../../aggregator/settings/config.ts";
import { createKubeClient } from "../../common/kube/client.ts";
import { createSystemClock } from "../../common/runtime/clock.ts";
import { listen, type Route } from "../../common/runtime/http-server.ts";
import { createMetrics } from "../../common/runtime/metrics.ts";
import { createSystemRandom } from "../../common/runtime/random.ts";
import { formatSecondsUp } from "../../common/storage/timestamp.ts";
import { createFakeApiServer } from "../fakes/api-server.ts";
import { createFakeLogger } from "../fakes/logger.ts";
import { createFakeConnection } from "../fakes/transport.ts";
import { writtenCondition } from "./cluster/conditions.ts";

const [port, count] = [process.argv[2] ?? "", Number(process.argv[3])];
const clock = createSystemClock();
const madeAt = Math.floor(clock.wallMs() / 1_000) * 1_000 - 86_400_000;

function claimOf(index: number) {
  const [namespace, name, uid, volume] = [`ns-${index % 500}`, `data-${index}`, `claim-${index}`, `pv-${index}`];
  const place = { index, namespace, name, volume, node: index % 5_000, isUsed: false, isStaged: false, handle: "" };
  const { metadata, status } = writtenCondition(place, { uid, atMs: madeAt });
  const creationTimestamp = formatSecondsUp(madeAt);
  return {
    metadata: { ...metadata, namespace, name, uid, resourceVersion: String(index + 1), creationTimestamp },
    spec: { volumeName: volume, storageClassName: "fast", resources: { requests: { storage: "10Gi" } } },
    status: { ...status, phase: "Bound", capacity: { storage: "10Gi" } },
  };
}

function volumeOf(index: number) {
  return {
    metadata: { name: `pv-${index}`, uid: `volume-${index}`, resourceVersion: String(index + 1) },
    spec: {
      claimRef: { namespace: `ns-${index % 500}`, name: `data-${index}`, uid: `claim-${index}` },
      csi: { driver: "csi.example.com", volumeHandle: `handle-${index}` },
      capacity: { storage: "10Gi" },
      persistentVolumeReclaimPolicy: "Delete",
      storageClassName: "fast",
    },
    status: { phase: "Bound" },
  };
}

const NONE = { wallMs: 0, processorMs: 0 };
let longest = NONE;
/**
 * Each turn of the event loop schedules the next: the longest turn is the longest time in which no other code ran. On a busy machine the
 * processor time says more; it includes the garbage collector's threads.
 */
async function watch(): Promise<never> {
  const now = () => ({ wallMs: clock.monotonicMs(), processorMs: clock.processorMs() });
  for (let began = now(); ; began = now()) {
    await clock.sleep(0);
    const ended = now();
    longest = {
      wallMs: Math.max(longest.wallMs, ended.wallMs - began.wallMs),
      processorMs: Math.max(longest.processorMs, ended.processorMs - began.processorMs),
    };
  }
}

const turn: Route = {
  method: "GET",
  path: "/longest-turn",
  answer: () => {
    const body = JSON.stringify(longest);
    longest = NONE;
    return { status: 200, body };
  },
};

const numbers = Array.from({ length: count }, (_, index) => index);
const objects = { persistentvolumeclaims: numbers.map(claimOf), persistentvolumes: numbers.map(volumeOf) };
const command = readAggregatorCommand({ argv: ["--api-bind-address", `127.0.0.1:${port}`], env: {} });
if (command.kind !== "run") throw new Error("the flags ask for something else");
const client = createKubeClient(createFakeConnection(createFakeApiServer(clock, objects).transport), { clock });
const ports = { clock, random: createSystemRandom(), logger: createFakeLogger(), metrics: createMetrics(), client };
const withTurn: typeof listen = (routes, at, logger) => listen([...routes, turn], at, logger);
await Promise.all([
  runAggregator(command.config, { ...ports, listen: withTurn }, new AbortController().signal),
  watch(),
]);
