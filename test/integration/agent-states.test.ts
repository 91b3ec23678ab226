import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Claim } from "../../common/storage/claim.ts";
import type { NodeReport } from "../../common/storage/node-report.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { readList } from "../rig/stand-in/listed.ts";
import { type BareCluster, type RunningAggregator, startBareCluster } from "./bare-cluster.ts";

/** Times of seconds instead of minutes; the rules are the same. */
const FLAGS = ["--node-stale-after", "1s", "--no-agent-after", "2s", "--node-gone-after", "3s"];

const hasStatus = ({ status }: Claim): boolean => status !== undefined;
const isReferenced = ({ status }: Claim): boolean => status?.reason === "Referenced";
const isMounted = ({ status }: Claim): boolean => status?.reason === "Mounted";
const isUnused = ({ status }: Claim): boolean => status?.unused === true;

let owner: Owner;
let signals: Disposable;
let cluster: BareCluster;
let aggregator: RunningAggregator | undefined;
let boot = 0;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  cluster = await startBareCluster(owner);
});
afterEach(async () => {
  await aggregator?.stop();
  aggregator = undefined;
});
afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

async function start(): Promise<RunningAggregator> {
  aggregator = await cluster.startAggregator(FLAGS);
  return aggregator;
}

interface NewNode {
  readonly labels?: Readonly<Record<string, string>>;
  /** It is Ready; otherwise its kubelet has not reported for long. */
  readonly lives?: boolean;
}

/** Registers a node as its kubelet does. Answers its boot ID. */
async function createNode(name: string, { labels = {}, lives = false }: NewNode = {}): Promise<string> {
  boot += 1;
  const bootID = `boot-${boot}`;
  await cluster.api.create("/api/v1/nodes", { metadata: { name, labels } });
  await patchNode(name, { nodeInfo: nodeInfo(bootID), conditions: [ready(lives ? "True" : "Unknown")] });
  return bootID;
}

async function patchNode(name: string, status: object): Promise<void> {
  await cluster.api.patch(`/api/v1/nodes/${name}/status`, { status });
}

function ready(status: string) {
  return { type: "Ready", status, reason: "Test", message: "" };
}

function nodeInfo(bootID: string): object {
  const names = ["machineID", "systemUUID", "kernelVersion", "osImage", "containerRuntimeVersion", "kubeletVersion"];
  const rest = ["kubeProxyVersion", "operatingSystem", "architecture"];
  return { ...Object.fromEntries([...names, ...rest].map((name) => [name, "test"])), bootID };
}

/** A pod that runs on a node, as far as its status says. */
async function runPod(name: string, { claim, node }: { readonly claim: string; readonly node: string }): Promise<void> {
  const volumes = [{ name: "data", persistentVolumeClaim: { claimName: claim } }];
  const spec = { nodeName: node, containers: [{ name: "main", image: "none" }], volumes };
  await cluster.api.create("/api/v1/namespaces/shop/pods", { metadata: { name }, spec });
  const running = { name: "main", image: "none", imageID: "", ready: true, restartCount: 0, state: { running: {} } };
  const status = { phase: "Running", containerStatuses: [running] };
  await cluster.api.patch(`/api/v1/namespaces/shop/pods/${name}/status`, { status });
}

type Told = Pick<NodeReport, "node" | "bootId" | "mountedVolumes" | "unmountRecords"> & { readonly generation: number };

/** What an agent would send that has just read the mount table; again until it is taken. */
async function report(told: Told): Promise<void> {
  const endedAt = owner.clock.monotonicMs();
  const scan = { beganAt: endedAt - 1, endedAt };
  const who = { version: 1, podUid: "agent", instance: "run-1", driftPpm: 200 };
  const sight = { observedSince: 0, agentGaps: [{ to: 0 }] };
  const body: NodeReport = { ...told, ...who, ...sight, version: 1, sentAt: endedAt, scan, podsResourceVersion: "1" };
  const started = aggregator?.logger.lines.find(({ message }) => message.startsWith("aggregator started"));
  const url = `${String(started?.fields.url)}/v1/nodes/${told.node}/report`;
  const check = async (): Promise<void> => {
    const answer = await fetch(url, { method: "PUT", body: JSON.stringify(body) });
    expect(await answer.text()).toContain("forget");
  };
  await waitUntil(owner, { what: `report of ${told.node}`, limitMs: 10_000, check });
}

async function stateOf(name: string): Promise<unknown> {
  return readList((await aggregator?.page(`/v1/nodes?name=${name}`)) ?? "").items[0]?.state;
}

async function isTakenFor(name: string, kind: string): Promise<void> {
  const check = async (): Promise<void> => expect(await stateOf(name)).toBe(kind);
  await waitUntil(owner, { what: `node ${name} ${kind}`, limitMs: 20_000, check });
}

describe("nodes without an agent on a real API server", () => {
  it("a pod's end counts where the kubelet lives, and not where nothing is known of it", async () => {
    await Promise.all([createNode("alive", { lives: true }), createNode("quiet")]);
    await cluster.createClaims(["on-alive", "on-quiet"]);
    await start();
    await runPod("alive-0", { claim: "on-alive", node: "alive" });
    await runPod("quiet-0", { claim: "on-quiet", node: "quiet" });
    await cluster.claimThat("on-alive", "referenced", isReferenced);
    await cluster.claimThat("on-quiet", "referenced", isReferenced);
    await isTakenFor("alive", "NoAgent");

    await cluster.removePod("alive-0");
    await cluster.removePod("quiet-0");
    const unused = await cluster.claimThat("on-alive", "unused", isUnused);
    const waiting = await cluster.claimThat(
      "on-quiet",
      "waiting",
      ({ status }) => status?.message.includes("quiet") ?? false,
    );

    expect(unused.status).toMatchObject({ reason: "NoPodUsing", lastUse: { node: "alive", evidence: "pod-status" } });
    expect(waiting.status?.unused).toBe(false);
    expect(await stateOf("quiet")).toBe("Stale");
  });

  it("a tenant's pod that calls itself an agent holds up no claim of the node", async () => {
    await createNode("tenanted", { lives: true });
    const metadata = { name: "no-agent", labels: { "app.kubernetes.io/name": "mooring-agent" } };
    const spec = { nodeName: "tenanted", containers: [{ name: "main", image: "none" }] };
    await cluster.api.create("/api/v1/namespaces/shop/pods", { metadata, spec });
    await cluster.createClaims(["on-tenanted"]);
    await start();
    await runPod("tenanted-0", { claim: "on-tenanted", node: "tenanted" });
    await cluster.claimThat("on-tenanted", "referenced", isReferenced);
    await isTakenFor("tenanted", "NoAgent");

    await cluster.api.remove("/api/v1/namespaces/shop/pods/tenanted-0");

    const { status } = await cluster.claimThat("on-tenanted", "unused", isUnused);
    expect(status?.reason).toBe("NoPodUsing");
  });

  it("on another operating system a pod's end counts at once", async () => {
    await createNode("panes", { labels: { "kubernetes.io/os": "windows" } });
    await cluster.createClaims(["on-panes"]);
    await start();
    await runPod("panes-0", { claim: "on-panes", node: "panes" });
    await cluster.claimThat("on-panes", "referenced", isReferenced);

    await cluster.removePod("panes-0");

    const { status } = await cluster.claimThat("on-panes", "unused", isUnused);
    expect(status).toMatchObject({ reason: "NoPodUsing", lastUse: { node: "panes" } });
  });
});

describe("a volume that the status of a node shows attached", () => {
  it("delays the first status of its claim until its node has reported or it is detached", async () => {
    const bootId = await createNode("holder");
    await cluster.createClaims(["attached", "detached", "free"], { driver: "csi.example" });
    const attach = (...handles: readonly string[]): Promise<void> =>
      patchNode("holder", {
        volumesAttached: handles.map((handle) => ({ name: `kubernetes.io/csi/csi.example^${handle}`, devicePath: "" })),
      });
    await attach("attached", "detached");
    await start();
    await cluster.claimThat("free", "known", hasStatus);
    await isTakenFor("holder", "Stale");
    const waiting = await Promise.all(["attached", "detached"].map(cluster.claim));

    await attach("attached");
    await cluster.claimThat("detached", "known", hasStatus);
    const still = await cluster.claim("attached");
    await report({ node: "holder", bootId, generation: 1, mountedVolumes: [], unmountRecords: [] });

    await cluster.claimThat("attached", "known", hasStatus);
    expect([...waiting, still].map(({ status }) => status)).toEqual([undefined, undefined, undefined]);
  });
});

describe("a node that is gone", () => {
  const mountedVolume = (claim: string) => {
    const volume = { by: "name", name: `pv-${claim}` } as const;
    // A mount from before the volume was bound would not count as this claim's.
    const since = owner.clock.monotonicMs();
    return { kind: "pod", volume, podUid: `pod-of-${claim}`, pod: `shop/${claim}-0`, since } as const;
  };

  it("has its mounts assumed to have ended, until it reports their real ends", async () => {
    const bootId = await createNode("lost");
    await cluster.createClaims(["on-lost"]);
    await start();
    await report({
      node: "lost",
      bootId,
      generation: 1,
      mountedVolumes: [mountedVolume("on-lost")],
      unmountRecords: [],
    });
    const mounted = await cluster.claimThat("on-lost", "mounted", isMounted);

    await cluster.api.remove("/api/v1/nodes/lost");
    await isTakenFor("lost", "Stale");
    const silent = await cluster.claim("on-lost");
    const gone = await cluster.claimThat("on-lost", "unused", isUnused);
    const by = owner.clock.monotonicMs();
    const { volume, podUid, pod } = mountedVolume("on-lost");
    const unmountRecords = [{ id: "release-1", volume, podUid, pod, after: by - 1_000, by: by - 900 }];
    let back = gone;
    const check = async (): Promise<void> => {
      await report({ node: "lost", bootId, generation: 2, mountedVolumes: [], unmountRecords });
      back = await cluster.claim("on-lost");
      expect(back.status?.reason).toBe("Unmounted");
    };
    await waitUntil(owner, { what: "the real end", limitMs: 20_000, check });

    expect(silent.resourceVersion).toBe(mounted.resourceVersion);
    expect(gone.status).toMatchObject({ reason: "NodeGone", lastUse: { node: "lost", evidence: "node-gone" } });
    expect(back.status?.lastUse).toMatchObject({ id: "release-1", evidence: "mount-table" });
    expect(back.status?.sinceMs).toBeGreaterThanOrEqual(gone.status?.sinceMs ?? 0);
  });

  it("is Gone at once when it is out of service and not Ready, and a restart keeps its claims' last use", async () => {
    const bootId = await createNode("off");
    await cluster.createClaims(["on-off"]);
    await start();
    await report({ node: "off", bootId, generation: 1, mountedVolumes: [mountedVolume("on-off")], unmountRecords: [] });
    await cluster.claimThat("on-off", "mounted", isMounted);

    const taints = [{ key: "node.kubernetes.io/out-of-service", value: "nodeshutdown", effect: "NoExecute" }];
    await cluster.api.patch("/api/v1/nodes/off", { spec: { taints } });
    await patchNode("off", { conditions: [ready("Unknown")] });
    const gone = await cluster.claimThat("on-off", "unused", isUnused);
    await aggregator?.stop();
    await start();
    await isTakenFor("off", "Gone");
    await owner.clock.sleep(1_000);

    expect(gone.status).toMatchObject({ reason: "NodeGone" });
    // The time may be that of the restart: without a standby, and with nodes without an agent, nothing watched meanwhile.
    expect((await cluster.claim("on-off")).status).toMatchObject({ unused: true, lastUse: gone.status?.lastUse });
  });
});
