import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
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
const ZONE = "topology.kubernetes.io/zone";
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
afterEach(async () => {
  for (const path of made.splice(0)) await cluster.api.remove(path);
});
afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

function start(limit = LIMIT): Promise<RunningAggregator> {
  return cluster.startAggregator(["--pause-rejections-at", String(limit)]);
}

async function restart(limit = LIMIT): Promise<void> {
  await aggregator.stop();
  aggregator = await start(limit);
}

/** Paths of the pods of the test that runs. */
const made: string[] = [];

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
  made.push(`${NAMESPACES}/${namespace}/pods/${name}`);
}

/** As an agent does it: everything in one patch. */
async function reject(name: string, namespace = "shop"): Promise<void> {
  const metadata = { annotations: { "mooring.dev/rejected": JSON.stringify({ level: 0 }) } };
  const status = { phase: "Failed", reason: "VolumeNodeAffinity", message: "Pod was rejected: for a test" };
  await cluster.api.patch(`${NAMESPACES}/${namespace}/pods/${name}/status`, { metadata, status });
}

function inZone(zone: string): object {
  const matchExpressions = [{ key: ZONE, operator: "In", values: [zone] }];
  return { spec: { nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions }] } } } };
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

/** That of an aggregator that has just begun, and takes no reports before everything has been listed. */
async function firstAnswerTo(node: string): Promise<ReportAnswer> {
  let first: ReportAnswer | undefined;
  const check = async (): Promise<void> => {
    first = await answerTo(node);
  };
  await waitUntil(owner, { what: "a first answer", limitMs: 10_000, everyMs: 5, check });
  return first ?? expect.fail("there is none");
}

async function named(node: string): Promise<readonly string[] | undefined> {
  return (await answerTo(node)).volumes?.map(({ name }) => name);
}

async function untilNamed(node: string, volumes: readonly string[]): Promise<void> {
  const check = async (): Promise<void> => expect(await named(node)).toEqual(volumes);
  await waitUntil(owner, { what: `${node} named [${volumes}]`, limitMs: 10_000, everyMs: 50, check });
}

describe("the answers to agents, on a real API server", () => {
  it("names a volume whose affinity is edited under a pod for as long as it does not admit the pod's node", async () => {
    await cluster.api.create("/api/v1/nodes", { metadata: { name: "one", labels: { [ZONE]: "a" } } });
    await cluster.createClaims(["edited"]);
    await createPod("edited-0", { claim: "edited", node: "one" });
    const volume = "/api/v1/persistentvolumes/pv-edited";
    await cluster.api.patch(volume, inZone("a"));
    await untilNamed("one", []);

    await cluster.api.patch(volume, inZone("b"));
    await untilNamed("one", ["pv-edited"]);
    const [before] = (await answerTo("one")).volumes ?? [];
    await cluster.api.patch(volume, inZone("c"));
    await waitUntil(owner, {
      what: "another version of the volume",
      limitMs: 10_000,
      check: async () =>
        expect((await answerTo("one")).volumes?.[0]?.resourceVersion).not.toBe(before?.resourceVersion),
    });
    await restart();
    await untilNamed("one", ["pv-edited"]);
    await cluster.api.patch("/api/v1/nodes/one", { metadata: { labels: { [ZONE]: "c" } } });
    await untilNamed("one", []);
    await cluster.api.patch("/api/v1/nodes/one", { metadata: { labels: { [ZONE]: "a" } } });
    await untilNamed("one", ["pv-edited"]);
    await reject("edited-0");
    await untilNamed("one", []);
  });

  it("pauses rejections for all nodes when several namespaces have too many, and still does after it was restarted", async () => {
    await restart();
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
    await restart();
    await waitUntil(owner, { what: "a hold after a restart", ...isHeld });

    expect(before).toBeUndefined();
    expect(lines).toContain("agents are told to reject no pod");
    expect(gauge).toBe(1);
  });

  it("pauses rejections before any is made when too many pods wait wrongly, from its first answer on", async () => {
    await restart(1);
    await cluster.api.create("/api/v1/nodes", { metadata: { name: "four", labels: { [ZONE]: "a" } } });
    await cluster.createClaims(["waiting"]);
    for (const name of ["waiting-0", "waiting-1", "waiting-2"])
      await createPod(name, { claim: "waiting", node: "four" });
    await untilNamed("four", []);
    const before = (await answerTo("four")).pauseRejections;

    await cluster.api.patch("/api/v1/persistentvolumes/pv-waiting", inZone("b"));
    let named: ReportAnswer = { forget: [] };
    const check = async (): Promise<void> => {
      named = await answerTo("four");
      expect(named.volumes).toHaveLength(1);
    };
    await waitUntil(owner, { what: "the volume's name", limitMs: 10_000, everyMs: 50, check });
    await restart(1);
    const first = await firstAnswerTo("another");

    expect(before).toBeUndefined();
    expect(named.pauseRejections).toContain("1 pods on 1 of");
    expect(first.pauseRejections).toContain("1 pods on 1 of");
  });
});
