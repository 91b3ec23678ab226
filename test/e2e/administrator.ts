import { cp } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { importMooring } from "../image/rollout.ts";
import { openReader, type Reader } from "../pages/reader.ts";
import { findBinaries } from "../rig/control-plane/binaries.ts";
import type { NodeCluster } from "../rig/node/cluster.ts";
import { CTR_FLAGS } from "../rig/node/real-node.ts";
import type { Owner } from "../rig/process/owner.ts";

const MANIFESTS = fileURLToPath(new URL("../../manifests", import.meta.url));
/** The image that docs/install.md names. */
const IMAGE = "registry.example/mooring:dev";

/** A reader with kubectl and Helm who works in the run's folder, which has the manifests; the image that the pages name can be had. */
export async function openAdministrator(owner: Owner, cluster: NodeCluster): Promise<Reader> {
  const { folder } = owner;
  await pushImage(owner, cluster);
  await cp(MANIFESTS, join(folder, "manifests"), { recursive: true });
  const helm = (await findBinaries(owner, ["helm"]))("helm");
  const programs = { kubectl: `exec ${cluster.kubectl} "$@"`, helm: `exec ${helm} "$@"` };
  return await openReader({ folder, home: folder, kubeconfig: cluster.kubeconfig, programs });
}

/** There is no registry: each node has the image by the name that it would have there. */
async function pushImage(owner: Owner, cluster: NodeCluster): Promise<void> {
  const { reference } = await importMooring(owner, cluster);
  const ctr = (await findBinaries(owner, ["ctr"]))("ctr");
  for (const node of cluster.nodes) await node.run(ctr, ...CTR_FLAGS, "images", "tag", reference, IMAGE);
}
