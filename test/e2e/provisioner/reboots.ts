import { runCommand } from "../../rig/node/commands.ts";
import { detachVolumes, makeDisk, mountDisk } from "../../rig/node/pool-disks.ts";
import type { NodeName } from "../scenarios/stage.ts";
import type { Use } from "./pods.ts";
import type { ProvisionerStage } from "./stage.ts";
import { deviceOf } from "./stories.ts";

/** Cuts the power of node-1, and lets another disk have the loop device of the first of these uses; answers that device. */
export async function cutPower(stage: ProvisionerStage, uses: readonly [Use, ...Use[]]): Promise<string> {
  const node = stage.node("node-1");
  const device = deviceOf(uses[0]);
  const other = await makeDisk(stage.owner, { node, name: "other" }, { filesystem: "ext4", size: "32M" });
  await node.kill();
  await detachVolumes((volume) => uses.some(({ claim }) => claim.volume === volume));
  await runCommand({ command: "losetup", args: [device, other] });
  stage.owner.defer(async () => void (await runCommand({ command: "losetup", args: ["--detach", device] })));
  return device;
}

/** Starts a node with the disks of these pools alone. */
export async function startWith(stage: ProvisionerStage, name: NodeName, pools: readonly string[]): Promise<void> {
  const node = stage.node(name);
  await node.start();
  for (const pool of pools) await mountDisk({ node, pool }, stage.disk(name, pool));
  await stage.watchMounts(name);
}

/** Starts the kubelet of a node anew: it tries a mount again at once, and else after two minutes where it has tried in vain for long. */
export async function restartKubelet(stage: ProvisionerStage, name: NodeName): Promise<void> {
  const { kubelet } = stage.node(name);
  await kubelet.stop();
  await kubelet.start();
}
