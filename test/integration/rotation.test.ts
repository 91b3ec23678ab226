import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createReportWay } from "../../agent/report-way.ts";
import { createReportSender } from "../../agent/sinks/report-sender.ts";
import { createOwnServing } from "../../aggregator/certificates/own-serving.ts";
import { makeSelfSigned } from "../../aggregator/certificates/self-signed.ts";
import type { Serving } from "../../aggregator/certificates/serving.ts";
import { createGrant } from "../../aggregator/sources/report-access.ts";
import { reportRoute } from "../../aggregator/sources/report-server.ts";
import { createKubeClient, type KubeClient, type KubeParts } from "../../common/kube/client.ts";
import { type ConfigMap, readConfigMap } from "../../common/kube/config-map.ts";
import { connect } from "../../common/kube/connection.ts";
import type { ByteTransport } from "../../common/kube/transport.ts";
import type { Clock } from "../../common/runtime/clock.ts";
import { listen, type Route, type ServingIdentity } from "../../common/runtime/http-server.ts";
import { createMetrics } from "../../common/runtime/metrics.ts";
import { createSystemRandom } from "../../common/runtime/random.ts";
import { CERTIFICATES_NAME } from "../../common/storage/published-certificates.ts";
import { createFakeLogger } from "../fakes/logger.ts";
import { createProjectedVolume } from "../fakes/projected-volume.ts";
import { oneStep } from "../fakes/steps.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { reportWith } from "../unit/aggregator/world.ts";
import { type BareCluster, startBareCluster } from "./bare-cluster.ts";
import { AGENTS, createAgentPod, requestToken } from "./report-scene.ts";

const SENDERS = 8;
const DAY = 86_400_000;
/** By each of these times in turn the certificate that was made by the one before is due; by the real time all are valid. */
const BEHIND_DAYS = [31, 62, 1, 32, 63, 2];
/** Replicas look every 200 ms instead of every minute, and agents may read anew after 200 ms instead of 5 s. */
const FASTER = { look: 300, read: 25 } as const;
const PLACE = { namespace: AGENTS, name: CERTIFICATES_NAME };
const PATH = `/api/v1/namespaces/${AGENTS}/configmaps/${CERTIFICATES_NAME}`;
const NAMES = ["127.0.0.1"];
const RULE = { namespace: AGENTS, account: "mooring-agent" };
const never = new AbortController().signal;

let owner: Owner;
let signals: Disposable;
let cluster: BareCluster;
let parts: KubeParts;
let agent: KubeClient;
const logger = createFakeLogger();
/** What replicas take for the time is behind the real one by this. */
let behindMs = 0;
const replicas = new Map<string, Serving>();

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  cluster = await startBareCluster(owner);
  parts = {
    client: await clientOf("mooring", "mooring-aggregator"),
    clock: owner.clock,
    random: createSystemRandom(),
    logger,
  };
  agent = await clientOf(AGENTS, "mooring-agent");
});
afterAll(async () => {
  signals[Symbol.dispose]();
  await owner.close();
});

async function clientOf(namespace: string, name: string): Promise<KubeClient> {
  const kubeconfig = await cluster.plane.kubeconfigFor({ serviceAccount: { namespace, name } });
  const client = createKubeClient(await connect({ kubeconfig, inCluster: false }, {}), owner);
  owner.defer(() => client.close());
  return client;
}

/** Runs until the owner closes. */
function inBackground(run: (signal: AbortSignal) => Promise<void>): void {
  const stopping = new AbortController();
  const running = run(stopping.signal);
  owner.defer(async () => {
    stopping.abort();
    await running;
  });
}

/** A replica's server, with real reviews of tokens; each third answer ends its connection, so that handshakes go on. */
async function startServer(identity: ServingIdentity): Promise<string> {
  const route = reportRoute(
    {
      turnAway: () => undefined,
      retryAfterSeconds: () => 0,
      onReport: () => oneStep({ kind: "accepted", answer: { forget: [] } }),
      pauseRejections: () => undefined,
      session: () => undefined,
      yieldToEventLoop: () => undefined,
    },
    { increment: () => {} },
    createGrant({ ...parts, metrics: createMetrics() }, RULE),
  );
  let answers = 0;
  const churning: Route = {
    ...route,
    answer: async (request) => {
      answers += 1;
      return { ...(await route.answer(request)), isLast: answers % 3 === 0 };
    },
  };
  const server = await listen([churning], { host: "127.0.0.1", port: 0, identity }, logger);
  owner.defer(() => server.close());
  return server.url;
}

async function startReplica(replica: string): Promise<string> {
  const clock: Clock = { ...owner.clock, sleep: (ms, signal) => owner.clock.sleep(ms / FASTER.look, signal) };
  const nowMs = (): number => owner.clock.wallMs() - behindMs;
  const serving = createOwnServing({ ...parts, clock, nowMs }, { replica, names: NAMES, agentNamespace: AGENTS });
  replicas.set(replica, serving);
  inBackground(serving.run);
  return await startServer(serving);
}

/** An agent's way to report, with its own account and token. */
async function startAgent(node: string, aggregatorUrl: string): Promise<{ transport: ByteTransport; podUid: string }> {
  const pod = await createAgentPod(cluster, `agent-on-${node}`, { node });
  const volume = createProjectedVolume(`${owner.folder}/${node}`);
  volume.write({ token: await requestToken(cluster, { pod }) });
  const clock: Clock = { ...owner.clock, monotonicMs: () => owner.clock.monotonicMs() * FASTER.read };
  const aggregatorTokenFile = `${volume.folder}/token`;
  const target = { podNamespace: AGENTS, aggregatorUrl, aggregatorCaFile: undefined, aggregatorTokenFile };
  const transport = createReportWay(target, { client: agent, clock, logger });
  owner.defer(() => transport.close());
  return { transport, podUid: pod.uid };
}

/** Reports in a loop; counts what was accepted, and keeps what became of the others. */
async function startSender(node: string, aggregatorUrl: string, failed: string[]): Promise<() => number> {
  const { transport, podUid } = await startAgent(node, aggregatorUrl);
  let accepted = 0;
  const reports = {
    increment: ({ outcome }: { readonly outcome: string }) => {
      if (outcome === "accepted") accepted += 1;
      else failed.push(outcome);
    },
  };
  const sender = createReportSender(
    { ...parts, transport, reports },
    { path: `/v1/nodes/${node}/report`, onAnswer: () => {} },
  );
  inBackground(async (signal) => {
    const running = sender.run(signal);
    while (!signal.aborted) {
      sender.submit(() => reportWith({ node, podUid }));
      await owner.clock.sleep(60, signal);
    }
    await running;
  });
  return () => accepted;
}

/** What is published, once it is exactly what the replicas serve. */
async function settled(): Promise<ConfigMap["data"]> {
  let data: ConfigMap["data"] = {};
  const check = async (): Promise<void> => {
    data = (await readConfigMap(agent, PLACE, never))?.data ?? {};
    const served = [...replicas].map(([name, serving]) => [`${name}.crt`, serving.pair()?.certificate]);
    expect(data).toStrictEqual(Object.fromEntries(served));
  };
  await waitUntil(owner, { what: "every replica's certificate", limitMs: 60_000, check, everyMs: 100 });
  return data;
}

/** Waits until each agent has reported more often than it may read anew in that time. */
async function reported(counts: readonly (() => number)[]): Promise<void> {
  const before = counts.map((count) => count());
  const check = async (): Promise<void> =>
    expect(counts.filter((count, index) => count() < (before[index] ?? 0) + 6)).toEqual([]);
  await waitUntil(owner, { what: "more reports", limitMs: 60_000, check });
}

/** Why reports were not delivered. */
function failures(): readonly unknown[] {
  return logger.lines.filter(({ message }) => message.startsWith("report not")).map(({ fields }) => fields.err);
}

describe("the certificates of two replicas, and agents that report all the time", () => {
  it("are renewed, deleted and put back at the cost of not one report, and are hardly ever read", async () => {
    const urls = [await startReplica("one"), await startReplica("two")];
    const first = await settled();
    const failed: string[] = [];
    const counts = await Promise.all(
      Array.from({ length: SENDERS }, (_, index) => startSender(`node-${index}`, urls[index % 2] ?? "", failed)),
    );
    await reported(counts);
    const certificates = new Set(Object.values(first));
    let reads = 0;
    for (const days of BEHIND_DAYS) {
      behindMs = days * DAY;
      const before = agent.requests();
      const check = async (): Promise<void> => {
        const served = [...replicas.values()].map((serving) => serving.pair()?.certificate ?? "");
        expect(served.filter((one) => certificates.has(one))).toEqual([]);
        expect(agent.requests() - before).toBe(SENDERS);
      };
      await waitUntil(owner, { what: "renewed certificates, which every agent has read", limitMs: 60_000, check });
      await reported(counts);
      reads += agent.requests() - before;
      for (const certificate of Object.values(await settled())) certificates.add(certificate);
      if (days === 1) await cluster.plane.api({ path: PATH, method: "DELETE" });
    }

    expect(failures()).toEqual([]);
    expect(failed).toEqual([]);
    expect(certificates.size).toBe(2 * (BEHIND_DAYS.length + 1));
    expect(reads).toBe(SENDERS * BEHIND_DAYS.length);
  });

  it("are all that an agent trusts", async () => {
    await settled();
    const other = makeSelfSigned({ nowMs: owner.clock.wallMs(), lifetimeMs: DAY }, NAMES);
    const { transport } = await startAgent(
      "node-x",
      await startServer({ pair: () => other, onChange: () => () => {} }),
    );

    const sent = transport.send({ method: "PUT", path: "/v1/nodes/node-x/report", headers: {}, body: "{}" }, never);

    await expect(sent).rejects.toMatchObject({
      code: "transport-failed",
      message: expect.stringContaining("self-signed"),
    });
  });
});
