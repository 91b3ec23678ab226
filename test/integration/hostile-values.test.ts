import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ApiError, createKubeClient, type KubeClient } from "../../common/kube/client.ts";
import { connect } from "../../common/kube/connection.ts";
import type { NodeReport } from "../../common/storage/node-report.ts";
import { CENTURY_MS } from "../../common/storage/timestamp.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { createAggregator, type Program } from "../rig/stand-in/mooring.ts";
import { type BareCluster, CLAIMS, startBareCluster } from "./bare-cluster.ts";
import { CHANGES, type HostileChange, somePairs } from "./hostile-rows.ts";

const PODS = CLAIMS.replace("persistentvolumeclaims", "pods");
const MERGE = "application/merge-patch+json";
const PAIRS = 40;
const hasPod = ({ on }: HostileChange): boolean => /pod|node/.test(on);
/** A claim with what is done to it. */
const VICTIMS = [...CHANGES.map((one) => [one]), ...somePairs(CHANGES, PAIRS)].map((changes, index) => ({
  name: `victim-${index}`,
  changes,
}));

let owner: Owner;
let signals: Disposable;
let cluster: BareCluster;
let aggregator: Program;
let admin: KubeClient;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  cluster = await startBareCluster(owner);
  admin = createKubeClient(await connect({ kubeconfig: cluster.plane.kubeconfig, inCluster: false }, {}), owner);
  owner.defer(() => admin.close());
  aggregator = await createAggregator(owner, cluster.plane, {
    heartbeat: "1s",
    aggregatorFlags: ["--protection", "enforce"],
  });
  await aggregator.start();
}, 60_000);

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

/** True when the API server admitted it. */
async function ask(method: "POST" | "PATCH", path: string, body: object): Promise<boolean> {
  try {
    await admin.request({ method, path, body, ...(method === "PATCH" && { contentType: MERGE }) }, owner.signal);
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.status >= 400 && error.status < 500) return false;
    throw error;
  }
}

/** What each victim has of its own: a pod that runs on a node of its own. */
async function surround(name: string): Promise<void> {
  const volumes = [{ name: "data", persistentVolumeClaim: { claimName: name } }];
  const spec = { nodeName: `on-${name}`, containers: [{ name: "main", image: "none" }], volumes };
  // Where no agent belongs the end of a pod counts at once.
  const labels = { "kubernetes.io/os": "windows" };
  await ask("POST", "/api/v1/nodes", { metadata: { name: `on-${name}`, labels } });
  await ask("POST", PODS, { metadata: { name: `pod-${name}` }, spec });
}

function pathOf(on: HostileChange["on"], name: string): string {
  const [kind, status] = on.split("-");
  const paths: Readonly<Record<string, string>> = {
    claim: `${CLAIMS}/${name}`,
    volume: `/api/v1/persistentvolumes/pv-${name}`,
    pod: `${PODS}/pod-${name}`,
    node: `/api/v1/nodes/on-${name}`,
  };
  return `${paths[kind ?? ""]}${status === undefined ? "" : "/status"}`;
}

function reportOf(node: string, fields: Partial<NodeReport>): NodeReport {
  const endedAt = owner.clock.monotonicMs();
  return {
    ...{ version: 1, node, bootId: `boot-${node}`, podUid: "agent", instance: "run-1", generation: 1, driftPpm: 200 },
    ...{
      version: 1,
      sentAt: endedAt,
      scan: { beganAt: endedAt - 1, endedAt },
      observedSince: 0,
      agentGaps: [{ to: 0 }],
    },
    ...{ podsResourceVersion: "9".repeat(18), mountedVolumes: [], unmountRecords: [], ...fields },
  };
}

/** The status of the answer. */
async function send(node: string, report: object): Promise<number> {
  const body = JSON.stringify(report).replaceAll('"1e999"', "1e999");
  return (await fetch(`${aggregator.url}/v1/nodes/${node}/report`, { method: "PUT", body })).status;
}

/** Somebody else's claim is written meanwhile, by the same process, which met no bug. */
async function goesOn(name: string): Promise<void> {
  await cluster.createClaims([name]);
  await cluster.claimThat(name, "written", ({ status }) => status !== undefined);
  const health = await (await fetch(`${aggregator.url}/readyz?verbose`)).text();
  expect(health).toContain("[+]internal-errors ok\n");
  await expect(Promise.race([aggregator.child.exited, "runs"])).resolves.toBe("runs");
}

async function eachOf<T>(rows: readonly T[], work: (row: T) => Promise<unknown>): Promise<void> {
  const left = [...rows];
  const worker = async (): Promise<void> => {
    for (let row = left.shift(); row !== undefined; row = left.shift()) await work(row);
  };
  await Promise.all(Array.from({ length: 16 }, worker));
}

const volumeOf = (name: string) => ({ by: "name", name: `pv-${name}` }) as const;

describe("an aggregator process", () => {
  it("keeps running without an internal error and writes other claims, whatever the objects of claims contain", async () => {
    await cluster.createClaims(VICTIMS.map(({ name }) => name));
    const withPods = VICTIMS.filter(({ changes }) => changes.some(hasPod));
    await eachOf(withPods, ({ name }) => surround(name));
    const since = owner.clock.monotonicMs();
    const mountedVolumes = VICTIMS.map(({ name }) => ({
      kind: "pod" as const,
      volume: volumeOf(name),
      podUid: name,
      since,
    }));
    const taken = async (): Promise<void> => expect(await send("n1", reportOf("n1", { mountedVolumes }))).toBe(200);
    await waitUntil(owner, { what: "the first report", limitMs: 20_000, check: taken });
    await eachOf(VICTIMS, ({ name }) =>
      cluster.claimThat(name, "mounted", ({ status }) => status?.reason === "Mounted"),
    );

    const admitted = new Map<string, boolean>();
    await eachOf(VICTIMS, async ({ name, changes }) => {
      const { uid } = await cluster.claim(name);
      for (const { name: what, on, patch } of changes) {
        const isIn = await ask("PATCH", pathOf(on, name), patch({ uid, nowMs: owner.clock.wallMs() }));
        admitted.set(what, isIn || admitted.get(what) === true);
      }
    });
    await goesOn("calm-1");
    const by = owner.clock.monotonicMs();
    const unmountRecords = VICTIMS.map(({ name }) => {
      return { id: `boot-n1/${by}/${name}`, volume: volumeOf(name), podUid: name, after: by - 1, by };
    });
    await eachOf(withPods, ({ name }) => cluster.api.remove(`${PODS}/pod-${name}`));
    expect(await send("n1", reportOf("n1", { generation: 2, unmountRecords }))).toBe(200);

    // What stands in other objects may well keep a claim in use; an annotation must not.
    const annotated = VICTIMS.filter(({ changes }) => changes.every(({ on }) => on === "claim"));
    await eachOf(annotated, ({ name }) => cluster.claimThat(name, "unused", ({ status }) => status?.unused === true));
    await goesOn("calm-2");
    // Most of what is meant to do harm is admitted by the API server: else nothing would be tried here.
    expect([...admitted.values()].filter(Boolean).length).toBeGreaterThan(CHANGES.length * 0.7);
  }, 180_000);

  it("lives, meets no bug and writes other claims, whatever numbers stand in reports", async () => {
    await cluster.createClaims(["reported"]);
    const numbers = [-1, 0.5, 5e-324, 1e14, CENTURY_MS - 1, 9e15, 1e17, 1e308, "1e999"];
    const rows = numbers.flatMap((number) => [
      { sentAt: number },
      { scan: { beganAt: number, endedAt: number }, sentAt: number },
      { observedSince: number, agentGaps: [{ from: 0, to: number }] },
      { clockSamples: [{ at: 0, ms: number }] },
      { clockSamples: [{ at: number, ms: 0 }] },
      { driftPpm: number },
      { generation: number },
      { mountedVolumes: [{ kind: "pod", volume: volumeOf("reported"), podUid: "u", since: number, seenAt: number }] },
      { unmountRecords: [{ id: `a/${number}`, volume: volumeOf("reported"), podUid: "u", by: number }] },
      { unmountRecords: [{ id: `b/${number}`, volume: volumeOf("reported"), podUid: "u", after: 0, by: number }] },
    ]);
    const merged = somePairs(rows, 100).map(([one, other]) => ({ ...one, ...other }));
    const end = CENTURY_MS - 1;
    const widest = {
      ...{ sentAt: end, scan: { beganAt: end, endedAt: end }, driftPpm: 500_000, clockSamples: [{ at: 0, ms: 0 }] },
      unmountRecords: [{ id: "c", volume: volumeOf("reported"), podUid: "u", after: 0, by: end }],
    };

    const answers = new Set<number>();
    await eachOf(
      [...rows, ...merged, widest].map((fields, index) => ({ fields, node: `odd-${index}` })),
      async (one) => {
        answers.add(await send(one.node, { ...reportOf(one.node, {}), ...one.fields }));
      },
    );

    expect([...answers].toSorted()).toEqual([200, 400]);
    await goesOn("calm-3");
    await waitUntil(owner, {
      what: "the end of the use that the widest report has",
      limitMs: 20_000,
      check: async () => expect((await cluster.claim("reported")).status).toBeDefined(),
    });
  }, 180_000);
});
