import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readPage } from "../../pages/page.ts";
import { mountDisk, poolPath } from "../../rig/node/pool-disks.ts";
import { HarnessError } from "../../rig/process/errors.ts";
import { kubectl } from "../kubectl.ts";
import type { NodeName } from "../scenarios/stage.ts";
import { deleteClaim, type MadeClaim, untilBound, untilClaim, untilVolume } from "./claims.ts";
import { setPolicy } from "./meanwhile.ts";
import { runUse, type Use } from "./pods.ts";
import { podOn } from "./provisioner-pods.ts";
import type { PageReader } from "./runbooks.ts";
import type { ProvisionerStage } from "./stage.ts";
import { endPod } from "./stories.ts";

const PAGE = readPage("provisioner.md");
/** Where the page copies an image to; here nothing can be written there. */
const SAVED = "/root/";
const SAVED_HERE = "/tmp/";

/** Ends a use so that its image stays, without a PersistentVolume. */
export async function leaveImage(stage: ProvisionerStage, use: Use): Promise<void> {
  const { volume } = use.claim;
  await endPod(stage, use);
  await setPolicy(stage, volume, "Retain");
  await deleteClaim(stage, use.claim);
  await untilVolume(stage, volume, "Released");
  await kubectl(stage.cluster, "delete", "pv", volume);
  await untilVolume(stage, volume, "gone");
}

/** Reads a file of an image by hand, as the page says. */
export async function readByHand(
  stage: ProvisionerStage,
  pages: PageReader,
  { node, volume, file }: { readonly node: NodeName; readonly volume: string; readonly file: string },
): Promise<string> {
  await pages.follow(PAGE.block("### Read an image").replaceAll(SAVED, SAVED_HERE), { node, volume });
  return readFileSync(join(stage.node(node).path(SAVED_HERE), volume, file), "utf8").trim();
}

/** Makes the PersistentVolume of an image again, and a claim for it, as the page says. */
export async function restoreByHand(
  stage: ProvisionerStage,
  pages: PageReader,
  { node, volume, storageClass }: { readonly node: NodeName; readonly volume: string; readonly storageClass: string },
): Promise<MadeClaim> {
  const heading = "### An image has no PersistentVolume";
  const [pool = "", size = ""] = (await pages.follow(PAGE.block(heading), { node, volume })).split(/\}\s*/);
  const id = /"id":\s*"([^"]+)"/.exec(pool)?.[1];
  if (id === undefined) throw new HarnessError(`the page printed ${pool} ${size}`);
  const objects = PAGE.block(heading, 1)
    .replaceAll("POOL-ID", id)
    .replaceAll("SIZE", size.trim())
    .replaceAll("storageClassName: local", `storageClassName: ${storageClass}`);
  await pages.follow(`kubectl create -f - <<'END'\n${objects}\nEND\n`, { node, volume });
  const name = "restored";
  const uid = await kubectl(stage.cluster, "get", "pvc", name, "--output=jsonpath={.metadata.uid}");
  const claim = { name, uid, volume };
  await untilBound(stage, claim);
  await untilClaim(stage, claim, { what: "has the volume", holds: (seen) => seen.volume === volume });
  return claim;
}

/** Takes the provisioner from a node, or lets it come back; waits until it is gone. */
export async function setProvisionerOn(stage: ProvisionerStage, node: NodeName, isThere: boolean): Promise<void> {
  const keepOff = { key: "kubernetes.io/hostname", operator: "NotIn", values: [node] };
  const affinity = isThere
    ? null
    : {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [keepOff] }] },
        },
      };
  const path = "/apis/apps/v1/namespaces/mooring-provisioner/daemonsets/mooring-provisioner";
  await stage.api.patch(path, { spec: { template: { spec: { affinity } } } });
  if (isThere) return;
  await stage.until(`no provisioner on ${node}`, async () => {
    if ((await podOn(stage, node)) !== undefined) throw new HarnessError("it is there");
  });
}

/** Attaches an image and makes its link by hand, as the page says. */
export async function attachByHand(pages: PageReader, node: NodeName, { claim: { volume } }: Use): Promise<void> {
  await pages.follow(PAGE.block("### Pods wait after a boot, and no provisioner runs"), { node, volume });
}

/** Copies what is on the disk of a lost node to a new claim's volume on another node, as the page says; answers the new use. */
export async function rescue(
  stage: ProvisionerStage,
  pages: PageReader,
  { lost, pool, node }: { readonly lost: Use; readonly pool: string; readonly node: NodeName },
): Promise<Use> {
  const rescued = await runUse(stage, { name: "rescued", node });
  const old = { node: stage.node(node), pool: "of-a-lost-node" };
  await mountDisk(old, stage.disk(lost.pod.node, pool));
  const script = PAGE.block("### The node is lost, its disk is not")
    .replaceAll("/mnt/old-pool", poolPath(old.pool))
    .replaceAll("pvc-NEW", rescued.claim.volume);
  try {
    await pages.follow(script, { node, volume: lost.claim.volume });
  } finally {
    await old.node.run("umount", poolPath(old.pool));
  }
  return rescued;
}
