import { patchObject } from "../../common/kube/apply.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import type { Counter } from "../../common/runtime/metrics.ts";
import { FIELD_MANAGER } from "../../common/storage/claim-status.ts";
import { VOLUME_ANNOTATIONS, type VolumeAnnotations } from "../../common/storage/volume-annotations.ts";
import type { Volume } from "../core/cluster-objects.ts";
import { attempt, type WriteFailure } from "./claim-status-writer.ts";

/** The outcome of a write. */
export type VolumeWriteResult = { readonly kind: "written" } | WriteFailure;

/** Changes Mooring's annotations of exactly the volume, and the state of it, that was decided on. */
export type VolumeWriter = (
  volume: Volume & { readonly resourceVersion: string },
  changes: Partial<VolumeAnnotations>,
  signal: AbortSignal,
) => Promise<VolumeWriteResult>;

/**
 * Writes through the subresource `status`, which leaves the spec alone: a permission for it cannot move or free a volume. A merge patch,
 * unlike an apply, also removes an annotation that another manager owns, such as one from a backup.
 */
export function createVolumeWriter(client: KubeClient, writes: Counter<"outcome">): VolumeWriter {
  return async ({ key, uid, resourceVersion }, changes, signal) => {
    const path = `/api/v1/persistentvolumes/${key}`;
    const identity = { path, subresource: "status", name: key, uid, resourceVersion } as const;
    const target = { apiVersion: "v1", kind: "PersistentVolume", ...identity };
    const patch = { metadata: { annotations: namedBy(changes) } };
    const write = () => patchObject(client, { target, patch, fieldManager: FIELD_MANAGER }, signal);
    const result = await attempt<VolumeWriteResult>(write, () => ({ kind: "written" }));
    writes.increment({ outcome: result.kind });
    return result;
  };
}

/** `null` removes an annotation. */
function namedBy({ ...changes }: Partial<VolumeAnnotations>): Readonly<Record<string, string | null>> {
  const { mountedOn, lastUse } = VOLUME_ANNOTATIONS;
  return {
    ...("mountedOn" in changes && { [mountedOn]: changes.mountedOn ?? null }),
    ...("lastUse" in changes && { [lastUse]: changes.lastUse ?? null }),
  };
}
