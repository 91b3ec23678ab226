import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  decodeReportAnswer,
  type NodeReport,
  type ReportAnswer,
  reportPath,
} from "../../common/storage/node-report.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { type BareCluster, type RunningAggregator, startBareCluster } from "./bare-cluster.ts";

const NAMESPACES = "/api/v1/namespaces";
/** Whose pods are wrong beside those of the namespace shop. */
const TEAMS = ["team-a", "team-b"];
const LIMIT = 3;

let owner: Owner;
let signals: Disposable;
let cluster: BareCluster;
let aggregator: RunningAggregator;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  cluster = await startBareCluster(owner);
  for (const name of TEAMS) {
    await cluster.api.create(NAMESPACES, { metadata: { name } });
    await cluster.api.create(`${NAMESPACES}/${name}/serviceaccounts`, { metadata: { name: "default" } }).catch(() => {
      // The controller manager was faster.
    });
  }
  aggregator = await start();
});
afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

function start(): Promise<RunningAggregator> {
  return cluster.startAggregator(["--pause-rejections-at", String(LIMIT)]);
}

interface PodPlace {
  readonly claim: string;
  readonly node: string;
  readonly namespace?: string;
}

/** A pod without a kubelet, bound to the node. */
async function createPod(name: string, { claim, node, namespace = "shop" }: PodPlace): Promise<void> {
  const volumes = [{ name: "data", persistentVolumeClaim: { claimName: claim } }];
  const spec = { nodeName: node, containers: [{ name: "main", image: "none" }], volumes };
  await cluster.api.create(`${NAMESPACES}/${namespace}/pods`, { metadata: { name }, spec });
}

/** As an agent does it: everything in one patch. */
async function reject(name: string, namespace = "shop"): Promise<void> {
  const metadata = { annotations: { "mooring.dev/rejected": JSON.stringify({ level: 0 }) } };
  const status = { phase: "Failed", reason: "VolumeNodeAffinity", message: "Pod was rejected: for a test" };
  await cluster.api.patch(`${NAMESPACES}/${namespace}/pods/${name}/status`, { metadata, status });
}

/** The answer that an agent without any mounts would get now. */
async function answerTo(node: string): Promise<ReportAnswer> {
  const endedAt = owner.clock.monotonicMs();
  const body: NodeReport = {
    ...{ version: 1, node, bootId: `boot-${node}`, podUid: "agent", instance: "run-1", generation: 1, driftPpm: 200 },
    ...{ scan: { beganAt: endedAt - 1, endedAt }, sentAt: endedAt, observedSince: 0, agentGaps: [{ to: 0 }] },
    ...{ podsResourceVersion: "1", mountedVolumes: [], unmountRecords: [] },
  };
  const { fields } = aggregator.logger.lines.find(({ message }) => message.startsWith("aggregator started")) ?? {};
  const response = await fetch(`${String(fields?.url)}${reportPath("", node)}`, {
    method: "PUT",
    body: JSON.stringify(body),
  });
  const answer = decodeReportAnswer(JSON.parse(await response.text()));
  if (!answer.ok) throw new Error(answer.problems.join("; "));
  return answer.value;
}

describe("the answers to agents, on a real API server", () => {
  it("pauses rejections for all nodes when several namespaces have too many, and still does after it was restarted", async () => {
    await cluster.createClaims(["held"]);
    const names = ["held-0", "held-1", "held-2", "held-3", "held-4"];
    for (const name of names) await createPod(name, { claim: "held", node: "two" });
    for (const namespace of TEAMS) await createPod("held", { claim: "held", node: "two", namespace });
    const mountedVolumeOf = async (node: string): Promise<string | undefined> => (await answerTo(node)).pauseRejections;
    const isHeld = {
      limitMs: 10_000,
      check: async () => expect(await mountedVolumeOf("three")).toContain("were rejected"),
    };
    for (const name of names) await reject(name);
    const rejected = {
      limitMs: 10_000,
      check: async () => expect(await aggregator.metric("mooring_fleet_rejections_recent")).toBe(names.length),
    };
    await waitUntil(owner, { what: "the rejections of one namespace", ...rejected });
    const before = await mountedVolumeOf("three");

    for (const namespace of TEAMS) await reject("held", namespace);
    await waitUntil(owner, { what: "a hold", ...isHeld });
    const lines = aggregator.logger.lines.filter(({ level }) => level === "warn").map(({ message }) => message);
    const gauge = await aggregator.metric("mooring_fleet_rejections_paused");
    await aggregator.stop();
    aggregator = await start();
    await waitUntil(owner, { what: "a hold after a restart", ...isHeld });

    expect(before).toBeUndefined();
    expect(lines).toContain("agents are told to reject no pod");
    expect(gauge).toBe(1);
  });
});
