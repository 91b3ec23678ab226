import { readdirSync, readFileSync } from "node:fs";
import * as v from "valibot";
import { detachVolumes, makeDisk, mountDisk, type PoolPlace, poolPath } from "../../rig/node/pool-disks.ts";
import { HarnessError } from "../../rig/process/errors.ts";
import { deleteNode } from "../scenarios/failures/deleted-nodes.ts";
import type { NodeName } from "../scenarios/stage.ts";
import { deleteClaim, makeClaim, untilTold, untilVolume } from "./claims.ts";
import { deletePod, makePod, type Use } from "./pods.ts";
import { podOn } from "./provisioner-pods.ts";
import { startWith } from "./reboots.ts";
import type { PageReader } from "./runbooks.ts";
import type { ProvisionerStage } from "./stage.ts";

const RUNBOOK = new URL("../../../docs/runbooks/MooringLocalVolumesUnavailable.md", import.meta.url);
/** What the runbook says in its text of a volume that stays Released. */
const BY_HAND = [...readFileSync(RUNBOOK, "utf8").matchAll(/`(kubectl \w+ pv pvc-UID [^`]*)`/g)].map(
  ([, command = ""]) => command,
);
const made = v.object({ metadata: v.object({ uid: v.string() }) });

/** Cuts the power of a node, deletes its Node object, and boots it with an empty disk for the pool `loose`. */
export async function comeBackEmpty(stage: ProvisionerStage, name: NodeName, uses: readonly Use[]): Promise<void> {
  const node = stage.node(name);
  const empty = await makeDisk(stage.owner, { node, name: "empty" }, { filesystem: "ext4", size: "256M" });
  await node.kill();
  await deleteNode(stage, name);
  await detachVolumes((volume) => uses.some(({ claim }) => claim.volume === volume));
  await startWith(stage, name, ["default", "narrow"]);
  await mountDisk({ node, pool: "loose" }, empty);
}

/** Whether somebody has begun a pool on its disk, or made anything else there. */
export function isUsed({ node, pool }: PoolPlace): boolean {
  return readdirSync(node.path(poolPath(pool))).some((name) => name !== "lost+found");
}

/** Makes a claim, and a pod for it that may only be on this node; waits until the scheduler has found no room there. */
export async function askInVain(
  stage: ProvisionerStage,
  terms: { readonly name: string; readonly node: NodeName; readonly storageClass: string },
): Promise<void> {
  const { name } = terms;
  await makeClaim(stage, terms);
  await makePod(stage, { ...terms, claim: name });
  const { metadata } = v.parse(made, await stage.api.get(`/api/v1/namespaces/default/pods/${name}`));
  const about = { reason: "FailedScheduling", words: "did not have enough free storage" };
  await untilTold(stage, () => stage.events.on(metadata.uid), about);
}

/** Gives up a volume whose disk was replaced, as the runbook says: its pod, its claim, and by hand what stays Released. */
export async function giveUp(stage: ProvisionerStage, pages: PageReader, { claim, pod }: Use): Promise<void> {
  const { volume } = claim;
  await deletePod(stage, pod);
  await deleteClaim(stage, claim);
  await untilVolume(stage, volume, "Released");
  await pages.follow(BY_HAND.join("\n"), { node: pod.node, volume });
  await untilVolume(stage, volume, "gone");
}

/** Gives up a node as the page says: deletes its Node object, waits until the provisioner's pod is gone, forgets it, and deletes the claims that are named. */
export async function forget(stage: ProvisionerStage, pages: PageReader, node: NodeName): Promise<void> {
  await pages.follow("kubectl delete node NODE", { node });
  await stage.until(`no provisioner's pod of ${node}`, async () => {
    if ((await podOn(stage, node)) !== undefined) throw new HarnessError("it is there");
  });
  const said = await pages.follow("npm run -s local -- forget NODE --yes 2>&1", { node });
  await pages.follow([...said.matchAll(/kubectl .*delete pvc .*/g)].join("\n"), { node });
}
