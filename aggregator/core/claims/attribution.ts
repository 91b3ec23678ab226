import type { Claim } from "../../../common/storage/claim.ts";
import type { MountKind, VolumeIdentity } from "../../../common/storage/volume-identity.ts";
import type { Pod, Volume } from "../cluster-objects.ts";

export interface Directory {
  readonly volumeByName: (name: string) => Volume | undefined;
  readonly volumesByHandle: (driver: string, handleHash: string) => readonly Volume[];
  readonly podByUid: (uid: string) => Pod | undefined;
  readonly claim: (key: string) => Claim | undefined;
}

/** What attribution needs of a mounted volume or an unmount record. */
export interface Fact {
  readonly volume: VolumeIdentity;
  readonly podUid: string | undefined;
  /** Of a mount. */
  readonly kind?: MountKind | undefined;
  /** At or after its end, milliseconds of the API server's wall clock; undefined while it is mounted. */
  readonly byMs?: number | undefined;
}

/**
 * The claims that a fact of the mount table belongs to, by the PV's name or handle and its `claimRef`. A known pod that
 * does not use the claim has an inline volume of the PV's name; an unknown pod is assumed to use it. A use that was
 * over before the claim's creation was an earlier claim's: leaving it out makes no time too early, whatever clocks say.
 * What is mounted is the present claim's. Binding times prove nothing: who may write the PV's status can forge them.
 */
export function claimsOf(fact: Fact, directory: Directory): readonly Pick<Claim, "key" | "uid">[] {
  const means = volumesOf(fact.volume, directory).filter((volume) => mayMean(fact, volume, directory));
  return means.flatMap(({ claim }) => claim ?? []);
}

function mayMean(fact: Fact, volume: Volume, directory: Directory): boolean {
  const { claim } = volume;
  // The directory of a hostPath volume is never mounted itself; a mount with its name is an inline volume.
  if (claim === undefined || (volume.isHostPath && fact.kind === "pod")) return false;
  const pod = fact.podUid === undefined ? undefined : directory.podByUid(fact.podUid);
  const found = directory.claim(claim.key);
  if (found?.uid !== claim.uid) return pod === undefined || pod.claims.includes(claim.key);
  // The kubelet mounts the volume that the claim names. Another volume that names the claim is about to be released.
  if (found.volume !== undefined && found.volume !== volume.key) return false;
  if (pod !== undefined && !refersTo(pod, found)) return false;
  const { byMs = Number.POSITIVE_INFINITY } = fact;
  return byMs >= (found.createdAtMs ?? 0);
}

/** The claims that a fact may turn out to belong to, or not to belong to, when more is known of its pod. */
export function claimKeysNear({ volume }: Fact, directory: Directory): readonly string[] {
  return volumesOf(volume, directory).flatMap(({ claim }) => (claim === undefined ? [] : [claim.key]));
}

/** The PVs that a mount path may mean: one by its name, one or several by a handle. */
export function volumesOf(volume: VolumeIdentity, directory: Directory): readonly Volume[] {
  if (volume.by === "handle") return directory.volumesByHandle(volume.driver, volume.handleHash);
  // No API object repeats the in-tree plugins' name of a device.
  if (volume.by === "device") return [];
  const found = directory.volumeByName(volume.name);
  return found === undefined ? [] : [found];
}

/** Kubelets mount an ephemeral volume only if the pod controls the claim (Kubernetes' `ephemeral.VolumeIsForPod`). */
export function refersTo(pod: Pod, { key, controllerUid }: Claim): boolean {
  if (!pod.claims.includes(key)) return false;
  const isEphemeral = pod.ephemeralClaims?.includes(key) ?? false;
  return !isEphemeral || controllerUid === pod.uid;
}

/** A pod that is not scheduled never gets a deleted claim (Kubernetes: `podUsesPVC` in pvc_protection_controller.go). */
export function mayUse(pod: Pod, claim: Claim): boolean {
  return refersTo(pod, claim) && (!claim.isDeleting || pod.node !== undefined);
}
