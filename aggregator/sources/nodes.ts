import type { KubeParts } from "../../common/kube/client.ts";
import { IndexMap } from "../../common/kube/index-map.ts";
import { createInformer, type Informer } from "../../common/kube/informer.ts";
import { SharedTexts } from "../../common/kube/shared-texts.ts";
import type { StoreChange, Stored } from "../../common/kube/store.ts";
import { type Attachment, attachedKey, type Node, type Volume } from "../core/cluster-objects.ts";
import { ownText } from "./kept.ts";
import { projectAttachment, projectNode } from "./node-projections.ts";
import type { Volumes } from "./volumes.ts";

type StoredNode = Node & Stored;
type StoredAttachment = Attachment & Stored;

/** All nodes, and what the API says is attached to them. */
export interface Nodes {
  readonly informer: Informer<StoredNode>;
  readonly attachments: Informer<StoredAttachment>;
  readonly names: () => readonly string[];
  /**
   * Nodes that the volume is, or is to be, attached to by a VolumeAttachment, or is in use on by `status.volumesInUse`; so are
   * all volumes with one handle, which Kubernetes attaches as one.
   */
  readonly withVolume: (volume: Volume) => readonly string[];
}

/** Whom the nodes tell. */
export interface NodeListener {
  /** A Node object came, changed or went. */
  readonly onNode: (name: string) => void;
  /** The claim's volume is on another set of nodes than before. */
  readonly onClaim: (key: string) => void;
}

interface Indexes {
  /** Names of nodes by `attachedKey`. */
  readonly inUse: IndexMap;
  /** Keys of attachments by the name of the volume. */
  readonly byVolume: IndexMap;
}

export function createNodes(
  parts: KubeParts,
  { volumes, ...listener }: NodeListener & { readonly volumes: Volumes },
): Nodes {
  const indexes: Indexes = { inUse: new IndexMap(), byVolume: new IndexMap() };
  const tellClaims = (of: readonly Volume[]): void => {
    for (const { claim } of of) if (claim !== undefined) listener.onClaim(claim.key);
  };
  const informer = createInformer(parts, {
    collection: { path: "/api/v1/nodes", listsFrom: "quorum" },
    project: projectNode,
    onChange: (change) => {
      const moved = trackInUse(indexes, change);
      listener.onNode(change.object.key);
      for (const key of moved) tellClaims(volumes.attachedAs(key));
    },
  });
  const texts = new SharedTexts();
  const attachments = createInformer(parts, {
    collection: { path: "/apis/storage.k8s.io/v1/volumeattachments", listsFrom: "quorum" },
    project: projectAttachment,
    keep: (attachment) => keptAttachment(attachment, texts),
    onChange: (change) => {
      const moved = trackAttachment(indexes, change);
      if (moved !== undefined) tellClaims(attachedWith(moved, volumes));
    },
  });
  return {
    informer,
    attachments,
    names: () => [...informer.all()].map(({ key }) => key),
    withVolume: ({ key, csi }) => {
      const keys = attachedWith(key, volumes).flatMap((volume) => [...indexes.byVolume.get(volume.key)]);
      const attached = keys.map((attachment) => attachments.get(attachment)?.node).filter((node) => node !== undefined);
      return [...new Set([...attached, ...(csi === undefined ? [] : indexes.inUse.get(attachedKey(csi)))])];
    },
  };
}

/** Nobody else has its name or its UID. */
function keptAttachment(
  { key, uid, resourceVersion, node, volume }: StoredAttachment,
  texts: SharedTexts,
): StoredAttachment {
  texts.share([node, volume]);
  return { key, uid, resourceVersion: ownText(resourceVersion), node, volume };
}

/** The volume of this name and those with its handle: an attachment names any one of them. */
function attachedWith(name: string, { informer, attachedAs }: Volumes): readonly Volume[] {
  const volume = informer.get(name);
  if (volume?.csi !== undefined) return attachedAs(attachedKey(volume.csi));
  return volume === undefined ? [] : [volume];
}

/** Answers the volumes that came into use on the node, or went out of it. */
function trackInUse({ inUse }: Indexes, change: StoreChange<StoredNode>): Iterable<string> {
  const before = new Set(change.kind === "added" ? [] : change.previous.volumesInUse);
  const after = new Set(change.kind === "deleted" ? [] : change.object.volumesInUse);
  for (const key of before.difference(after)) inUse.remove(key, change.object.key);
  for (const key of after.difference(before)) inUse.add(key, change.object.key);
  return before.symmetricDifference(after);
}

/** Answers the volume that was attached or detached. Neither the node nor the volume of an attachment can be changed. */
function trackAttachment({ byVolume }: Indexes, change: StoreChange<StoredAttachment>): string | undefined {
  const { volume, key } = change.object;
  if (volume === undefined || change.kind === "updated") return undefined;
  byVolume[change.kind === "deleted" ? "remove" : "add"](volume, key);
  return volume;
}
