import { describe, expect, it } from "vitest";
import { volumeObject } from "../../../../provisioner/core/volume-object.ts";
import { claimWith, classWith, GiB, POOL_ID, UID, VOLUME } from "../objects.ts";

const provision = { volume: VOLUME, pool: "fast", poolId: POOL_ID, bytes: 5 * GiB, fsType: "xfs" };
const nodeName = "n1";

describe("volumeObject", () => {
  it("contains all that the scheduler, the kubelet and a later deletion need", () => {
    const storageClass = classWith({ mountOptions: ["noatime"], provisioner: "mooring.dev/local" });

    expect(volumeObject(provision, { claim: claimWith(), storageClass, nodeName })).toEqual({
      apiVersion: "v1",
      kind: "PersistentVolume",
      metadata: {
        name: VOLUME,
        labels: { "local.mooring.dev/node": "n1" },
        annotations: {
          "pv.kubernetes.io/provisioned-by": "mooring.dev/local",
          "local.mooring.dev/pool": "fast",
          "local.mooring.dev/pool-id": POOL_ID,
        },
        finalizers: ["external-provisioner.volume.kubernetes.io/finalizer"],
      },
      spec: {
        capacity: { storage: "5Gi" },
        accessModes: ["ReadWriteOnce"],
        volumeMode: "Filesystem",
        claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace: "team", name: "data", uid: UID },
        storageClassName: "local",
        persistentVolumeReclaimPolicy: "Delete",
        mountOptions: ["noatime"],
        local: { path: `/run/mooring/volumes/${VOLUME}`, fsType: "xfs" },
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [
              { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: ["n1"] }] },
            ],
          },
        },
      },
    });
  });

  it("names no filesystem for a block device", () => {
    const { spec } = volumeObject(provision, {
      claim: claimWith({ volumeMode: "Block" }),
      storageClass: classWith(),
      nodeName,
    });

    expect(spec).toMatchObject({ volumeMode: "Block", local: { path: `/run/mooring/volumes/${VOLUME}` } });
    expect(spec.local).not.toHaveProperty("fsType");
  });

  it("has no finalizer on a volume that is to be retained", () => {
    const storageClass = classWith({ reclaimPolicy: "Retain" });

    const { metadata, spec } = volumeObject(provision, { claim: claimWith(), storageClass, nodeName });

    expect([metadata.finalizers, spec.persistentVolumeReclaimPolicy]).toEqual([[], "Retain"]);
  });
});
