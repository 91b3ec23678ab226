import * as v from "valibot";
import type { KubeParts } from "../../common/kube/client.ts";
import { createInformer, type Informer } from "../../common/kube/informer.ts";
import type { StoreChange, Stored } from "../../common/kube/store.ts";

/** A pod of this node, as far as the agent cares. */
export interface NodePod extends Stored {
  /** True when no container of it will run again: phase Succeeded or Failed. */
  readonly isTerminal: boolean;
  /** Phase Running and not being deleted: nobody should unmount its volumes. */
  readonly isRunning: boolean;
}

const pod = v.object({
  metadata: v.object({
    namespace: v.string(),
    name: v.string(),
    uid: v.string(),
    resourceVersion: v.string(),
    deletionTimestamp: v.nullish(v.string()),
  }),
  status: v.optional(v.object({ phase: v.optional(v.string()) })),
});

function projectPod(object: unknown): NodePod {
  const { metadata, status } = v.parse(pod, object);
  return {
    key: `${metadata.namespace}/${metadata.name}`,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    isTerminal: status?.phase === "Succeeded" || status?.phase === "Failed",
    isRunning: status?.phase === "Running" && !metadata.deletionTimestamp,
  };
}

/**
 * Follows the pods of one node. `onEnd` is called when one of them finished, vanished or no longer runs: the mount table is to
 * be read after that, and the aggregator to be told how far this watch had come before.
 */
export function createNodePods(parts: KubeParts, node: string, onEnd: () => void): Informer<NodePod> {
  return createInformer(parts, {
    collection: { path: "/api/v1/pods", query: { fieldSelector: `spec.nodeName=${node}` }, firstList: "cache" },
    project: projectPod,
    onChange: (change) => {
      if (isEnd(change)) onEnd();
    },
    // A pod may have ended while the watch was down, and the list does not say so.
    onReplaced: onEnd,
  });
}

function isEnd(change: StoreChange<NodePod>): boolean {
  if (change.kind === "deleted") return true;
  const { object } = change;
  if (change.kind === "added") return object.isTerminal;
  const { previous } = change;
  return (object.isTerminal && !previous.isTerminal) || (previous.isRunning && !object.isRunning);
}
