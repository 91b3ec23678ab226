import { applyObject, patchObject, type WriteOutcome, type WriteTarget } from "../../common/kube/apply.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { SELECTED_NODE } from "../../common/storage/local-volumes.ts";
import { formatSecondsUp } from "../../common/storage/timestamp.ts";
import type { Claim } from "../core/objects.ts";
import { quantityOf } from "../core/sizes.ts";
import { FIELD_MANAGER } from "./delete-object.ts";

/** Writes only to the exact claim, in the exact state, that was decided on. */
export interface ClaimWriter {
  /** Asks the scheduler to choose a node again. */
  readonly dropSelectedNode: (claim: Claim, signal: AbortSignal) => Promise<WriteOutcome>;
  /** The volume is larger, and the kubelet must grow its filesystem. */
  readonly askForResize: (claim: Claim, growth: Growth, signal: AbortSignal) => Promise<WriteOutcome>;
  /** The volume is larger, and has no filesystem. */
  readonly finishResize: (claim: Claim, bytes: number, signal: AbortSignal) => Promise<WriteOutcome>;
}

/** The volume's present size, and since when by the API server's clock. */
export interface Growth {
  readonly bytes: number;
  readonly nowMs: number;
}

export function createClaimWriter(client: KubeClient): ClaimWriter {
  const fieldManager = FIELD_MANAGER;
  return {
    dropSelectedNode: (claim, signal) => {
      const patch = { metadata: { annotations: { [SELECTED_NODE]: null } } };
      return patchObject(client, { target: targetOf(claim), patch, fieldManager }, signal);
    },
    // An apply does not change the conditions of other managers. The kubelet grows a filesystem only with the status NodeResizePending
    // (k/k: pkg/volume/util/operationexecutor/node_expander.go); people and older kubelets read the condition.
    askForResize: (claim, growth, signal) => {
      const options = { fieldManager, force: true };
      return applyObject(
        client,
        { target: statusOf(claim), fields: { status: pendingResize(growth) }, options },
        signal,
      );
    },
    finishResize: (claim, bytes, signal) => {
      const patch = { status: { capacity: { storage: quantityOf(bytes) } } };
      return patchObject(client, { target: statusOf(claim), patch, fieldManager }, signal);
    },
  };
}

function pendingResize({ bytes, nowMs }: Growth): object {
  const condition = {
    type: "FileSystemResizePending",
    status: "True",
    lastTransitionTime: formatSecondsUp(nowMs),
    message: "The kubelet grows the filesystem while a pod uses the volume, or when the next one starts.",
  };
  return {
    allocatedResources: { storage: quantityOf(bytes) },
    allocatedResourceStatuses: { storage: "NodeResizePending" },
    conditions: [condition],
  };
}

function targetOf({ namespace, name, uid, resourceVersion }: Claim): WriteTarget {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/persistentvolumeclaims/${encodeURIComponent(name)}`;
  return { apiVersion: "v1", kind: "PersistentVolumeClaim", path, namespace, name, uid, resourceVersion };
}

function statusOf(claim: Claim): WriteTarget {
  return { ...targetOf(claim), subresource: "status" };
}
