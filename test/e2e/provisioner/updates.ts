import { statSync } from "node:fs";
import { join } from "node:path";
import { linksOn, poolPath } from "../../rig/node/pool-disks.ts";
import { HarnessError } from "../../rig/process/errors.ts";
import { deleteClaim, makeClaim } from "./claims.ts";
import { deletePod, inPod, makePod, restartsOf, runUse, type Use } from "./pods.ts";
import { provisionerOn, untilGoing } from "./provisioner-pods.ts";
import type { ProvisionerStage } from "./stage.ts";
import { deviceOf } from "./stories.ts";

/** Each number takes eight bytes. */
const WIDTH = 8;
/** The numbers of so many bytes are read. */
const READ_BYTES = 64 * 1024;

/** Writes one number after the other, synced, until a write fails. */
function countingTo(file: string): string {
  const write = `dd of=${file} bs=${WIDTH} seek=$((i - 1)) conv=notrunc,fsync 2>/dev/null`;
  return `trap 'exit 0' TERM; i=1; while printf '%07d\\n' $i | ${write}; do i=$((i + 1)); sleep 0.05; done; exit 1`;
}

/** Where such a pod writes. */
type Counter = Use & { readonly file: string };

/** Runs pods that count on both nodes, on both filesystems, and on a raw device. */
export async function runCounters(stage: ProvisionerStage): Promise<readonly Counter[]> {
  const terms = [
    { name: "counts-1", node: "node-1", storageClass: "ext4", size: "32Mi", isBlock: false },
    { name: "counts-2", node: "node-2", storageClass: "xfs", size: "320Mi", isBlock: false },
    { name: "counts-raw", node: "node-1", storageClass: "ext4", size: "32Mi", isBlock: true },
  ] as const;
  return await Promise.all(
    terms.map(async (one) => {
      const file = one.isBlock ? "/dev/data" : "/data/log";
      return { ...(await runUse(stage, { ...one, line: countingTo(file) })), file };
    }),
  );
}

/** How far a pod has counted. Throws a HarnessError where a number is missing. */
export async function countOf(stage: ProvisionerStage, { pod, file }: Counter): Promise<number> {
  const text = await inPod(stage, pod, `head -c ${READ_BYTES} ${file} | tr -d '\\000'`);
  const numbers = text.split("\n").map(Number);
  const wrong = numbers.findIndex((number, index) => number !== index + 1);
  if (wrong >= 0) throw new HarnessError(`${pod.name} has ${numbers[wrong]} as number ${wrong + 1}`);
  return numbers.length;
}

/** What a pod has its volume by: the image, the loop device, and the link to that. */
export async function groundOf(stage: ProvisionerStage, use: Use): Promise<object> {
  const node = stage.node(use.pod.node);
  const { ino, size, blocks } = statSync(join(node.path(poolPath("default")), `${use.claim.volume}.img`));
  const link = (await linksOn(node)).get(use.claim.volume);
  return { ino, size, blocks, link, device: deviceOf(use), restarts: await restartsOf(stage, use.pod) };
}

/** Waits until the provisioner of a node is replaced; ends a use then, and begins another one of this name. */
export async function changeWhileAway(stage: ProvisionerStage, { claim, pod }: Use, name: string): Promise<void> {
  const { uid } = await provisionerOn(stage, pod.node);
  await untilGoing(stage, uid);
  await makeClaim(stage, { name });
  await makePod(stage, { name, claim: name, node: pod.node });
  await deletePod(stage, pod);
  await deleteClaim(stage, claim);
}
