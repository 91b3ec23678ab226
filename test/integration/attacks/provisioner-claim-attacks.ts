import { create, patch, remove } from "./attack.ts";
import { CLAIMS, claimOf, claims, NO_NODE, OTHER_NODES, type ProvisionerAttack } from "./provisioner-attack.ts";
import { RBAC } from "./refusal.ts";

export const ON_CLAIMS: readonly ProvisionerAttack[] = [
  { name: "makes a claim", ask: create(CLAIMS, claimOf({ name: "evil" })), refusedBy: RBAC },
  { name: "deletes a claim", ask: remove(`${CLAIMS}/data`), refusedBy: RBAC },
  {
    name: "takes another node off a claim",
    ask: patch(`${CLAIMS}/other-node`, NO_NODE),
    refusedBy: claims("touch a claim of another provisioner or of another node"),
  },
  {
    name: "takes the node off another provisioner's claim",
    ask: patch(`${CLAIMS}/foreign`, NO_NODE),
    refusedBy: claims("touch a claim of another provisioner or of another node"),
  },
  {
    name: "takes the node off a claim that has a volume",
    ask: patch(`${CLAIMS}/bound`, NO_NODE),
    refusedBy: claims("change another annotation"),
  },
  {
    name: "sends a claim to another node",
    ask: patch(`${CLAIMS}/data`, { metadata: { annotations: { "volume.kubernetes.io/selected-node": "node-2" } } }),
    refusedBy: claims("change another annotation"),
  },
  {
    name: "changes an annotation that others set",
    ask: patch(`${CLAIMS}/data`, { metadata: { annotations: { theirs: "changed" } } }),
    refusedBy: claims("change another annotation"),
  },
  {
    name: "labels a claim",
    ask: patch(`${CLAIMS}/data`, { metadata: { labels: { a: "b" } } }),
    refusedBy: claims("change anything of a claim's metadata"),
  },
  {
    name: "takes the finalizer of a claim away",
    ask: patch(`${CLAIMS}/data`, { metadata: { finalizers: [] } }),
    refusedBy: claims("change anything of a claim's metadata"),
  },
  {
    name: "binds a claim to another volume",
    ask: patch(`${CLAIMS}/data`, { spec: { volumeName: OTHER_NODES } }),
    refusedBy: claims("change the spec"),
  },
  {
    name: "says how large a volume is that is not its own",
    ask: patch(`${CLAIMS}/foreign/status`, { status: { capacity: { storage: "9Gi" } } }),
    refusedBy: claims("touch a claim of another provisioner or of another node"),
  },
  {
    name: "says how large a volume is that is not there",
    ask: patch(`${CLAIMS}/data/status`, { status: { capacity: { storage: "9Gi" } } }),
    refusedBy: claims("change more of a claim's status"),
  },
  {
    name: "says how large a volume is with a token of no node, where the claim names none",
    by: "no node",
    ask: patch(`${CLAIMS}/unplaced/status`, { status: { capacity: { storage: "9Gi" } } }),
    refusedBy: claims("make or delete claims, nor act by a token that names no node"),
  },
  {
    name: "calls a claim unused",
    ask: patch(`${CLAIMS}/bound/status`, {
      status: { conditions: [{ type: "mooring.dev/Unused", status: "True", reason: "Evil" }] },
    }),
    refusedBy: claims("change another condition"),
  },
];
