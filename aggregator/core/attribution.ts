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

/**
 * The claims that a fact of the mount table belongs to: by the PV's name or handle to its `claimRef`. A pod that is known and
 * names no such claim has an inline volume that happens to be called like a PV.
 */
export function claimsOf(
  fact: { readonly volume: VolumeIdentity; readonly podUid: string | undefined },
  directory: Directory,
): readonly ClaimRef[] {
  const pod = fact.podUid === undefined ? undefined : directory.podByUid(fact.podUid);
  return volumesOf(fact.volume, directory).flatMap(({ claim }) =>
    claim !== undefined && (pod === undefined || names(pod, claim.key)) ? [claim] : [],
  );
}

function volumesOf(volume: VolumeIdentity, directory: Directory): readonly Volume[] {
  if (volume.by === "handle") return directory.volumesByHandle(volume.driver, volume.handleHash);
  const found = directory.volumeByName(volume.name);
  return found === undefined ? [] : [found];
}

function names(pod: Pod, claimKey: string): boolean {
  const namespace = pod.key.slice(0, pod.key.indexOf("/"));
  return pod.claims.some((name) => `${namespace}/${name}` === claimKey);
}
