import type { V1PersistentVolume } from "@kubernetes/client-node";
import * as v from "valibot";
import type { KubeClient } from "../../../common/kube/client.ts";
import { readIdentity } from "../../../common/kube/identity.ts";
import { createInformer, type Informer } from "../../../common/kube/informer.ts";
import type { Stored } from "../../../common/kube/store.ts";
import type { ControlPlane } from "../control-plane/control-plane.ts";
import type { Owner } from "../process/owner.ts";
import { type Controller, startController, unlessStatus } from "./controller.ts";

const VOLUMES = "/api/v1/persistentvolumes";
const CLAIMS = "/api/v1/persistentvolumeclaims";
/** Set by the PV controller on a claim that is to be provisioned; where the class waits for a consumer, once the node is known. */
const PROVISIONER = "volume.kubernetes.io/storage-provisioner";
const PROVISIONED_BY = "pv.kubernetes.io/provisioned-by";

const claim = v.object({
  metadata: v.object({
    namespace: v.string(),
    name: v.string(),
    uid: v.string(),
    annotations: v.optional(v.record(v.string(), v.string()), {}),
    deletionTimestamp: v.optional(v.string()),
  }),
  spec: v.object({
    storageClassName: v.optional(v.string()),
    volumeName: v.optional(v.string(), ""),
    volumeMode: v.optional(v.string(), "Filesystem"),
    accessModes: v.optional(v.array(v.string()), []),
    resources: v.object({ requests: v.record(v.string(), v.string()) }),
  }),
});

const volume = v.object({
  metadata: v.object({
    annotations: v.optional(v.record(v.string(), v.string()), {}),
    deletionTimestamp: v.optional(v.string()),
  }),
  spec: v.object({ persistentVolumeReclaimPolicy: v.optional(v.string()) }),
  status: v.optional(v.object({ phase: v.optional(v.string()) }), {}),
});

/** What a claim wants made; nothing when this driver has nothing to do for it. */
interface WantingClaim extends Stored {
  readonly volume: V1PersistentVolume | undefined;
}

interface MadeVolume extends Stored {
  readonly isToGo: boolean;
}

/** The volume that a claim waits for from this driver; nothing when it waits for none. Throws when it is no claim. */
export function wantedVolume(driver: string, object: unknown): V1PersistentVolume | undefined {
  const { metadata, spec } = v.parse(claim, object);
  const { namespace, name, uid, annotations, deletionTimestamp } = metadata;
  if (annotations[PROVISIONER] !== driver || spec.volumeName !== "" || deletionTimestamp !== undefined)
    return undefined;
  return {
    metadata: { name: `pvc-${uid}`, annotations: { [PROVISIONED_BY]: driver } },
    spec: {
      accessModes: spec.accessModes,
      capacity: spec.resources.requests,
      claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace, name, uid },
      csi: { driver, volumeHandle: `pvc-${uid}` },
      persistentVolumeReclaimPolicy: "Delete",
      volumeMode: spec.volumeMode,
      ...(spec.storageClassName === undefined ? {} : { storageClassName: spec.storageClassName }),
    },
  };
}

/** Whether a volume was made by this driver's provisioner and nobody needs it any more. Throws when it is no volume. */
export function isToBeDeleted(driver: string, object: unknown): boolean {
  const { metadata, spec, status } = v.parse(volume, object);
  return (
    metadata.annotations[PROVISIONED_BY] === driver &&
    metadata.deletionTimestamp === undefined &&
    spec.persistentVolumeReclaimPolicy === "Delete" &&
    status.phase === "Released"
  );
}

/**
 * Plays external-provisioner for a driver: makes a volume for each claim of its classes and deletes it when it is released. Left
 * out: topology, parameters, its finalizer, and the wait for the detachment before a deletion; the contents go with the run.
 */
export async function startProvisioner(
  owner: Owner,
  plane: ControlPlane,
  { driver }: { readonly driver: string },
): Promise<Controller> {
  let claims: Informer<WantingClaim> | undefined;
  let volumes: Informer<MadeVolume> | undefined;
  const work = async (client: KubeClient, key: string, signal: AbortSignal): Promise<void> => {
    const wanted = claims?.get(key)?.volume;
    if (wanted !== undefined) {
      await unlessStatus(409, client.request({ method: "POST", path: VOLUMES, body: wanted }, signal));
    }
    const made = volumes?.get(key);
    if (made?.isToGo !== true) return;
    const body = { preconditions: { uid: made.uid } };
    await unlessStatus(404, client.request({ method: "DELETE", path: `${VOLUMES}/${key}`, body }, signal));
  };
  return await startController(owner, plane, {
    name: `provisioner-${driver}`,
    work,
    // A claim's key has a namespace, a volume's has none: they cannot be mixed up.
    follow: (parts, add) => {
      claims = createInformer(parts, {
        collection: { path: CLAIMS, listsFrom: "quorum" },
        project: (object) => ({ ...identityOf(object), volume: wantedVolume(driver, object) }),
        onChange: ({ object }) => add(object.key),
      });
      volumes = createInformer(parts, {
        collection: { path: VOLUMES, listsFrom: "quorum" },
        project: (object) => ({ ...identityOf(object), isToGo: isToBeDeleted(driver, object) }),
        onChange: ({ object }) => add(object.key),
      });
      return [claims, volumes];
    },
  });
}

function identityOf(object: unknown): Stored {
  const identity = readIdentity(object);
  if (identity === undefined) throw new TypeError("no API object");
  return identity;
}
