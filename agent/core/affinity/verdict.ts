import type { AffinityLook, PodVolume } from "./facts.ts";

/**
 * What is known of one of the pod's volumes:
 * - `unused`: no container mounts or maps it, so the kubelet never touches it;
 * - `right`: its PV's affinity admits the node, or there is none;
 * - `wrong`: it excludes the node, and nothing of the volume is here;
 * - `wrong-attached`: it excludes the node, but the volume is attached to the node or staged on it;
 * - `wrong-held`: it excludes the node, but this pod has it mounted;
 * - `unknown`: one of that cannot be told.
 */
export type VolumeFinding = "unused" | "right" | "wrong" | "wrong-attached" | "wrong-held" | "unknown";

/** The verdict on one volume. `why` is a plain sentence for the log, the event and the annotation. */
export interface VolumeVerdict {
  readonly finding: VolumeFinding;
  readonly volume: PodVolume;
  /** The PV's name, where the claim could be followed to it. */
  readonly pv: string | undefined;
  readonly why: string;
}

/**
 * The verdict on a pod:
 * - `reject`: each condition for it holds, on what was read for it;
 * - `attached`: as `reject`, but the volume was attached or staged: to be reported after a whole mount wait (2 min 3 s), rejected only when
 *   that is asked for;
 * - `allow`: nothing to be done, now;
 * - `unknown`: something that counts is not known, so nothing is done.
 * `why` tells it for the whole pod, each of `volumes` for one volume; these are there for every pod that could be read, so that a running
 * one whose PV no longer admits the node can be told of.
 */
export interface AffinityVerdict {
  readonly kind: "reject" | "attached" | "allow" | "unknown";
  readonly why: string;
  readonly volumes: readonly VolumeVerdict[];
}

/** Judges a pod: `reject` only if every condition for it holds on what was read. */
export function affinityVerdict(look: AffinityLook): AffinityVerdict {
  return {
    kind: "unknown",
    why: "no condition has been judged",
    volumes: look.volumes.map(({ volume }) => ({
      finding: "unknown",
      volume,
      pv: undefined,
      why: "no condition has been judged",
    })),
  };
}

/** The volumes whose affinity excludes the node, wherever they are mounted. */
export function misplacedVolumes({ volumes }: AffinityVerdict): readonly VolumeVerdict[] {
  return volumes.filter(
    ({ finding }) => finding === "wrong" || finding === "wrong-attached" || finding === "wrong-held",
  );
}
