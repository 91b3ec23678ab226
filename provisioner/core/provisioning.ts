import { PROVISIONERS, volumeNameOf } from "../../common/storage/local-volumes.ts";
import type { ImageState, PoolState } from "../protocol.ts";
import { readParameters } from "./class-parameters.ts";
import { nodeProblem } from "./local-node.ts";
import type { Claim, LocalNode, StorageClass } from "./objects.ts";
import { imageBytes, LARGEST_BYTES, quantityOf } from "./sizes.ts";

/** What a claim is to get: an image in a pool of this node, and a PersistentVolume for it. */
export interface Provision {
  readonly volume: string;
  readonly pool: string;
  readonly poolId: string;
  readonly bytes: number;
  readonly fsType: string;
}

/** What is to be done for a claim. */
export type Provisioning =
  /** It is not for this provisioner, or no longer. */
  | { readonly kind: "ignore"; readonly why: string }
  /** It cannot be decided yet. */
  | { readonly kind: "wait"; readonly why: string }
  /** It cannot be provisioned as it is: only its owner or an administrator can change that. */
  | { readonly kind: "refuse"; readonly why: string }
  /** Another node may provision it. */
  | { readonly kind: "reschedule"; readonly why: string }
  | { readonly kind: "provision"; readonly provision: Provision };

/** What a decision about a claim goes by. Nothing stands for what is not known. */
export interface ProvisioningFacts {
  readonly node: LocalNode | undefined;
  /** The class that the claim names; nothing when there is none of that name. */
  readonly storageClass: StorageClass | undefined;
  readonly pools: readonly PoolState[] | undefined;
  /** The image of the claim's volume, when there is one already. */
  readonly image: ImageState | undefined;
}

/** mkfs.xfs makes no smaller filesystem. */
const SMALLEST_XFS_BYTES = 300 * 2 ** 20;
const ACCESS_MODES: readonly string[] = ["ReadWriteOnce", "ReadWriteOncePod"];

/** What is to be done for a claim on this node. */
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

/** The same claim, so the same data, but a PersistentVolume had it: no one knows what became of that. */
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

/** What is wrong with a class that binds at once: a volume of this provisioner needs a node. */
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
  // A class that was made anew may name another pool by now, but a PersistentVolume that names the image may be on its way.
  const wanted = { ...asked, pool: image?.pool ?? asked.pool };
  const pool = pools.find(({ name }) => name === wanted.pool);
  if (pool === undefined) return { kind: "reschedule", why: `node ${node?.name ?? ""} has no pool "${wanted.pool}"` };
  const { state, id: poolId } = pool;
  if (state === "empty") return { kind: "wait", why: `pool "${wanted.pool}" has not been begun yet` };
  if (state === "lost" || poolId === undefined)
    return { kind: "reschedule", why: `pool "${wanted.pool}" of node ${node?.name ?? ""} is lost: ${pool.why ?? ""}` };
  return { kind: "provision", provision: { ...wanted, poolId } };
}
