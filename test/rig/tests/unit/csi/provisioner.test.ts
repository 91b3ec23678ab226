import { describe, expect, it } from "vitest";
import { isToBeDeleted, wantedVolume } from "../../../csi/provisioner.ts";

const DRIVER = "csi.test";
const asked = { "volume.kubernetes.io/storage-provisioner": DRIVER };

function claim(metadata: object = {}, spec: object = {}): object {
  return {
    metadata: { namespace: "shop", name: "data", uid: "u1", annotations: asked, ...metadata },
    spec: {
      storageClassName: "made",
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: "1Gi" } },
      ...spec,
    },
  };
}

function volume(change: { metadata?: object; policy?: string; phase?: string } = {}): object {
  return {
    metadata: { annotations: { "pv.kubernetes.io/provisioned-by": DRIVER }, ...change.metadata },
    spec: { persistentVolumeReclaimPolicy: change.policy ?? "Delete" },
    status: { phase: change.phase ?? "Released" },
  };
}

describe("wantedVolume", () => {
  it("is made for the claim that the PV controller handed to the driver", () => {
    expect(wantedVolume(DRIVER, claim({}, { volumeMode: "Block" }))).toEqual({
      metadata: { name: "pvc-u1", annotations: { "pv.kubernetes.io/provisioned-by": DRIVER } },
      spec: {
        accessModes: ["ReadWriteOnce"],
        capacity: { storage: "1Gi" },
        claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace: "shop", name: "data", uid: "u1" },
        csi: { driver: DRIVER, volumeHandle: "pvc-u1" },
        persistentVolumeReclaimPolicy: "Delete",
        volumeMode: "Block",
        storageClassName: "made",
      },
    });
  });

  it.each([
    { name: "nobody was asked yet", object: claim({ annotations: {} }) },
    {
      name: "another provisioner was asked",
      object: claim({ annotations: { "volume.kubernetes.io/storage-provisioner": "csi.other" } }),
    },
    { name: "it has its volume", object: claim({}, { volumeName: "pv-1" }) },
    { name: "it is being deleted", object: claim({ deletionTimestamp: "2026-01-01T00:00:00Z" }) },
  ])("is none when $name", ({ object }) => {
    expect(wantedVolume(DRIVER, object)).toBeUndefined();
  });
});

describe("isToBeDeleted", () => {
  it.each([
    { name: "a released volume of ours", object: volume(), isToGo: true },
    { name: "one that is bound", object: volume({ phase: "Bound" }), isToGo: false },
    { name: "one that is to be kept", object: volume({ policy: "Retain" }), isToGo: false },
    { name: "one that is being deleted", object: volume({ metadata: { deletionTimestamp: "x" } }), isToGo: false },
    { name: "one that somebody else made", object: volume({ metadata: { annotations: {} } }), isToGo: false },
  ])("$name: $isToGo", ({ object, isToGo }) => {
    expect(isToBeDeleted(DRIVER, object)).toBe(isToGo);
  });
});
