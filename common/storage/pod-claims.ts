import * as v from "valibot";

/** The volumes in a pod's spec, as far as they name claims. */
export const podVolumes = v.nullish(
  v.array(
    v.object({
      name: v.string(),
      persistentVolumeClaim: v.nullish(v.object({ claimName: v.string() })),
      ephemeral: v.nullish(v.object({})),
    }),
  ),
);

/** A volume of a pod that names a claim. */
export interface ClaimVolume {
  readonly name: string;
  readonly claim: string;
  /** A generic ephemeral volume: Kubernetes makes its claim, for this pod. */
  readonly isEphemeral: boolean;
}

/** A generic ephemeral volume's claim is called `<pod>-<volume>`. */
export function claimVolumesOf(pod: string, volumes: v.InferOutput<typeof podVolumes>): readonly ClaimVolume[] {
  return (volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }): readonly ClaimVolume[] => {
    if (persistentVolumeClaim) return [{ name, claim: persistentVolumeClaim.claimName, isEphemeral: false }];
    return ephemeral ? [{ name, claim: `${pod}-${name}`, isEphemeral: true }] : [];
  });
}
