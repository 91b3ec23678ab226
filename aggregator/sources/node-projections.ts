import * as v from "valibot";
import type { Stored } from "../../common/kube/store.ts";
import { factText } from "../../common/storage/node-facts.ts";
import { parseTimestamp } from "../../common/storage/timestamp.ts";
import { type Attachment, attachedKey, type Node } from "../core/cluster-objects.ts";
import { hashHandle, identify, metadata } from "./object-metadata.ts";

/** Project Nodes and VolumeAttachments to the few fields that decisions need. Each throws `ValiError` for anything else. */

const nodeInfo = v.object({
  bootID: v.optional(v.string()),
  osImage: v.optional(v.string()),
  containerRuntimeVersion: v.optional(v.string()),
});

const condition = v.object({ type: v.string(), status: v.string(), lastHeartbeatTime: v.nullish(v.string()) });

const nodeSchema = v.object({
  metadata,
  spec: v.optional(v.object({ taints: v.nullish(v.array(v.object({ key: v.optional(v.string()) }))) }), {}),
  status: v.optional(
    v.object({
      nodeInfo: v.optional(nodeInfo, {}),
      conditions: v.nullish(v.array(condition)),
      volumesInUse: v.nullish(v.array(v.string())),
    }),
    {},
  ),
});

/** From Kubernetes: k8s.io/api/core/v1/well_known_taints.go and well_known_labels.go. */
const OUT_OF_SERVICE = "node.kubernetes.io/out-of-service";
const OS = "kubernetes.io/os";

export function projectNode(object: unknown): Node & Stored {
  const { metadata: meta, spec, status } = v.parse(nodeSchema, object);
  const { bootID, osImage, containerRuntimeVersion } = status.nodeInfo ?? {};
  const ready = status.conditions?.find(({ type }) => type === "Ready");
  const inUse = (status.volumesInUse ?? []).flatMap(attachedKeyIn);
  return {
    ...identify(meta),
    bootId: bootID || undefined,
    labels: meta.labels ?? undefined,
    createdAtMs: parseTimestamp(meta.creationTimestamp),
    os: meta.labels?.[OS],
    isReady: ready?.status === "True",
    isUnreachable: ready?.status === "Unknown",
    heartbeat: ready?.lastHeartbeatTime ?? undefined,
    // With any effect, like Kubernetes' pod garbage collector and attach-detach controller.
    isOutOfService: spec.taints?.some(({ key }) => key === OUT_OF_SERVICE) ?? false,
    ...(inUse.length > 0 && { volumesInUse: inUse }),
    distribution: factText(osImage),
    containerRuntime: factText(containerRuntimeVersion),
  };
}

/** A CSI volume's unique name is `kubernetes.io/csi/<driver>^<handle>`. The names of other plugins lead to no PV. */
function attachedKeyIn(uniqueName: string): readonly string[] {
  const [, driver, handle] = /^kubernetes\.io\/csi\/([^^]+)\^(.+)$/s.exec(uniqueName) ?? [];
  return driver === undefined || handle === undefined ? [] : [attachedKey({ driver, handleHash: hashHandle(handle) })];
}

const attachmentSchema = v.object({
  metadata,
  spec: v.object({
    nodeName: v.string(),
    source: v.object({ persistentVolumeName: v.nullish(v.string()) }),
  }),
});

/** An inline volume's attachment belongs to no PV. */
export function projectAttachment(object: unknown): Attachment & Stored {
  const { metadata: meta, spec } = v.parse(attachmentSchema, object);
  return { ...identify(meta), node: spec.nodeName, volume: spec.source.persistentVolumeName ?? undefined };
}
