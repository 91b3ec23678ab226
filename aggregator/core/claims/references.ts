import type { Claim } from "../../../common/storage/claim.ts";
import type { Pod } from "../cluster-objects.ts";

/** What decides whether a pod means the claim. */
export type OwnedClaim = Pick<Claim, "key" | "controllerUid">;

/** True when a pod has the claim's name among its volumes. */
export function namesClaim(pod: Pod, claimKey: string): boolean {
  return claimKeysOf(pod).includes(claimKey);
}

/**
 * True when a pod refers to the claim. A generic ephemeral volume refers to a claim of that name only if the pod controls it; otherwise
 * the kubelet refuses to mount it (Kubernetes' `ephemeral.VolumeIsForPod`).
 */
export function refersTo(pod: Pod, { key, controllerUid }: OwnedClaim): boolean {
  if (!namesClaim(pod, key)) return false;
  const isEphemeral = pod.ephemeralClaims?.includes(key.slice(key.indexOf("/") + 1)) ?? false;
  return !isEphemeral || controllerUid === pod.uid;
}

/**
 * True when a pod that refers to the claim may use it, now or later. A pod that is not scheduled never gets a claim that is being
 * deleted: Kubernetes' own protection does not wait for it either (`podUsesPVC` in pvc_protection_controller.go).
 */
export function mayUse(pod: Pod, claim: OwnedClaim & Pick<Claim, "isDeleting">): boolean {
  return refersTo(pod, claim) && (!claim.isDeleting || pod.node !== undefined);
}

/** The keys of the claims that a pod names. */
export function claimKeysOf(pod: Pick<Pod, "key" | "claims">): readonly string[] {
  const namespace = pod.key.slice(0, pod.key.indexOf("/"));
  return pod.claims.map((name) => `${namespace}/${name}`);
}
