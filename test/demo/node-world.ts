import { missingForImages } from "../image/buildah.ts";
import type { BuiltImage } from "../image/image.ts";
import { rollOut } from "../image/rollout.ts";
import { type CsiDriver, startCsiDriver } from "../rig/csi/harness.ts";
import { claimObject, csiDriverObject, STORAGE_PATHS, type VolumeTerms, volumeObject } from "../rig/csi/objects.ts";
import { type NodeCluster, startNodeCluster } from "../rig/node/cluster.ts";
import { LISTS_PORT, throughForwardedPort } from "../rig/node/forwarded-port.ts";
import { requireNodes } from "../rig/node/preconditions.ts";
import type { RealNode } from "../rig/node/real-node.ts";
import { HarnessError } from "../rig/process/errors.ts";
import type { Owner } from "../rig/process/owner.ts";
import { watchStarvation } from "../rig/process/starvation.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { type ClusterApi, createClusterApi } from "../rig/stand-in/cluster-api.ts";
import { runClaimsCommand } from "../rig/stand-in/mooring.ts";
import { claimThat, NAMESPACE } from "../rig/stand-in/stage.ts";
import { givePool } from "./local-volume.ts";
import { agentOn, leaderOf, leadingAggregator, type MooringGround, restartOn } from "./node-mooring.ts";
import { nodeVolumeOf, runNodePod } from "./node-pods.ts";
import type { Printer } from "./print.ts";
import { CLAIMS } from "./story.ts";
import type { Power, World } from "./world.ts";

const DRIVER = "disks.csi.mooring.test";
const LIMIT_MS = 180_000;

type Pair<T> = readonly [T, T];

/** The cluster before any pod runs. */
interface Ground {
  readonly owner: Owner;
  readonly cluster: NodeCluster;
  readonly api: ClusterApi;
  readonly nodes: Pair<RealNode>;
}

/**
 * Two real nodes with Mooring installed, and a CSI driver that records its unmounts. Throws a HarnessError that names what is missing on a
 * machine that cannot run them.
 */
export async function openNodeWorld(owner: Owner, printer: Printer, hasProvisioner: boolean): Promise<World> {
  await requireNodes(owner, missingForImages());
  const cluster = await startNodeCluster(owner, { nodes: 2 });
  const ground = { owner, cluster, api: createClusterApi(cluster.plane.api), nodes: pairOf(cluster.nodes) };
  printer.line("ok", `API server, etcd, controller manager and scheduler at ${cluster.plane.url}`);
  for (const { name, address } of ground.nodes)
    printer.line("ok", `${name}: containerd and a kubelet in namespaces of their own, at ${address}`);
  const poolNodes = hasProvisioner ? cluster.nodes : [];
  await Promise.all(poolNodes.map((node) => givePool(owner, node)));
  const components = ["protection-enforce", ...(hasProvisioner ? ["provisioner"] : [])];
  const [image, drivers] = await Promise.all([
    rollOut(owner, cluster, { components }),
    startDrivers(ground),
    makeNamespace(ground),
  ]);
  await printMooring(ground, printer, image);
  await makeClaims(ground);
  printer.line("ok", `claims ${CLAIMS.join(", ")}: bound; a CSI driver mounts them and writes down when`);
  return { ...worldOf(ground, printer, drivers), poolNodes };
}

function worldOf(ground: Ground, printer: Printer, drivers: Pair<CsiDriver>): Omit<World, "poolNodes"> {
  const { owner, cluster, api, nodes } = ground;
  const note = (text: string): void => printer.line("note", text);
  const seen = { owner, api, limitMs: LIMIT_MS, note };
  return {
    owner,
    api,
    plane: cluster.plane,
    nodes: [nodes[0].name, nodes[1].name],
    limitMs: LIMIT_MS,
    starvation: watchStarvation(owner),
    runPod: (pod) => runNodePod({ ...seen, node: nodes[pod.on], driver: drivers[pod.on] }, pod),
    aggregator: leadingAggregator(seen),
    agents: [agentOn(seen, nodes[0].name), agentOn(seen, nodes[1].name)],
    spareNode: async () => ((await leaderOf(ground)).node === nodes[0].name ? 1 : 0),
    power: powerOf(seen, nodes, drivers),
    listClaims: () => listClaims(ground),
    inspectCommands: () => inspectCommands(ground),
  };
}

function powerOf(ground: MooringGround, nodes: Pair<RealNode>, drivers: Pair<CsiDriver>): Power {
  const { owner, note } = ground;
  let isBack = (): Promise<void> => Promise.resolve();
  return {
    cut: async (on) => {
      isBack = await restartOn(ground, nodes[on].name);
      const notBeforeMs = owner.clock.wallMs();
      await nodes[on].kill();
      note(`kill -9 of all that runs on ${nodes[on].name}`);
      return { notBeforeMs, notAfterMs: owner.clock.wallMs() };
    },
    restore: async (on) => {
      await nodes[on].start();
      await drivers[on].start();
      await drivers[on].registered();
      note(`${nodes[on].name} has booted`);
      await isBack();
    },
  };
}

async function startDrivers({ owner, api, nodes }: Ground): Promise<Pair<CsiDriver>> {
  await api.create(STORAGE_PATHS.drivers, csiDriverObject({ driver: DRIVER, attachRequired: false }));
  const start = async ({ name, inside }: RealNode): Promise<CsiDriver> => {
    const driver = await startCsiDriver(owner, { driver: DRIVER, node: name, inside });
    await driver.registered();
    // Its staging mount outlives the last use, as with a slow or wrong driver.
    driver.misbehave({ call: "NodeUnstageVolume", volume: nodeVolumeOf("shared"), effect: { kind: "pretend" } });
    return driver;
  };
  return await Promise.all([start(nodes[0]), start(nodes[1])]);
}

async function makeNamespace({ owner, api }: Ground): Promise<void> {
  await api.create("/api/v1/namespaces", { metadata: { name: NAMESPACE } });
  // Kubernetes admits no pod before.
  const check = async (): Promise<void> =>
    void (await api.get(`/api/v1/namespaces/${NAMESPACE}/serviceaccounts/default`));
  await waitUntil(owner, { what: "the service account of pods", limitMs: LIMIT_MS, check });
}

async function makeClaims({ owner, api }: Ground): Promise<void> {
  for (const claim of CLAIMS) {
    const volume = { name: nodeVolumeOf(claim), driver: DRIVER, claim: { namespace: NAMESPACE, name: claim } };
    const terms: VolumeTerms = claim === "shared" ? { accessModes: ["ReadWriteMany"] } : {};
    await api.create(STORAGE_PATHS.volumes, volumeObject(volume, terms));
    await api.create(STORAGE_PATHS.claims(NAMESPACE), claimObject({ name: claim, volume: volume.name }, terms));
  }
  for (const claim of CLAIMS)
    await claimThat({ owner, api }, { claim, what: "Bound", holds: ({ phase }) => phase === "Bound" });
}

async function printMooring(ground: Ground, printer: Printer, { reference }: BuiltImage): Promise<void> {
  const { node } = await leaderOf(ground);
  printer.line("ok", `the image ${reference}, rolled out with kubectl apply -k`);
  printer.line(
    "ok",
    `Mooring: an agent on each node, two aggregators, of which the one on ${node} leads; protection is enforced`,
  );
}

async function listClaims({ owner, cluster }: Ground): Promise<string> {
  return await throughForwardedPort(owner, cluster, (url) =>
    runClaimsCommand(owner, ["--kubeconfig", cluster.kubeconfig, "--aggregator", url, "--namespace", NAMESPACE]),
  );
}

async function inspectCommands({ cluster, nodes }: Ground): Promise<readonly string[]> {
  return [
    `export KUBECONFIG=${cluster.kubeconfig}`,
    `alias kubectl=${cluster.kubectl}`,
    `kubectl -n ${NAMESPACE} describe pvc orders`,
    `kubectl -n mooring port-forward service/mooring-aggregator ${LISTS_PORT} &`,
    `npm run claims -- --namespace ${NAMESPACE}`,
    "kubectl -n mooring get lease,pods -o wide   # who leads",
    "kubectl -n mooring-agents logs daemonset/mooring-agent",
    ...nodes.map(({ name, pid }) => `cat /proc/${pid()}/mountinfo   # the mount table of ${name}`),
  ];
}

function pairOf<T>([first, second]: readonly T[]): Pair<T> {
  if (first === undefined || second === undefined) throw new HarnessError("there are no two nodes");
  return [first, second];
}
