import { PROVISIONERS, volumeNameOf } from "../../common/storage/local-volumes.ts";
import type { ImageState, PoolState } from "../protocol.ts";
import { readParameters } from "./class-parameters.ts";
import { nodeProblem } from "./local-node.ts";
import type { Claim, LocalNode, StorageClass } from "./objects.ts";
import { imageBytes, LARGEST_BYTES, quantityOf } from "./sizes.ts";

/** What to create for a claim: an image in a pool of this node, and a PersistentVolume for it. */
export interface Provision {
  readonly volume: string;
  readonly pool: string;
  readonly poolId: string;
  readonly bytes: number;
  readonly fsType: string;
}

/** What to do for a claim. */
export type Provisioning =
  /** This provisioner is not responsible for it, or no longer. */
  | { readonly kind: "ignore"; readonly why: string }
  /** It cannot be decided yet. */
  | { readonly kind: "wait"; readonly why: string }
  /** It cannot be provisioned as it is: only its owner or an administrator can change that. */
  | { readonly kind: "refuse"; readonly why: string }
  /** Another node may provision it. */
  | { readonly kind: "reschedule"; readonly why: string }
  | { readonly kind: "provision"; readonly provision: Provision };

/** The input of a decision about a claim. Unknown values are undefined. */
export interface ProvisioningFacts {
  readonly node: LocalNode | undefined;
  /** The class that the claim names; undefined when no class has that name. */
  readonly storageClass: StorageClass | undefined;
  readonly pools: readonly PoolState[] | undefined;
  /** The image of the claim's volume, if one exists already. */
  readonly image: ImageState | undefined;
}

/** mkfs.xfs refuses a smaller filesystem. */
const SMALLEST_XFS_BYTES = 300 * 2 ** 20;
const ACCESS_MODES: readonly string[] = ["ReadWriteOnce", "ReadWriteOncePod"];

/** Decides what to do for a claim on this node. */
export function decideProvisioning(
  claim: Claim,
  facts: ProvisioningFacts & { readonly nodeName: string },
): Provisioning {
  const volume = volumeNameOf(claim.uid);
  const ignored = ignoredBecause(claim, facts.nodeName) ?? (volume === undefined ? "its UID is no UUID" : undefined);
  if (ignored !== undefined || volume === undefined) return { kind: "ignore", why: ignored ?? "" };
  const { storageClass, node, image } = facts;
  if (storageClass === undefined)
    return { kind: "refuse", why: `StorageClass "${claim.storageClass ?? ""}" does not exist` };
  const why = refusedBecause(claim, storageClass) ?? (image?.state === "published" ? WAS_PUBLISHED : undefined);
  if (why !== undefined) return { kind: "refuse", why };
  const parameters = readParameters(storageClass);
  if (!parameters.ok) return { kind: "refuse", why: parameters.why };
  const bytes = imageBytes(claim.requestBytes ?? 0);
  const size = sizeProblem(claim, { bytes, fsType: parameters.fsType });
  if (size !== undefined) return { kind: "refuse", why: size };
  if (node === undefined) return { kind: "wait", why: "this node's Node object has not been read yet" };
  const wrong = nodeProblem(node);
  if (wrong !== undefined) return { kind: "reschedule", why: wrong };
  const { pool, fsType } = parameters;
  return inPool({ volume, pool, bytes, fsType }, facts);
}

/** It is the same claim, and so the same data, but a PersistentVolume existed: what happened to its data is unknown. */
const WAS_PUBLISHED = "an image of this claim exists whose PersistentVolume was deleted by force; delete the claim";

function ignoredBecause(claim: Claim, nodeName: string): string | undefined {
  if (!PROVISIONERS.includes(claim.provisioner ?? "")) return "another provisioner is to provision it";
  if (claim.volumeName !== "") return "it is bound";
  if (claim.isDeleting) return "it is being deleted";
  return claim.selectedNode === nodeName ? undefined : "another node is selected for it, or none";
}

function refusedBecause(claim: Claim, { name, provisioner, bindingMode }: StorageClass): string | undefined {
  if (!PROVISIONERS.includes(provisioner)) return `StorageClass ${name} is of provisioner ${provisioner}`;
  if (bindingMode !== "WaitForFirstConsumer") return immediateProblem(name);
  if (claim.hasSelector) return "a selector is not supported";
  if (claim.hasDataSource) return "a dataSource is not supported: the volume would be empty";
  const mode = claim.accessModes.find((one) => !ACCESS_MODES.includes(one));
  return mode === undefined ? undefined : `access mode ${mode} is not supported: use ${ACCESS_MODES.join(" or ")}`;
}

/** The problem of a class with binding mode Immediate: a volume of this provisioner needs a node. */
export function immediateProblem(storageClass: string): string {
  return `StorageClass ${storageClass} has volumeBindingMode Immediate; use WaitForFirstConsumer: a local volume needs the node of its first pod`;
}

function sizeProblem(
  { requestBytes, limitBytes, volumeMode }: Claim,
  { bytes, fsType }: { readonly bytes: number; readonly fsType: string },
): string | undefined {
  if (requestBytes === undefined) return "its request for storage cannot be read";
  if (bytes > LARGEST_BYTES) return `it asks for more than ${quantityOf(LARGEST_BYTES)}`;
  if (limitBytes !== undefined && bytes > limitBytes)
    return `its limit is smaller than ${quantityOf(bytes)}, the request in whole MiB`;
  if (fsType === "xfs" && volumeMode !== "Block" && bytes < SMALLEST_XFS_BYTES)
    return `XFS needs at least ${quantityOf(SMALLEST_XFS_BYTES)}, it asks for ${quantityOf(bytes)}`;
  return undefined;
}

function inPool(asked: Omit<Provision, "poolId">, { pools, image, node }: ProvisioningFacts): Provisioning {
  if (pools === undefined) return { kind: "wait", why: "the pools of this node are not known" };
  // A re-created class may name another pool by now, but a PersistentVolume that names the image's pool may be about to appear.
  const wanted = { ...asked, pool: image?.pool ?? asked.pool };
  const pool = pools.find(({ name }) => name === wanted.pool);
  if (pool === undefined) return { kind: "reschedule", why: `node ${node?.name ?? ""} has no pool "${wanted.pool}"` };
  const { state, id: poolId } = pool;
  if (state === "empty") return { kind: "wait", why: `pool "${wanted.pool}" has not been begun yet` };
  if (state === "lost" || poolId === undefined)
    return { kind: "reschedule", why: `pool "${wanted.pool}" of node ${node?.name ?? ""} is lost: ${pool.why ?? ""}` };
  return { kind: "provision", provision: { ...wanted, poolId } };
}
