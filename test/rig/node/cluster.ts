import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Binaries, findBinaries } from "../control-plane/binaries.ts";
import type { ComponentName } from "../control-plane/components.ts";
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from "../control-plane/control-plane.ts";
import { HarnessError } from "../process/errors.ts";
import type { Owner } from "../process/owner.ts";
import { findProgram, systemPath } from "../process/program.ts";
import { startDns } from "./cluster-dns.ts";
import { createNetwork } from "./network.ts";
import { type NodeSite, prepareNode } from "./node-parts.ts";
import { requireNodes } from "./preconditions.ts";
import type { RealNode } from "./real-node.ts";
import { writeWorkloadImages } from "./workload.ts";

const REPOSITORY = fileURLToPath(new URL("../../..", import.meta.url)).replace(/\/$/, "");

/** The programs that a node consists of. */
export const NODE_PROGRAMS = [
  "kubelet",
  "kube-proxy",
  "containerd",
  "ctr",
  "containerd-shim-runc-v2",
  "ptp",
  "loopback",
  "host-local",
  "coredns",
] as const satisfies readonly ComponentName[];

/** What to start. */
export interface NodeClusterOptions {
  /** How many nodes; they are called `node-1` and so on. */
  readonly nodes: number;
  /** Passed on to the control plane. */
  readonly control?: Pick<ControlPlaneOptions, "args" | "featureGates" | "env" | "readyLimitMs">;
}

/** A control plane with its controllers and scheduler, a DNS server and real nodes; it ends with its owner. */
export interface NodeCluster {
  readonly plane: ControlPlane;
  readonly nodes: readonly RealNode[];
  /** Path of a kubeconfig file that may do everything. */
  readonly kubeconfig: string;
  /** Path of a kubectl of the same version. */
  readonly kubectl: string;
}

/**
 * Starts a cluster with real nodes on this machine, as root, and waits until all are ready. Throws a HarnessError that
 * names what is missing, or the part that does not get ready.
 */
export async function startNodeCluster(
  owner: Owner,
  { nodes: count, control = {} }: NodeClusterOptions,
): Promise<NodeCluster> {
  await requireNodes(owner);
  const binaries = await findBinaries(owner, NODE_PROGRAMS);
  const images = join(owner.folder, "images.tar");
  await writeWorkloadImages(images);
  const names = Array.from({ length: count }, (_, index) => `node-${index + 1}`);
  const network = await createNetwork(owner, names);

  const started = startControlPlane(owner, {
    ...control,
    parts: ["kube-controller-manager", "kube-scheduler"],
    address: network.plan.host,
  });
  const shared = sharedFolders(owner, binaries);
  const site: NodeSite = { binaries, runc: runcPath(), network, plane: started, images: [images], shared };
  const nodes = network.plan.nodes.map((addresses) => prepareNode(owner, site, addresses));
  await Promise.all([started, ...nodes.map(({ boot }) => boot())]);
  const plane = await started;
  await Promise.all([startDns(owner, { binaries, network, plane }), ...nodes.map(({ join }) => join())]);
  return { plane, nodes: nodes.map(({ node }) => node), kubeconfig: plane.kubeconfig, kubectl: plane.kubectl };
}

/** What programs of the harness that run in a node read: the repository with its packages, the programs, the run's files. */
function sharedFolders(owner: Owner, binaries: Binaries): readonly string[] {
  const programs = NODE_PROGRAMS.map((name) => dirname(binaries(name)));
  return [...new Set([REPOSITORY, dirname(process.execPath), ...programs, owner.folder])];
}

function runcPath(): string {
  const path = findProgram("runc", systemPath());
  if (path === undefined) throw new HarnessError("there is no program runc: apt-get install runc");
  return path;
}
