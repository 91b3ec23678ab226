import * as v from "valibot";
import type { KubeParts } from "../../common/kube/client.ts";
import { createInformer, type Informer } from "../../common/kube/informer.ts";
import type { StoreChange, Stored } from "../../common/kube/store.ts";
import { claimVolumesOf, podVolumes } from "../../common/storage/pod-claims.ts";
import { REJECTED_ANNOTATION, type RejectionMark, rejectionMark } from "../../common/storage/rejection.ts";

/** The few fields of a pod of this node that the agent uses. */
export interface NodePod extends Stored {
  /** True when no container of it will run again: phase Succeeded or Failed. */
  readonly isTerminal: boolean;
  /** Phase Running and not being deleted: nothing should unmount its volumes. */
  readonly isRunning: boolean;
  /** Phase Pending, not being deleted, and without an address of its own: it may be waiting for a volume. */
  readonly isWaiting: boolean;
  /** Names of the claims in its volumes, those of generic ephemeral volumes included. */
  readonly claims: readonly string[];
  /** An agent rejected it; with its owner. */
  readonly rejection: (RejectionMark & { readonly ownerUid: string | undefined }) | undefined;
}

const text = v.nullish(v.string());

const pod = v.object({
  metadata: v.object({
    namespace: v.string(),
    name: v.string(),
    uid: v.string(),
    resourceVersion: v.string(),
    deletionTimestamp: text,
    annotations: v.nullish(v.object({ [REJECTED_ANNOTATION]: v.optional(v.string()) })),
    ownerReferences: v.nullish(v.array(v.object({ uid: v.string(), controller: v.nullish(v.boolean()) }))),
  }),
  spec: v.nullish(
    v.object({
      hostNetwork: v.nullish(v.boolean()),
      volumes: podVolumes,
    }),
  ),
  status: v.nullish(v.object({ phase: text, reason: text, podIP: text })),
});
type Pod = v.InferOutput<typeof pod>;

/** Most pods of a node have none: they share this. */
const NO_CLAIMS: readonly string[] = [];

/** Throws `ValiError` for what is no pod. */
export function projectPod(object: unknown): NodePod {
  const parsed = v.parse(pod, object);
  const { metadata, spec, status } = parsed;
  const phase = status?.phase ?? "";
  const claims = claimVolumesOf(metadata.name, spec?.volumes).map(({ claim }) => claim);
  // The kubelet shows the node's own address as that of a pod in the host's network, before the pod has started.
  const hasAddress = Boolean(status?.podIP) && spec?.hostNetwork !== true;
  return {
    key: `${metadata.namespace}/${metadata.name}`,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    isTerminal: phase === "Succeeded" || phase === "Failed",
    isRunning: phase === "Running" && !metadata.deletionTimestamp,
    isWaiting: phase === "Pending" && !metadata.deletionTimestamp && !hasAddress,
    claims: claims.length === 0 ? NO_CLAIMS : claims,
    rejection: rejectionOf(parsed),
  };
}

function rejectionOf({ metadata, status }: Pod): NodePod["rejection"] {
  const { annotations } = metadata;
  const stated = annotations?.[REJECTED_ANNOTATION];
  if (stated === undefined) return undefined;
  const mark = rejectionMark({
    phase: status?.phase ?? "",
    reason: status?.reason ?? undefined,
    annotations: { [REJECTED_ANNOTATION]: stated },
  });
  return mark && { ...mark, ownerUid: metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid };
}

/** Receives what happens to the pods of a node. */
export interface NodePodsListeners {
  /** One of them finished or vanished, or may have. */
  readonly onEnd: () => void;
  readonly onChange?: (change: StoreChange<NodePod>) => void;
}

/**
 * Follows the pods of one node. When one of them ends, the agent has to scan the mount table afterwards, and to report how far this
 * watch had come before.
 */
export function createNodePods(
  parts: KubeParts,
  node: string,
  { onEnd, onChange = () => {} }: NodePodsListeners,
): Informer<NodePod> {
  return createInformer(parts, {
    collection: { path: "/api/v1/pods", query: { fieldSelector: `spec.nodeName=${node}` }, listsFrom: "cache" },
    project: projectPod,
    onChange: (change) => {
      if (isEnd(change)) onEnd();
      onChange(change);
    },
    // A pod may have ended while the watch was down, and a list does not show that.
    onReplaced: onEnd,
  });
}

function isEnd(change: StoreChange<NodePod>): boolean {
  if (change.kind === "deleted") return true;
  const { object } = change;
  if (change.kind === "added") return object.isTerminal;
  return object.isTerminal && !change.previous.isTerminal;
}
