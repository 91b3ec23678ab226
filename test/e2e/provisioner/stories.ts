import { statSync } from "node:fs";
import { volumeLoops } from "../../rig/node/pool-disks.ts";
import type { OwnedChild } from "../../rig/process/child.ts";
import { HarnessError } from "../../rig/process/errors.ts";
import { latest, useMounts } from "../scenarios/truth.ts";
import { deleteClaim, toldOfVolume, untilClaimGone, untilTold, untilVolume } from "./claims.ts";
import { deletePod, fileOf, type Use, untilPodGone } from "./pods.ts";
import type { ProvisionerStage } from "./stage.ts";

/** Writes to a raw device twenty times a second and does not hear that it should end. */
export const STUBBORN_BLOCK =
  "trap '' TERM; while :; do dd if=/dev/urandom of=/dev/data bs=4k count=1 conv=notrunc,fsync 2>/dev/null; sleep 0.05; done";

/** Where a kubelet mounts the devices of local volumes. */
const MOUNTS = "/var/lib/kubelet/plugins/kubernetes.io/local-volume/mounts";

/** Ends uses in the ordinary way, and waits until their volumes are gone. */
export async function endUses(stage: ProvisionerStage, ...uses: readonly Use[]): Promise<void> {
  await Promise.all(
    uses.map(async ({ claim, pod }) => {
      await deletePod(stage, pod);
      await deleteClaim(stage, claim);
      await untilVolume(stage, claim.volume, "gone");
    }),
  );
}

/** Ends the pod of a use; the claim stays. */
export async function endPod(stage: ProvisionerStage, { pod }: Pick<Use, "pod">): Promise<void> {
  await deletePod(stage, pod);
  await untilPodGone(stage, pod.name);
}

/** Deletes the pod of a use by force, and its claim; waits until the provisioner has tried to delete its image, and answers what it told. */
export async function deleteByForce(stage: ProvisionerStage, { claim, pod }: Use): Promise<string> {
  await deletePod(stage, pod, true);
  await deleteClaim(stage, claim);
  await untilClaimGone(stage, claim);
  await untilVolume(stage, claim.volume, "Released");
  return await untilTold(stage, () => toldOfVolume(stage, claim.volume), { reason: "VolumeFailedDelete" });
}

/** Waits until the pod of a use has written to its file after a moment. */
export async function untilWrittenAfter(stage: ProvisionerStage, use: Use, momentMs: number): Promise<void> {
  const beat = fileOf(stage, use, "beat");
  await stage.until(`a write of ${use.pod.name}`, () => {
    const agoMs = momentMs - statSync(beat).mtimeMs;
    if (agoMs >= 0) throw new HarnessError(`its last write was ${agoMs} ms before`);
  });
}

/** By how much a volume outlasted its last mount on a node, milliseconds of the time that the machine gave. */
export async function outlasted(stage: ProvisionerStage, { claim: { volume }, pod }: Use): Promise<number> {
  const goneMs = await untilVolume(stage, volume, "gone");
  const { left, ended } = useMounts(stage.mounts(pod.node), { podUid: "", volume });
  const last = latest(ended.map(({ at }) => at));
  if (last === undefined || left.length > 0) throw new HarnessError(`${volume} is mounted: ${left.join(" ")}`);
  return Math.round(goneMs - last.byMs - stage.starvation(last.byMs, goneMs));
}

/** The loop device of a volume. Throws a HarnessError unless there is exactly one. */
export function deviceOf({ claim }: Pick<Use, "claim">): string {
  const [loop, ...more] = volumeLoops().filter(({ volume }) => volume === claim.volume);
  if (loop === undefined || more.length > 0) throw new HarnessError(`${claim.volume} has ${more.length + 1} devices`);
  return loop.device;
}

/** A process on the node of a use with a copy of its mounts, which the node's own table does not show. */
export async function copyMounts(stage: ProvisionerStage, { claim: { volume }, pod }: Use): Promise<OwnedChild> {
  const lines: string[] = [];
  // Where a directory is removed, the kernel takes away what other mount namespaces have mounted there: the copy has it elsewhere, too.
  const line = `mount --bind ${MOUNTS}/${volume} /mnt; grep -c " /mnt " /proc/self/mountinfo; exec sleep infinity`;
  const copy = stage.owner.child({
    name: `copy of ${pod.name}`,
    ...stage
      .node(pod.node)
      .inside({ command: "unshare", args: ["--mount", "--propagation", "private", "sh", "-c", line] }),
    onLine: (text) => void lines.push(text),
    isKilledAtEnd: true,
  });
  await copy.start();
  await stage.until("a copy of the mounts", () => {
    if (!(Number(lines[0]) > 0)) throw new HarnessError(`it shows ${lines.join(" ")}`);
  });
  return copy;
}
