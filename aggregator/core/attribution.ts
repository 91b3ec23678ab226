import type { VolumeIdentity } from "../../common/storage/volume-identity.ts";
import type { Pod, Volume } from "./cluster-objects.ts";

/** Where attribution looks things up. */
export interface Directory {
  readonly volumeByName: (name: string) => Volume | undefined;
  readonly volumesByHandle: (driver: string, handleHash: string) => readonly Volume[];
  readonly podByUid: (uid: string) => Pod | undefined;
}

/** A claim by name and UID: what was re-created under one name is another claim. */
export interface ClaimRef {
  readonly key: string;
  readonly uid: string;
}

/** A hold or a release, as far as it tells whose it is. */
export interface Fact {
  readonly volume: VolumeIdentity;
  readonly podUid: string | undefined;
  /** Of a release: at or after its truth, milliseconds of the API server's wall clock. */
  readonly byMs?: number;
}

/**
 * The claims that a fact of the mount table belongs to: by the PV's name or handle to its `claimRef`. A pod that is known and
 * names no such claim has an inline volume that happens to be called like a PV. A use that ended before the PV was bound was
 * an earlier claim's, even where the PV itself was made again under its name.
 */
export function claimsOf(fact: Fact, directory: Directory): readonly ClaimRef[] {
  const pod = fact.podUid === undefined ? undefined : directory.podByUid(fact.podUid);
  return volumesOf(fact.volume, directory).flatMap(({ claim, boundSinceMs }) => {
    const isOlder = fact.byMs !== undefined && boundSinceMs !== undefined && fact.byMs < boundSinceMs;
    return claim !== undefined && !isOlder && (pod === undefined || names(pod, claim.key)) ? [claim] : [];
  });
}

function volumesOf(volume: VolumeIdentity, directory: Directory): readonly Volume[] {
  if (volume.by === "handle") return directory.volumesByHandle(volume.driver, volume.handleHash);
  // No API object repeats what the in-tree plugins call a device.
  if (volume.by === "device") return [];
  const found = directory.volumeByName(volume.name);
  return found === undefined ? [] : [found];
}

function names(pod: Pod, claimKey: string): boolean {
  const namespace = pod.key.slice(0, pod.key.indexOf("/"));
  return pod.claims.some((name) => `${namespace}/${name}` === claimKey);
}
