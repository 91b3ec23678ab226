import { mkdirSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { importMooring, rolledOut } from "../../image/rollout.ts";
import type { NodeCluster } from "../../rig/node/cluster.ts";
import { poolPath } from "../../rig/node/pool-disks.ts";
import type { Owner } from "../../rig/process/owner.ts";
import { kubectl } from "../kubectl.ts";

const MANIFESTS = fileURLToPath(new URL("../../../manifests", import.meta.url));
const NAME = "mooring.test/mooring";
const PROVISIONERS = { namespace: "mooring-provisioner", name: "mooring-provisioner" } as const;
const AGENTS = { namespace: "mooring-agents", name: "mooring-agent" } as const;

/** What is rolled out. */
export interface RollOutTerms {
  readonly pools: readonly string[];
  /** Agents that reject and an aggregator that keeps claims, too; the provisioner has another template then. */
  readonly hasMooring?: boolean;
}

/**
 * Rolls the provisioner out as its users do: `kubectl apply -k` of an overlay with the component; waits until its pods are ready. Done again
 * it updates.
 */
export async function rollOutProvisioner(owner: Owner, cluster: NodeCluster, terms: RollOutTerms): Promise<void> {
  const { reference } = await importMooring(owner, cluster);
  const folder = join(owner.folder, "provisioner-overlay");
  mkdirSync(folder, { recursive: true });
  const tag = reference.slice(NAME.length + 1);
  writeFileSync(join(folder, "kustomization.yaml"), JSON.stringify(overlay(folder, tag, terms)));
  await kubectl(cluster, "apply", "--server-side", "-k", folder);
  const daemonSet = [`--namespace=${PROVISIONERS.namespace}`, `daemonset/${PROVISIONERS.name}`];
  await kubectl(cluster, "rollout", "status", ...daemonSet, "--timeout=180s");
  if (terms.hasMooring === true) await rolledOut(cluster);
}

/** JSON is YAML. kustomize takes no absolute path. */
function overlay(folder: string, newTag: string, { pools, hasMooring = false }: RollOutTerms): object {
  const manifests = (path: string): string => relative(folder, join(MANIFESTS, path));
  const value = pools.map((pool) => `${pool}=${poolPath(pool)}`).join(",");
  return {
    apiVersion: "kustomize.config.k8s.io/v1beta1",
    kind: "Kustomization",
    resources: hasMooring ? [manifests("overlays/test")] : [],
    components: ["provisioner", ...(hasMooring ? ["protection-enforce"] : [])].map((name) =>
      manifests(`components/${name}`),
    ),
    images: [
      { name: "mooring", newName: NAME, newTag },
      { name: NAME, newTag },
    ],
    patches: [
      environment(PROVISIONERS, "keeper", { MOORING_POOL: value, ...(hasMooring && { UPDATED: "once" }) }),
      // The component for it gives a right that the overlay for tests has given already.
      ...(hasMooring ? [environment(AGENTS, "agent", { MOORING_AFFINITY: "enforce" })] : []),
    ],
  };
}

/** A patch of a DaemonSet. */
function environment(
  metadata: { readonly namespace: string; readonly name: string },
  container: string,
  variables: Readonly<Record<string, string>>,
): object {
  const env = Object.entries(variables).map(([name, value]) => ({ name, value }));
  const spec = { template: { spec: { containers: [{ name: container, env }] } } };
  return { patch: JSON.stringify({ apiVersion: "apps/v1", kind: "DaemonSet", metadata, spec }) };
}
