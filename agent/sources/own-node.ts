import type { KubeParts } from "../../common/kube/client.ts";
import { createInformer, type Informer } from "../../common/kube/informer.ts";
import type { Stored } from "../../common/kube/store.ts";
import { readNode } from "./affinity-objects.ts";

/** The Node object of this node, as far as the agent watches it. */
export interface OwnNode extends Stored {
  readonly labels: Readonly<Record<string, string>>;
  /** Empty when it is not known. */
  readonly kubeletVersion: string;
}

function projectNode(object: unknown): OwnNode {
  const { name, uid, resourceVersion, labels, kubeletVersion } = readNode(object);
  return { key: name, uid, resourceVersion, labels: labels ?? {}, kubeletVersion };
}

/**
 * Follows the agent's own Node. Calls `onChange` when it is another object, has other labels or another kubelet, and when it is first
 * seen.
 */
export function createOwnNode(parts: KubeParts, node: string, onChange: () => void): Informer<OwnNode> {
  return createInformer(parts, {
    collection: { path: "/api/v1/nodes", query: { fieldSelector: `metadata.name=${node}` }, listsFrom: "cache" },
    project: projectNode,
    onChange: (change) => {
      // The kubelet writes its status every few minutes: that changes nothing here.
      if (change.kind !== "updated" || !isSame(change.previous, change.object)) onChange();
    },
  });
}

function isSame(one: OwnNode, other: OwnNode): boolean {
  return one.uid === other.uid && one.kubeletVersion === other.kubeletVersion && isSameLabels(one.labels, other.labels);
}

function isSameLabels(one: OwnNode["labels"], other: OwnNode["labels"]): boolean {
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && one[key] === other[key])
  );
}
