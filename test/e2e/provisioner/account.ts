import { readFileSync } from "node:fs";
import * as v from "valibot";
import { STORAGE_PATHS } from "../../rig/csi/objects.ts";
import { filesIn, linksOn, volumeLoops } from "../../rig/node/pool-disks.ts";
import { HarnessError } from "../../rig/process/errors.ts";
import { NODES, type NodeName } from "../scenarios/stage.ts";
import { POOLS, type ProvisionerStage } from "./stage.ts";

const volumes = v.object({
  items: v.array(
    v.object({
      metadata: v.object({
        name: v.string(),
        annotations: v.optional(v.record(v.string(), v.string()), {}),
        labels: v.optional(v.record(v.string(), v.string()), {}),
      }),
    }),
  ),
});

/** Volumes by the node and pool that a PersistentVolume names. */
interface Named {
  readonly volume: string;
  readonly node: string | undefined;
  readonly pool: string | undefined;
}

/** Waits until what the nodes have and what PersistentVolumes name is the same; throws a HarnessError with the differences. */
export async function settleAccount(stage: ProvisionerStage): Promise<void> {
  await stage.until("nodes that have what PersistentVolumes name", async () => {
    const differences = await differencesIn(stage);
    if (differences.length > 0) throw new HarnessError(differences.join("; "));
  });
}

async function differencesIn(stage: ProvisionerStage): Promise<readonly string[]> {
  const { items } = v.parse(volumes, await stage.api.get(STORAGE_PATHS.volumes));
  const named = items
    .filter(({ metadata: { name } }) => stage.known.has(name))
    .map(({ metadata: { name, annotations, labels } }) => ({
      volume: name,
      node: labels["local.mooring.dev/node"],
      pool: annotations["local.mooring.dev/pool"],
    }));
  const perNode = await Promise.all(NODES.map((node) => onNode(stage, node, named)));
  const loops = volumeLoops().filter(({ volume }) => stage.known.has(volume));
  const all = named.map(({ volume }) => volume);
  return [
    ...perNode.flat(),
    ...compare(
      "loop devices",
      loops.map(({ volume }) => volume),
      all,
    ),
  ];
}

async function onNode(stage: ProvisionerStage, name: NodeName, all: readonly Named[]): Promise<readonly string[]> {
  const node = stage.node(name);
  const own = all.filter((one) => one.node === name);
  const volumesOf = (some: readonly Named[]): readonly string[] => some.map(({ volume }) => volume);
  const files = POOLS.map(async (pool) => {
    const wanted = volumesOf(own.filter((one) => one.pool === pool)).map((volume) => `${volume}.img`);
    return compare(`files of pool ${pool} of ${name}`, await filesIn({ node, pool }), wanted);
  });
  const links = compare(`links of ${name}`, [...(await linksOn(node)).keys()], volumesOf(own));
  const table = readFileSync(`/proc/${node.pid()}/mountinfo`, "utf8");
  const mounted = [...stage.known].filter((volume) => table.includes(volume) && !volumesOf(own).includes(volume));
  return [
    ...(await Promise.all(files)).flat(),
    ...links,
    ...mounted.map((volume) => `${volume} is mounted on ${name} without a PersistentVolume`),
  ];
}

function compare(what: string, there: readonly string[], wanted: readonly string[]): readonly string[] {
  const [has, wants] = [there.toSorted().join(" "), wanted.toSorted().join(" ")];
  return has === wants ? [] : [`${what}: there are [${has}], PersistentVolumes name [${wants}]`];
}
