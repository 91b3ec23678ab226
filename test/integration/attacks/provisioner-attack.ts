import type { ApiRequest } from "../../rig/control-plane/api.ts";
import { volumeOf } from "./provisioner-objects.ts";
import { SHOP } from "./victims.ts";

/** A write with the token of node-1's provisioner. */
export interface ProvisionerWrite {
  /** What it does, as a sentence goes on. */
  readonly name: string;
  readonly ask: ApiRequest;
}

export interface ProvisionerAttack extends ProvisionerWrite {
  /** The token names node-1 unless it is to name none. */
  readonly by?: "node-1" | "no node";
  /** The begin of what `whoRefused` says. */
  readonly refusedBy: string;
}

export const VOLUMES = "/api/v1/persistentvolumes";
export const CLAIMS = `${SHOP}/persistentvolumeclaims`;
export const uidOf = (n: number): string => `${String(n).repeat(8)}-2222-3333-4444-555555555555`;
export const volumes = (rule: string): string => `mooring-provisioner-volumes: a provisioner must not ${rule}`;
export const claims = (rule: string): string => `mooring-provisioner-claims: a provisioner must not ${rule}`;
export const capacity = (rule: string): string => `mooring-provisioner-capacity: a provisioner must not ${rule}`;
export const fence = (rule: string): string => `mooring-provisioner-fence: a provisioner must not ${rule}`;

/** Volumes that are there: of node-1, of node-2, of another provisioner, with another claim than it was made for, and one somewhere else. */
export const OWN = `pvc-${uidOf(1)}`;
export const OTHER_NODES = `pvc-${uidOf(2)}`;
export const FOREIGN = `pvc-${uidOf(3)}`;
export const RESTORED = `pvc-${uidOf(4)}`;
export const FILES = `pvc-${uidOf(5)}`;
export const VOLUMES_THERE: readonly object[] = [
  volumeOf("node-1", { uid: uidOf(1) }),
  volumeOf("node-2", { uid: uidOf(2) }),
  volumeOf("node-1", { uid: uidOf(3), by: "rancher.io/local-path" }),
  volumeOf("node-1", { uid: uidOf(6), name: RESTORED }),
  volumeOf("node-1", { uid: uidOf(5), path: "/var/files" }),
];

interface ClaimWish {
  readonly name: string;
  readonly by?: string;
  readonly node?: string | undefined;
}

export function claimOf({ name, by = "local.mooring.dev", node }: ClaimWish): object {
  const annotations = {
    "volume.kubernetes.io/storage-provisioner": by,
    ...(node === undefined ? {} : { "volume.kubernetes.io/selected-node": node }),
    theirs: "kept",
  };
  const spec = {
    accessModes: ["ReadWriteOnce"],
    storageClassName: "local",
    resources: { requests: { storage: "1Gi" } },
  };
  return { metadata: { name, annotations }, spec };
}

export const CLAIMS_THERE: readonly object[] = [
  claimOf({ name: "data", node: "node-1" }),
  claimOf({ name: "other-node", node: "node-2" }),
  claimOf({ name: "foreign", by: "rancher.io/local-path", node: "node-1" }),
];
/** They are bound to the volumes that a provisioner makes for them; from the second one its owner took the node. */
export const BOUND_CLAIMS_THERE: readonly object[] = [
  claimOf({ name: "bound", node: "node-1" }),
  claimOf({ name: "unplaced" }),
];

/** Takes the selected node off a claim. */
export const NO_NODE = { metadata: { annotations: { "volume.kubernetes.io/selected-node": null } } };
/** The state of a pool, on the CSIStorageCapacity object of a node. */
export const POOL_NOTES = { "local.mooring.dev/pool": "default", "local.mooring.dev/pool-state": "lost" };
