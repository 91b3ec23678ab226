import type {
  LiveClaim,
  LiveNode,
  LivePod,
  LiveVolume,
  PodVolume,
  VolumeFacts,
} from "../../../../../agent/core/affinity/facts.ts";
import { type VolumeVerdict, volumeVerdict } from "../../../../../agent/core/affinity/volume-verdict.ts";
import type { MountedVolume } from "../../../../../common/storage/volume-identity.ts";
import {
  claimWith,
  factsWith,
  mountsWith,
  nodeWith,
  podWith,
  pvWith,
  read,
  volumeFactsWith,
  volumeWith,
} from "./facts.ts";

/** What is other than in the look that is to be rejected. */
export interface Change {
  readonly volume?: Partial<PodVolume>;
  readonly pod?: Partial<LivePod>;
  readonly claim?: Partial<LiveClaim>;
  readonly pv?: Partial<LiveVolume>;
  readonly node?: Partial<LiveNode>;
  readonly read?: Partial<VolumeFacts>;
  readonly mountedVolumes?: readonly MountedVolume[];
}

/** The verdict on the volume of zone b on the node of zone a, but for what is changed. */
export function verdictOn(change: Change): VolumeVerdict {
  const volume = volumeWith(change.volume);
  const pod = podWith({ volumes: [volume], ...change.pod });
  const looked = volumeFactsWith({
    volume,
    claim: read(claimWith(change.claim)),
    pv: read(pvWith(change.pv)),
    ...change.read,
  });
  const facts = factsWith({
    pod: read(pod),
    volumes: [looked],
    node: read(nodeWith(change.node)),
    mounts: mountsWith(...(change.mountedVolumes ?? [])),
  });
  return volumeVerdict(volume, pod, facts);
}

export type Row = Change & { readonly name: string; readonly finding: string };

/** A PV of an in-tree plugin. */
export const inTree = (plugin: string) => ({ source: { kind: "in-tree", plugin } as const });
