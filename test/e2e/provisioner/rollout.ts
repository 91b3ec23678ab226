import { mkdirSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { importMooring, rolledOut } from "../../image/rollout.ts";
import type { NodeCluster } from "../../node/cluster.ts";
import { poolPath } from "../../node/pool-disks.ts";
import type { Owner } from "../../process/owner.ts";
import { kubectl } from "../kubectl.ts";

const MANIFESTS = fileURLToPath(new URL("../../../manifests", import.meta.url));
const NAME = "mooring.test/mooring";

/** What is rolled out. */
export interface RollOutTerms {
  readonly pools: readonly string[];
  /** Agents and an aggregator that keeps claims, too; the provisioner is another version then. */
  readonly hasMooring?: boolean;
}

/** Rolls the provisioner out as its users do: `kubectl apply -k` of an overlay with the component; waits until its pods are ready. */
export async function rollOutProvisioner(owner: Owner, cluster: NodeCluster, terms: RollOutTerms): Promise<void> {
  const { reference } = await importMooring(owner, cluster);
  const folder = join(owner.folder, "provisioner-overlay");
  mkdirSync(folder, { recursive: true });
  const tag = reference.slice(NAME.length + 1);
  writeFileSync(join(folder, "kustomization.yaml"), JSON.stringify(overlay(folder, tag, terms)));
  await kubectl(cluster, "apply", "--server-side", "-k", folder);
  const daemonSet = ["--namespace=mooring-provisioner", "daemonset/mooring-provisioner"];
  await kubectl(cluster, "rollout", "status", ...daemonSet, "--timeout=180s");
  if (terms.hasMooring === true) await rolledOut(cluster);
}

/** JSON is YAML. kustomize takes no absolute path. */
function overlay(folder: string, newTag: string, { pools, hasMooring = false }: RollOutTerms): object {
  const component = (name: string): string => relative(folder, join(MANIFESTS, "components", name));
  const value = pools.map((pool) => `${pool}=${poolPath(pool)}`).join(",");
  const env = [{ name: "MOORING_POOL", value }, ...(hasMooring ? [{ name: "MOORING_LOG_LEVEL", value: "info" }] : [])];
  const container = { name: "keeper", env };
  return {
    apiVersion: "kustomize.config.k8s.io/v1beta1",
    kind: "Kustomization",
    resources: hasMooring ? [relative(folder, join(MANIFESTS, "overlays/test"))] : [],
    components: [component("provisioner"), ...(hasMooring ? [component("protection-enforce")] : [])],
    images: [
      { name: "mooring", newName: NAME, newTag },
      { name: NAME, newTag },
    ],
    patches: [
      {
        patch: JSON.stringify({
          apiVersion: "apps/v1",
          kind: "DaemonSet",
          metadata: { name: "mooring-provisioner", namespace: "mooring-provisioner" },
          spec: { template: { spec: { containers: [container] } } },
        }),
      },
    ],
  };
}
