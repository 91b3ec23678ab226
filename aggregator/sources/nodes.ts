import type { KubeParts } from "../../common/kube/client.ts";
import { createInformer } from "../../common/kube/informer.ts";
import { movedValues } from "../../common/kube/object-index.ts";
import { attachedKey, type Node, type Volume } from "../core/cluster-objects.ts";
import type { ClusterListener } from "./cluster-parts.ts";
import { projectNode } from "./projections.ts";
import type { Volumes } from "./volumes.ts";

/** All nodes, and the volumes that their status shows attached or in use. */
export function createNodes(parts: KubeParts & { readonly volumes: Volumes }, { onClaim, onNode }: ClusterListener) {
  const { volumes } = parts;
  const attached = (node: Node): readonly string[] | undefined => node.attached;
  const informer = createInformer(parts, {
    collection: { path: "/api/v1/nodes", listsFrom: "quorum" },
    project: projectNode,
    indexes: { attached },
    onChange: (change) => {
      onNode(change.object.key);
      // An `attachedKey` ends with the hash. Claims of another driver's volumes may be decided, too.
      const hashes = movedValues(change, attached).map((key) => key.slice(key.lastIndexOf("/") + 1));
      for (const { claim } of hashes.flatMap((hash) => volumes.informer.by("hash", hash)))
        if (claim !== undefined) onClaim(claim.key);
    },
  });
  return {
    informer,
    lookups: {
      node: informer.get,
      nodeNames: (): readonly string[] => [...informer.all()].map(({ key }) => key),
      nodeCount: informer.size,
      /** The watch of nodes has come to this resource version; undefined while they have to be listed anew. */
      nodesReached: informer.resourceVersion,
      /** Lists the nodes anew unless their watch has come to this resource version. */
      ensureNodes: informer.ensureAtLeast,
      /** Nodes whose status shows the volume, or one of the same handle, attached or in use. */
      nodesWith: ({ csi }: Volume): readonly string[] =>
        csi === undefined ? [] : informer.by("attached", attachedKey(csi)).map(({ key }) => key),
    },
  };
}
