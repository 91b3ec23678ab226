import { type AgentPorts, runAgent } from "../../../agent/agent.ts";
import type { AgentConfig } from "../../../agent/config.ts";
import { createMemoryJournal } from "../../../agent/sinks/journal.ts";
import { createKubeClient } from "../../../common/kube/client.ts";
import { listen } from "../../../common/runtime/http-server.ts";
import { createMetrics } from "../../../common/runtime/metrics.ts";
import { decodeNodeMessage, isReport, type NodeMessage, type NodeReport } from "../../../common/storage/node-report.ts";
import { createFakeByteStream } from "../../fakes/byte-stream.ts";
import { createFakeClock, eventually, type FakeClock, settle } from "../../fakes/clock.ts";
import { createFakeLogger } from "../../fakes/logger.ts";
import { createFakeMountNotifier } from "../../fakes/mount-notifier.ts";
import { createFakeMountTable, csiMountPoint, tokenMountPoint } from "../../fakes/mount-table.ts";
import { createFixedRandom } from "../../fakes/random.ts";
import { createFakeConnection, createFakeTransport, type FakeAnswer, json } from "../../fakes/transport.ts";
import { type Asked, readAsked } from "../../rig/faults/asked.ts";

/** The mount of `pv-1` for the pod `team/web`. */
export const MOUNT = csiMountPoint("u1", "pv-1");
/** The mount that proves the table. */
export const TOKEN = tokenMountPoint("agent-1");

const CONFIG: AgentConfig = {
  node: "node-1",
  podUid: "agent-1",
  aggregatorUrl: "https://gateway.example/mooring/",
  podNamespace: "mooring-agents",
  aggregatorCaFile: undefined,
  aggregatorTokenFile: "/var/run/mooring/token",
  kubeconfig: undefined,
  mountInfo: "/proc/1/mountinfo",
  bootId: "/boot_id",
  kubeletRoot: undefined,
  journalDir: undefined,
  heartbeatMs: 30_000,
  debounceMs: 100,
  affinity: {
    mode: "off",
    graceMs: 5_000,
    rejectAttached: false,
    rejectBarePods: false,
    rejectLastTries: false,
    deleteReverted: false,
    deleteRejected: false,
    enforcesSince: undefined,
  },
  metricsAddress: { host: "127.0.0.1", port: 0 },
  debugAddress: { host: "127.0.0.1", port: 0 },
  logLevel: "info",
};

const cleanUps: (() => Promise<void>)[] = [];

/** Stops every agent of a test. */
export async function stopAgents(): Promise<void> {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
}

interface Setting {
  readonly mounts?: readonly string[];
  readonly answer?: () => FakeAnswer;
  readonly clock?: FakeClock;
  /** What is done about pods on the wrong node; by default nothing. */
  readonly mode?: AgentConfig["affinity"]["mode"];
  /** Of the pod, which is being deleted; by default it is over. */
  readonly phase?: "Pending" | "Running" | "Succeeded";
  readonly ports?: (ports: AgentPorts) => Partial<AgentPorts>;
}

/** A running agent whose pod watch has listed one pod, `team/web`, at resource version 100. */
export async function startAgent({
  mounts = [TOKEN],
  answer = () => json({ forget: [] }),
  clock = createFakeClock(),
  mode = "off",
  phase = "Succeeded",
  ports: change = () => ({}),
}: Setting = {}) {
  const logger = createFakeLogger();
  const table = createFakeMountTable(
    clock,
    mounts.map((mountPoint) => ({ mountPoint })),
  );
  const mountNotifier = createFakeMountNotifier(clock);
  const watch = createFakeByteStream();
  const pod = {
    metadata: {
      namespace: "team",
      name: "web",
      uid: "u1",
      resourceVersion: "90",
      deletionTimestamp: "2026-01-01T00:00:00Z",
    },
    status: { phase },
  };
  const requested: Asked[] = [];
  const api = createFakeTransport(({ method, path, headers }) => {
    requested.push(readAsked({ method, target: path, accept: headers.accept }));
    return path.includes("watch=true") ? { body: watch } : json({ metadata: { resourceVersion: "100" }, items: [pod] });
  });
  const bodies: NodeReport[] = [];
  const messages: NodeMessage[] = [];
  const paths: string[] = [];
  const reportTransport = createFakeTransport(({ path, body }) => {
    const report = decodeNodeMessage(JSON.parse(body ?? ""));
    if (!report.ok) return { status: 400, body: report.problems.join("; ") };
    messages.push(report.value);
    if (isReport(report.value)) bodies.push(report.value);
    paths.push(path);
    return answer();
  });
  const client = createKubeClient(createFakeConnection(api), { clock });
  const base = {
    clock,
    random: createFixedRandom(0.5),
    logger,
    metrics: createMetrics(),
    listen,
    client,
    reportTransport,
    mountInfo: table,
    mountNotifier,
    journal: createMemoryJournal(),
    nodeFacts: { read: async () => ({ facts: { kernel: "6.18.4" }, bootId: "boot-1", bootedAt: undefined }) },
    bootId: "boot-1",
  };
  const stop = new AbortController();
  const running = runAgent(
    { ...CONFIG, affinity: { ...CONFIG.affinity, mode } },
    { ...base, ...change(base) },
    stop.signal,
  );
  cleanUps.push(async () => {
    stop.abort();
    await running;
  });
  await eventually(() => logger.messages().includes("agent started"));
  await settle();
  const url = String(logger.lines.find(({ message }) => message === "agent started")?.fields.health);
  const { advance } = clock;
  return {
    clock,
    logger,
    table,
    mountNotifier,
    watch,
    bodies,
    messages,
    paths,
    stop,
    running,
    url,
    advance,
    pod,
    requested,
  };
}

/** The volumes that a report shows. */
export function namesIn(report: NodeReport | undefined): readonly string[] {
  return (report?.mountedVolumes ?? []).map(({ volume }) => (volume.by === "name" ? volume.name : volume.by));
}
