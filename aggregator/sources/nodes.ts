import type { KubeParts } from "../../common/kube/client.ts";
import { createInformer } from "../../common/kube/informer.ts";
import { movedValues } from "../../common/kube/object-index.ts";
import { SharedTexts } from "../../common/kube/shared-texts.ts";
import type { Stored } from "../../common/kube/store.ts";
import { type Attachment, attachedKey, type Node, type Volume } from "../core/cluster-objects.ts";
import type { ClusterListener } from "./cluster-parts.ts";
import { projectAttachment, projectNode } from "./projections.ts";
import type { Volumes } from "./volumes.ts";

type StoredAttachment = Attachment & Stored;

/** All nodes, and the volumes that the API shows attached to them. */
export function createNodes(parts: KubeParts & { readonly volumes: Volumes }, { onClaim, onNode }: ClusterListener) {
  const { volumes } = parts;
  const inUse = ({ volumesInUse }: Node): readonly string[] | undefined => volumesInUse;
  const ofVolume = ({ volume }: Attachment): string | undefined => volume;
  const tellClaims = (of: readonly Volume[]): void => {
    for (const { claim } of of) if (claim !== undefined) onClaim(claim.key);
  };
  const informer = createInformer(parts, {
    collection: { path: "/api/v1/nodes", listsFrom: "quorum" },
    project: projectNode,
    indexes: { inUse },
    onChange: (change) => {
      onNode(change.object.key);
      // An `attachedKey` ends with the hash. Claims of another driver's volumes may be decided, too.
      for (const key of movedValues(change, inUse))
        tellClaims(volumes.informer.by("hash", key.slice(key.lastIndexOf("/") + 1)));
    },
  });
  const texts = new SharedTexts();
  const attachments = createInformer(parts, {
    collection: { path: "/apis/storage.k8s.io/v1/volumeattachments", listsFrom: "quorum" },
    project: projectAttachment,
    // Names and UIDs of attachments are unique: sharing them would save nothing. Each field by its name: V8 stores spread fields in a
    // second object, 40 bytes more.
    keep: ({ key, uid, resourceVersion, node, volume }): StoredAttachment => {
      texts.share([node, volume]);
      return { key, uid, resourceVersion, node, volume };
    },
    indexes: { volume: ofVolume },
    onChange: (change) => {
      for (const name of movedValues(change, ofVolume)) tellClaims(attachedWith(name, volumes));
    },
  });
  return {
    informer,
    attachments,
    lookups: {
      node: informer.get,
      nodeNames: (): readonly string[] => [...informer.all()].map(({ key }) => key),
      /** The watch of nodes has come to this resource version; undefined while they have to be listed anew. */
      nodesReached: informer.resourceVersion,
      /** Lists the nodes anew unless their watch has come to this resource version. */
      ensureNodes: informer.ensureAtLeast,
      /** Nodes that an attachment or `status.volumesInUse` names with the volume, or one of the same handle: they attach as one. */
      nodesWith: ({ key, csi }: Volume): readonly string[] => {
        const attached = attachedWith(key, volumes).flatMap((volume) => attachments.by("volume", volume.key));
        const using = csi === undefined ? [] : informer.by("inUse", attachedKey(csi));
        return [...new Set([...attached.map(({ node }) => node), ...using.map((node) => node.key)])];
      },
    },
  };
}

/** The volume of this name and those with its handle: an attachment names any one of them. */
function attachedWith(name: string, { informer, lookups }: Volumes): readonly Volume[] {
  const volume = informer.get(name);
  if (volume?.csi !== undefined) return lookups.volumesByHandle(volume.csi.driver, volume.csi.handleHash);
  return volume === undefined ? [] : [volume];
}
