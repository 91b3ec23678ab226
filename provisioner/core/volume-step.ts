import { claimUidOf, PROVISIONERS, VOLUME_FINALIZER } from "../../common/storage/local-volumes.ts";
import { type ImageState, LINK_FOLDER, type PoolState } from "../protocol.ts";
import type { Claim, Volume } from "./objects.ts";
import { imageBytes, LARGEST_BYTES, quantityOf } from "./sizes.ts";

/** The next step for a PersistentVolume of this node. After the step, the volume is evaluated again. */
export type VolumeStep =
  | { readonly kind: "nothing" }
  /** Something is unknown or wrong: change nothing, and report why. */
  | { readonly kind: "leave"; readonly why: string }
  /** Its data is not here: never create the image again. */
  | { readonly kind: "lost"; readonly why: string }
  /** Delete the image, then the PersistentVolume. */
  | { readonly kind: "remove" }
  | { readonly kind: "add-finalizer" }
  | { readonly kind: "drop-finalizer" }
  /** Note in the pool that a PersistentVolume names the image. */
  | { readonly kind: "publish" }
  | { readonly kind: "attach" }
  /** Grow the image to this size. */
  | { readonly kind: "grow"; readonly bytes: number }
  /** Write this size, which the image has already, to the PersistentVolume. */
  | { readonly kind: "record-capacity"; readonly bytes: number }
  /**
   * Write to the claim's status that the volume has grown: the kubelet then grows the filesystem. A volume without a filesystem is done.
   */
  | { readonly kind: "report-resize"; readonly bytes: number; readonly isDone: boolean }
  | { readonly kind: "refuse-growth"; readonly why: string };

/** The input of a decision about a PersistentVolume. Unknown values are undefined. */
export interface VolumeFacts {
  readonly nodeName: string;
  readonly pools: readonly PoolState[] | undefined;
  readonly images: readonly ImageState[] | undefined;
  /** The claim that it is bound to, if that was read. */
  readonly claim: Claim | undefined;
}

const NOTHING = { kind: "nothing" } as const;

/** Whether this provisioner created the volume for this node. It changes no other volume. */
export function isOwn(volume: Volume, nodeName: string): boolean {
  return (
    PROVISIONERS.includes(volume.provisionedBy ?? "") &&
    claimUidOf(volume.name) !== undefined &&
    volume.node === nodeName &&
    volume.path === `${LINK_FOLDER}/${volume.name}`
  );
}

/** The location of a volume, according to its annotations; undefined when they do not contain it. */
export function placeOf({ name, pool, poolId }: Pick<Volume, "name" | "pool" | "poolId">) {
  if (pool === undefined || poolId === undefined) return undefined;
  return { volume: name, pool, poolId };
}

/** Whether to delete the image now, and then the volume. */
export function isToRemove({ policy, isDeleting, finalizers, phase, claim }: Volume): boolean {
  if (policy !== "Delete") return false;
  if (isDeleting && !finalizers.includes(VOLUME_FINALIZER)) return false;
  // kube-controller-manager sets a volume to Released, also a deleted one, when its claim is gone. One that never had a claim stays.
  return phase === "Released" || (isDeleting && claim === undefined);
}

/** The next step for a PersistentVolume. */
export function nextStep(volume: Volume, facts: VolumeFacts): VolumeStep {
  if (!isOwn(volume, facts.nodeName)) return NOTHING;
  const { policy, isDeleting, finalizers, phase } = volume;
  const hasFinalizer = finalizers.includes(VOLUME_FINALIZER);
  if (policy !== "Delete" && hasFinalizer) return { kind: "drop-finalizer" };
  if (placeOf(volume) === undefined)
    return { kind: "leave", why: "its annotations local.mooring.dev/pool and pool-id do not say where its data is" };
  if (isToRemove(volume)) return { kind: "remove" };
  // A bound volume may be in use: after a reboot its pods wait for it.
  if (isDeleting && !hasFinalizer && phase !== "Bound") return NOTHING;
  if (policy === "Delete" && !isDeleting && !hasFinalizer) return { kind: "add-finalizer" };
  return phase === "Bound" ? boundStep(volume, facts) : publishStep(volume, facts);
}

/** A volume that nothing may use yet, or any more. */
function publishStep(volume: Volume, { images }: VolumeFacts): VolumeStep {
  const image = imageOf(volume, images);
  return image?.state === "made" ? { kind: "publish" } : NOTHING;
}

function boundStep(volume: Volume, facts: VolumeFacts): VolumeStep {
  const { pools, images, claim } = facts;
  if (pools === undefined || images === undefined)
    return { kind: "leave", why: "the pools of this node are not known" };
  const pool = pools.find(({ name }) => name === volume.pool);
  const lost = poolProblem(volume, pool);
  if (lost !== undefined) return { kind: "lost", why: lost };
  const image = imageOf(volume, images);
  if (image === undefined) return { kind: "lost", why: `pool "${volume.pool ?? ""}" does not have its image` };
  if (image.state === "partial")
    return { kind: "lost", why: `pool "${volume.pool ?? ""}" has a part of its image alone` };
  if (image.state === "made") return { kind: "publish" };
  if (image.device === undefined) return { kind: "attach" };
  return claim === undefined || claim.volumeName !== volume.name ? NOTHING : growthStep(volume, { image, claim });
}

function imageOf({ name, pool }: Volume, images: readonly ImageState[] | undefined): ImageState | undefined {
  return images?.find((image) => image.volume === name && image.pool === pool);
}

function poolProblem({ pool: name = "", poolId }: Volume, pool: PoolState | undefined): string | undefined {
  if (pool === undefined) return `this node has no pool "${name}"`;
  if (pool.state !== "ready") return `pool "${name}" is ${pool.state}${pool.why === undefined ? "" : `: ${pool.why}`}`;
  if (pool.id !== poolId)
    return `pool "${name}" is another one: its ID is ${pool.id ?? "none"}, the volume names ${poolId ?? "none"}`;
  return undefined;
}

function growthStep(
  { capacityBytes = 0, volumeMode }: Volume,
  { image, claim }: { readonly image: ImageState; readonly claim: Claim },
): VolumeStep {
  const { requestBytes = 0, capacityBytes: claimBytes, resizeStatus } = claim;
  // While the status is set, the kubelet grows the filesystem, and then writes the claim's capacity. A finished growth does not wait for a
  // further one.
  if (resizeStatus === undefined && claimBytes !== undefined && claimBytes < Math.min(requestBytes, capacityBytes))
    return { kind: "report-resize", bytes: capacityBytes, isDone: volumeMode === "Block" };
  if (requestBytes <= capacityBytes) return NOTHING;
  const bytes = imageBytes(requestBytes);
  if (bytes > LARGEST_BYTES)
    return { kind: "refuse-growth", why: `it asks for more than ${quantityOf(LARGEST_BYTES)}` };
  return image.bytes < bytes ? { kind: "grow", bytes } : { kind: "record-capacity", bytes };
}
