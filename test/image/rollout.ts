import { constants, copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { NodeCluster } from "../rig/node/cluster.ts";
import { runCommand } from "../rig/node/commands.ts";
import type { Owner } from "../rig/process/owner.ts";
import { type BuiltImage, buildImage } from "./image.ts";

const MANIFESTS = fileURLToPath(new URL("../../manifests", import.meta.url));

/** What is rolled out, as kubectl names it. */
export const WORKLOADS = [
  { namespace: "mooring", workload: "deployment/mooring-aggregator" },
  { namespace: "mooring-agents", workload: "daemonset/mooring-agent" },
] as const;

/** Settings of the aggregator by their names in the environment. */
export type AggregatorSettings = Readonly<Record<string, string>>;

/** What is rolled out besides the overlay for tests. */
export interface Wanted {
  readonly settings?: AggregatorSettings;
  /** Names of folders in `manifests/components`. */
  readonly components?: readonly string[];
}

/**
 * Rolls Mooring out as its users do: the image on each node, `kubectl apply -k` of an overlay that names it, and waits until
 * all is ready. Done again it updates to the image of the present sources. Throws a HarnessError with kubectl's words.
 */
export async function rollOut(owner: Owner, cluster: NodeCluster, wanted: Wanted = {}): Promise<BuiltImage> {
  const image = await importMooring(owner, cluster);
  await kubectl(cluster, "apply", "--server-side", "-k", overlayOf(owner, image.reference, wanted));
  await rolledOut(cluster);
  return image;
}

/** Makes the image of the present sources known to every node. */
export async function importMooring(owner: Owner, { nodes }: Pick<NodeCluster, "nodes">): Promise<BuiltImage> {
  const image = await buildImage(owner);
  // Where every node sees it.
  const archive = join(owner.folder, "mooring.tar");
  copyFileSync(image.archive, archive, constants.COPYFILE_FICLONE);
  await Promise.all(nodes.map((node) => node.importImage(archive)));
  return image;
}

/** Waits until every pod is of the present template and ready. */
export async function rolledOut(cluster: NodeCluster): Promise<void> {
  for (const { namespace, workload } of WORKLOADS)
    await kubectl(cluster, "rollout", "status", `--namespace=${namespace}`, workload, "--timeout=180s");
}

/** An overlay on top of that for tests, with the image that was built. */
function overlayOf({ folder }: Owner, reference: string, { settings = {}, components = [] }: Wanted): string {
  const path = join(folder, "overlay");
  mkdirSync(path, { recursive: true });
  const [name, tag] = reference.split(":");
  const lines = [
    "apiVersion: kustomize.config.k8s.io/v1beta1",
    "kind: Kustomization",
    // kustomize takes no absolute path.
    `resources: [${relative(path, join(MANIFESTS, "overlays/test"))}]`,
    `components: ${JSON.stringify(components.map((name) => relative(path, join(MANIFESTS, "components", name))))}`,
    // Components name it as it is released.
    `images: ${JSON.stringify([
      { name, newTag: tag },
      { name: "mooring", newName: name, newTag: tag },
    ])}`,
    // JSON is YAML.
    `patches: ${JSON.stringify(patchesFor(settings))}`,
  ];
  writeFileSync(join(path, "kustomization.yaml"), `${lines.join("\n")}\n`);
  return path;
}

function patchesFor(settings: AggregatorSettings): readonly object[] {
  const path = "/spec/template/spec/containers/0/env/-";
  const operations = Object.entries(settings).map(([name, value]) => ({ op: "add", path, value: { name, value } }));
  if (operations.length === 0) return [];
  return [{ target: { kind: "Deployment", name: "mooring-aggregator" }, patch: JSON.stringify(operations) }];
}

function kubectl(cluster: NodeCluster, ...args: readonly string[]): Promise<string> {
  return runCommand({ command: cluster.kubectl, args: [`--kubeconfig=${cluster.kubeconfig}`, ...args] });
}
