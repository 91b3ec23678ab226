import type { MountKind, VolumeIdentity } from "../../common/storage/volume-identity.ts";
import type { Pod, Volume } from "./cluster-objects.ts";
import { namesClaim, type OwnedClaim, refersTo } from "./references.ts";

/** Where attribution looks things up. */
export interface Directory {
  readonly volumeByName: (name: string) => Volume | undefined;
  readonly volumesByHandle: (driver: string, handleHash: string) => readonly Volume[];
  readonly podByUid: (uid: string) => Pod | undefined;
  readonly claim: (key: string) => FoundClaim | undefined;
  /** The pod is there and so is the claim, or both were when the pod went. */
  readonly knewClaim: (podUid: string, claim: ClaimRef) => boolean;
}

/** A claim, as far as it tells what is its own. */
interface FoundClaim extends OwnedClaim {
  readonly uid: string;
  readonly volume: string | undefined;
  /** When it was made, whole seconds cut off. */
  readonly createdAtMs?: number | undefined;
}

/** A claim by name and UID: what was re-created under one name is another claim. */
export interface ClaimRef {
  readonly key: string;
  readonly uid: string;
}

/** A mounted volume or an unmount record, as far as it tells whose it is. */
export interface Fact {
  readonly volume: VolumeIdentity;
  readonly podUid: string | undefined;
  /** Of a mount. */
  readonly kind?: MountKind | undefined;
  /** At or after its begin, milliseconds of the API server's wall clock; nothing when that is not known. */
  readonly beganByMs?: number | undefined;
  /** At or after its end, by the same clock; nothing while it goes on. */
  readonly byMs?: number | undefined;
}

/**
 * The claims that a fact of the mount table belongs to: by the PV's name or handle to its `claimRef`. A pod that is known and does not mean
 * the claim has an inline volume that happens to be called like the PV; of a pod that is not known it has to be assumed that it does. What
 * is proven to have begun before the claim was made was an earlier claim's and stays with the PV; not so a staged device, which the kubelet
 * uses again for the next claim's pods. A pod that has this claim proves that its mounts are this claim's: Kubernetes keeps a claim while a
 * live pod names it. The time of the binding proves nothing: anyone who may write the PV's status can forge it.
 */
export function claimsOf(fact: Fact, directory: Directory): readonly ClaimRef[] {
  const pod = fact.podUid === undefined ? undefined : directory.podByUid(fact.podUid);
  return volumesOf(fact.volume, directory).flatMap((volume) => {
    const { claim } = volume;
    return claim !== undefined && mayMean(fact, pod, { volume, claim, directory }) ? [claim] : [];
  });
}

function isStaging({ podUid }: Fact): boolean {
  return podUid === undefined;
}

/** By how much one API server's clock may be ahead of another one's, such as of those that dated a claim and a report. Milliseconds. */
export const APART_MS = 5_000;

/** Over, or begun, before the claim was made. What began about then may have begun after it, and must not be overlooked. */
function isOfEarlierClaim({ beganByMs, byMs = Number.POSITIVE_INFINITY }: Fact, { createdAtMs }: FoundClaim): boolean {
  if (createdAtMs === undefined) return false;
  return byMs < createdAtMs || (beganByMs !== undefined && beganByMs < createdAtMs - APART_MS);
}

function mayMean(
  fact: Fact,
  pod: Pod | undefined,
  { volume, claim, directory }: { readonly volume: Volume; readonly claim: ClaimRef; readonly directory: Directory },
): boolean {
  // The directory of a hostPath volume is never mounted, a part of it may be: what is called like it is an inline volume.
  if (volume.isHostPath && fact.kind === "pod") return false;
  const found = directory.claim(claim.key);
  const known = found?.uid === claim.uid ? found : undefined;
  // The kubelet mounts the volume that the claim names: another one that names the claim is to be released.
  if (known?.volume !== undefined && known.volume !== volume.key) return false;
  const isMeant = pod === undefined || (known === undefined ? namesClaim(pod, claim.key) : refersTo(pod, known));
  if (!isMeant || known === undefined || isStaging(fact)) return isMeant;
  return (pod !== undefined && directory.knewClaim(pod.uid, claim)) || !isOfEarlierClaim(fact, known);
}

/** The claims that a fact may be found to belong to, or not to, when more is known of its pod. */
export function claimKeysNear({ volume }: Fact, directory: Directory): readonly string[] {
  return volumesOf(volume, directory).flatMap(({ claim }) => (claim === undefined ? [] : [claim.key]));
}

/** The PVs that a mount path may mean: one by its name, one or several by a handle. */
export function volumesOf(volume: VolumeIdentity, directory: Directory): readonly Volume[] {
  if (volume.by === "handle") return directory.volumesByHandle(volume.driver, volume.handleHash);
  // No API object repeats what the in-tree plugins call a device.
  if (volume.by === "device") return [];
  const found = directory.volumeByName(volume.name);
  return found === undefined ? [] : [found];
}
