import type { V1PersistentVolume, V1PersistentVolumeClaim, V1PersistentVolumeSpec } from "@kubernetes/client-node";
import { type Claim, projectClaim } from "../../../common/storage/claim.ts";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import type { Owner } from "../process/owner.ts";
import { waitUntil } from "../process/wait.ts";
import { type ClusterApi, createClusterApi } from "./cluster-api.ts";
import { StandInKubelet } from "./kubelet.ts";
import type { StandInVolume } from "./kubelet-paths.ts";
import { applyManifests, createAgent, createAggregator, DEMO_PACE, type Pace, type Program } from "./mooring.ts";

/** Everything the story is played on: a cluster, two nodes, and Mooring. */
export interface Stage {
  readonly owner: Owner;
  readonly plane: ControlPlane;
  readonly api: ClusterApi;
  readonly kubelets: readonly [StandInKubelet, StandInKubelet];
  readonly aggregator: Program;
  readonly agents: readonly [Program, Program];
}

export const NAMESPACE = "shop";
const CSI_DRIVER = "csi.example.com";
/** Longest wait for anything that a step expects. Milliseconds. */
const LIMIT_MS = 30_000;

/** The volume of a claim; each claim of the story has one of its own. */
export function volumeOf(claim: string): StandInVolume {
  const name = `pv-${claim}`;
  return claim === "shared" ? { name, csi: { driver: CSI_DRIVER, handle: `vol-${claim}` } } : { name };
}

/** On a control plane of its own, unless one with controllers is given. */
export async function buildCluster(
  owner: Owner,
  given?: ControlPlane,
): Promise<Pick<Stage, "plane" | "api" | "kubelets">> {
  const plane = given ?? (await startControlPlane(owner, { parts: ["kube-controller-manager"] }));
  const api = createClusterApi(plane.api);
  await waitUntil(owner, {
    what: "namespace for node leases",
    limitMs: LIMIT_MS,
    check: async () => void (await api.get("/api/v1/namespaces/kube-node-lease")),
  });
  const kubelets = await Promise.all([
    StandInKubelet.start(owner, api, "node-a"),
    StandInKubelet.start(owner, api, "node-b"),
  ]);
  await prepare(api);
  return { plane, api, kubelets };
}

export async function startMooring(
  owner: Owner,
  cluster: Pick<Stage, "plane" | "kubelets">,
  pace: Pace = DEMO_PACE,
): Promise<Pick<Stage, "aggregator" | "agents">> {
  const { plane, kubelets } = cluster;
  await applyManifests(plane);
  const aggregator = await createAggregator(owner, plane, pace);
  const agentOf = (kubelet: StandInKubelet): Promise<Program> =>
    createAgent(owner, plane, { kubelet, aggregator, pace });
  const agents = await Promise.all([agentOf(kubelets[0]), agentOf(kubelets[1])]);
  await Promise.all([aggregator, ...agents].map(({ start }) => start()));
  await Promise.all([aggregator, ...agents].map(({ ready }) => ready()));
  return { aggregator, agents };
}

/** What all claims of the story need: a namespace, a StorageClass, a CSI driver without attachment. */
async function prepare(api: ClusterApi): Promise<void> {
  await api.create("/apis/storage.k8s.io/v1/csidrivers", {
    metadata: { name: CSI_DRIVER },
    spec: { attachRequired: false },
  });
  const storageClass = { metadata: { name: "demo" }, provisioner: "kubernetes.io/no-provisioner" };
  await api.create("/apis/storage.k8s.io/v1/storageclasses", storageClass);
  await api.create("/api/v1/namespaces", { metadata: { name: NAMESPACE } });
  await api.create(`/api/v1/namespaces/${NAMESPACE}/serviceaccounts`, { metadata: { name: "default" } }).catch(() => {
    // The controller manager was faster.
  });
}

/** Makes volumes and claims, and waits until the controller manager has bound them. */
export async function makeClaims(
  stage: Pick<Stage, "owner" | "api" | "kubelets">,
  claims: readonly string[],
): Promise<void> {
  const { api, kubelets } = stage;
  for (const claim of claims) {
    await api.create("/api/v1/persistentvolumes", volumeObject(claim, kubelets[0].node));
    await api.create(`/api/v1/namespaces/${NAMESPACE}/persistentvolumeclaims`, claimObject(claim));
  }
  const holds = ({ phase }: Claim): boolean => phase === "Bound";
  for (const claim of claims) await claimThat(stage, { claim, what: "Bound", holds });
}

/** The volume of a claim, as an administrator makes it; a local one is on `node`. */
export function volumeObject(claim: string, node: string): V1PersistentVolume {
  const { name, csi } = volumeOf(claim);
  const source: Partial<V1PersistentVolumeSpec> =
    csi === undefined
      ? { local: { path: `/disks/${name}` }, nodeAffinity: onNode(node) }
      : { csi: { driver: csi.driver, volumeHandle: csi.handle } };
  return {
    metadata: { name },
    spec: { capacity: { storage: "1Gi" }, accessModes: accessModes(claim), storageClassName: "demo", ...source },
  };
}

/** A claim for its volume. */
export function claimObject(claim: string): V1PersistentVolumeClaim {
  return {
    metadata: { name: claim },
    spec: {
      accessModes: accessModes(claim),
      storageClassName: "demo",
      volumeName: volumeOf(claim).name,
      resources: { requests: { storage: "1Gi" } },
    },
  };
}

function accessModes(claim: string): string[] {
  return [claim === "shared" ? "ReadWriteMany" : "ReadWriteOnce"];
}

function onNode(node: string): NonNullable<V1PersistentVolumeSpec["nodeAffinity"]> {
  const matchExpressions = [{ key: "kubernetes.io/hostname", operator: "In", values: [node] }];
  return { required: { nodeSelectorTerms: [{ matchExpressions }] } };
}

/** Reads a claim once. */
export async function readClaim(api: ClusterApi, claim: string): Promise<Claim> {
  return projectClaim(await api.get(`/api/v1/namespaces/${NAMESPACE}/persistentvolumeclaims/${claim}`));
}

/** Waits until a claim is as expected, 30 s unless told; answers it and when that was seen. */
export async function claimThat(
  { owner, api }: Pick<Stage, "owner" | "api">,
  expected: {
    readonly claim: string;
    readonly what: string;
    readonly holds: (claim: Claim) => boolean;
    readonly limitMs?: number;
  },
): Promise<{ readonly claim: Claim; readonly seenAtMs: number }> {
  let found: { readonly claim: Claim; readonly seenAtMs: number } | undefined;
  await waitUntil(owner, {
    what: `claim ${expected.claim} ${expected.what}`,
    limitMs: expected.limitMs ?? LIMIT_MS,
    everyMs: 20,
    check: async () => {
      const claim = await readClaim(api, expected.claim);
      if (!expected.holds(claim)) throw new Error(`it is ${describeClaim(claim)}`);
      found = { claim, seenAtMs: owner.clock.wallMs() };
    },
  });
  if (found === undefined) throw new Error("unreachable: waitUntil returns only after a check that set it");
  return found;
}

/** One line on what stands in a claim's status. */
export function describeClaim({ phase, status, upstream }: Claim): string {
  const mooring =
    status === undefined
      ? "no condition of Mooring"
      : `${status.unused ? "unused" : "in use"} (${status.reason}: ${status.message})`;
  const kubernetes = upstream?.unused === true ? "unused" : "in use or unknown";
  return `${phase}, ${mooring}, Kubernetes: ${kubernetes}`;
}
