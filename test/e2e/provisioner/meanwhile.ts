import * as v from "valibot";
import { VOLUME_FINALIZER } from "../../../common/storage/local-volumes.ts";
import { STORAGE_PATHS } from "../../rig/csi/objects.ts";
import { filesIn, type PoolPlace, volumeLoops } from "../../rig/node/pool-disks.ts";
import { HarnessError } from "../../rig/process/errors.ts";
import { deleteClaim, makeClaim, untilClaimGone } from "./claims.ts";
import { deletePod, makePod } from "./pods.ts";
import type { ProvisionerStage } from "./stage.ts";

const metadata = v.object({ metadata: v.object({ finalizers: v.optional(v.array(v.string()), []) }) });

/** How far a volume is made. */
export type Moment = "asked for" | "an image" | "a PersistentVolume";

/** Makes a claim and a pod on node-1, deletes both as soon as the volume is so far, and waits until nothing of them is left. */
export async function deleteAt(stage: ProvisionerStage, name: string, moment: Moment): Promise<void> {
  const place = { node: stage.node("node-1"), pool: "narrow" };
  const claim = await makeClaim(stage, { name, storageClass: place.pool, size: "16Mi" });
  await makePod(stage, { name, claim: name, node: "node-1" });
  await stage.until(`${moment} for ${name}`, async () => {
    const hasImage = moment !== "an image" || (await hasFile(place, claim.volume));
    const hasVolume = moment !== "a PersistentVolume" || stage.volumes(claim.volume).length > 0;
    if (!hasImage || !hasVolume) throw new HarnessError("there is none");
  });
  await deletePod(stage, { name }, true);
  await deleteClaim(stage, claim);
  await untilClaimGone(stage, claim);
  await stage.until(`nothing of ${name}`, async () => {
    const { value = "gone" } = stage.volumes(claim.volume).at(-1) ?? {};
    const devices = volumeLoops().filter(({ volume }) => volume === claim.volume);
    const isLeft = value !== "gone" || devices.length > 0 || (await hasFile(place, claim.volume));
    if (isLeft) throw new HarnessError(`${claim.volume} is ${value}; it has ${devices.length} devices`);
  });
}

async function hasFile(place: PoolPlace, volume: string): Promise<boolean> {
  return (await filesIn(place)).some((name) => name.startsWith(volume));
}

/** Says what is to become of a volume's data. */
export async function setPolicy(
  { api }: ProvisionerStage,
  volume: string,
  persistentVolumeReclaimPolicy: "Delete" | "Retain",
): Promise<void> {
  await api.patch(`${STORAGE_PATHS.volumes}/${volume}`, { spec: { persistentVolumeReclaimPolicy } });
}

/** Waits until the provisioner has let go of a volume that is to be retained. */
export async function untilLetGo({ api, until }: ProvisionerStage, volume: string): Promise<void> {
  await until(`${volume} without the provisioner's finalizer`, async () => {
    const { finalizers } = v.parse(metadata, await api.get(`${STORAGE_PATHS.volumes}/${volume}`)).metadata;
    if (finalizers.includes(VOLUME_FINALIZER)) throw new HarnessError(finalizers.join(" "));
  });
}
