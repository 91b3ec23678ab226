import { createHash } from "node:crypto";
import * as v from "valibot";
import { parseTimestamp } from "../../common/storage/timestamp.ts";
import type {
  LiveClaim,
  LiveCsiDriver,
  LiveCsiNode,
  LiveJob,
  LiveNode,
  LiveVolume,
  LiveVolumeSource,
  PodOwner,
} from "../core/affinity/facts.ts";

/** Project the objects that a decision about node affinity reads to the fields that it needs. Each throws `ValiError` for anything else. */

export const ownerReferences = v.nullish(
  v.array(
    v.object({
      apiVersion: v.string(),
      kind: v.string(),
      name: v.string(),
      uid: v.string(),
      controller: v.nullish(v.boolean()),
    }),
  ),
);

export const identity = {
  name: v.string(),
  uid: v.pipe(v.string(), v.minLength(1)),
  resourceVersion: v.pipe(v.string(), v.minLength(1)),
  deletionTimestamp: v.nullish(v.string()),
  creationTimestamp: v.nullish(v.string()),
  ownerReferences,
};

/** The owner reference of the controller. */
export function controllerIn(references: v.InferOutput<typeof ownerReferences>): PodOwner | undefined {
  const owner = references?.find(({ controller }) => controller === true);
  return owner && { apiVersion: owner.apiVersion, kind: owner.kind, name: owner.name, uid: owner.uid };
}

/** Milliseconds of the API server's wall clock; undefined for an invalid time. */
export function timeIn(text: string | null | undefined): number | undefined {
  return text == null ? undefined : parseTimestamp(text);
}

/**
 * Labels as a map of own members. valibot's records drop keys such as `constructor`, which are valid label names: a node with such a
 * label would look like one without.
 */
const labels = v.nullish(
  v.pipe(
    v.custom<Readonly<Record<string, unknown>>>(
      (input) => typeof input === "object" && input !== null && !Array.isArray(input),
      "labels must be an object",
    ),
    v.rawTransform(({ dataset, addIssue, NEVER }) => {
      const texts = Object.entries(dataset.value).flatMap(([key, value]) =>
        typeof value === "string" ? [[key, value] as const] : [],
      );
      if (texts.length === Object.keys(dataset.value).length) return Object.fromEntries(texts);
      addIssue({ message: "the value of a label must be a text" });
      return NEVER;
    }),
  ),
);

const claim = v.object({
  metadata: v.object({ ...identity, namespace: v.string() }),
  spec: v.nullish(v.object({ volumeName: v.nullish(v.string()) })),
  status: v.nullish(v.object({ phase: v.nullish(v.string()) })),
});

export function readClaim(object: unknown): LiveClaim {
  const { metadata, spec, status } = v.parse(claim, object);
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    uid: metadata.uid,
    phase: status?.phase ?? "",
    isDeleting: metadata.deletionTimestamp != null,
    volume: spec?.volumeName || undefined,
    controllerUid: controllerIn(metadata.ownerReferences)?.uid,
  };
}

/** The members of a PV's spec that are sources: k8s.io/api/core/v1/types.go, `PersistentVolumeSource` (1.37). */
const SOURCES = [
  "awsElasticBlockStore",
  "azureDisk",
  "azureFile",
  "cephfs",
  "cinder",
  "csi",
  "fc",
  "flexVolume",
  "flocker",
  "gcePersistentDisk",
  "glusterfs",
  "hostPath",
  "iscsi",
  "local",
  "nfs",
  "photonPersistentDisk",
  "portworxVolume",
  "quobyte",
  "rbd",
  "scaleIO",
  "storageos",
  "vsphereVolume",
] as const;

const csiSource = v.object({
  driver: v.pipe(v.string(), v.minLength(1)),
  volumeHandle: v.pipe(v.string(), v.minLength(1)),
});

const volume = v.object({
  metadata: v.object(identity),
  spec: v.looseObject({
    nodeAffinity: v.optional(v.unknown()),
    volumeMode: v.nullish(v.string()),
    claimRef: v.nullish(
      v.object({ namespace: v.nullish(v.string()), name: v.nullish(v.string()), uid: v.nullish(v.string()) }),
    ),
  }),
});

export function readVolume(object: unknown): LiveVolume {
  const { metadata, spec } = v.parse(volume, object);
  const { claimRef } = spec;
  return {
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    nodeAffinity: spec.nodeAffinity,
    source: sourceIn(spec),
    mode: spec.volumeMode || "Filesystem",
    claimRef: claimRef
      ? { namespace: claimRef.namespace ?? "", name: claimRef.name ?? "", uid: claimRef.uid || undefined }
      : undefined,
  };
}

function sourceIn(spec: Readonly<Record<string, unknown>>): LiveVolumeSource {
  const [kind, ...others] = SOURCES.filter((name) => spec[name] != null);
  if (kind === undefined || others.length > 0) return { kind: "in-tree", plugin: "" };
  if (kind !== "csi") return { kind: "in-tree", plugin: kind };
  const { driver, volumeHandle: handle } = v.parse(csiSource, spec.csi);
  return { kind: "csi", driver, handle, handleHash: createHash("sha256").update(handle).digest("hex") };
}

const node = v.object({
  metadata: v.object({ ...identity, labels }),
  status: v.nullish(
    v.object({
      volumesAttached: v.nullish(v.array(v.object({ name: v.string() }))),
      nodeInfo: v.nullish(v.object({ kubeletVersion: v.nullish(v.string()) })),
    }),
  ),
});

export function readNode(object: unknown): LiveNode & { readonly resourceVersion: string } {
  const { metadata, status } = v.parse(node, object);
  return {
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    createdAtMs: timeIn(metadata.creationTimestamp),
    isDeleting: metadata.deletionTimestamp != null,
    labels: metadata.labels,
    volumesAttached: (status?.volumesAttached ?? []).map(({ name }) => name),
    kubeletVersion: status?.nodeInfo?.kubeletVersion ?? "",
  };
}

const csiNode = v.object({
  spec: v.nullish(v.object({ drivers: v.nullish(v.array(v.object({ name: v.string() }))) })),
});

export function readCsiNode(object: unknown): LiveCsiNode {
  return { drivers: (v.parse(csiNode, object).spec?.drivers ?? []).map(({ name }) => name) };
}

const csiDriver = v.object({
  metadata: v.object({ name: v.string() }),
  spec: v.nullish(v.object({ attachRequired: v.nullish(v.boolean()) })),
});

export function readCsiDriver(object: unknown): LiveCsiDriver {
  const { metadata, spec } = v.parse(csiDriver, object);
  return { name: metadata.name, isAttachRequired: spec?.attachRequired ?? true };
}

const job = v.object({
  metadata: v.object({ uid: v.string() }),
  spec: v.nullish(v.object({ backoffLimit: v.nullish(v.number()), backoffLimitPerIndex: v.nullish(v.number()) })),
  status: v.nullish(v.object({ failed: v.nullish(v.number()) })),
});

export function readJob(object: unknown): LiveJob {
  const { metadata, spec, status } = v.parse(job, object);
  return {
    uid: metadata.uid,
    backoffLimit: spec?.backoffLimit ?? undefined,
    backoffLimitPerIndex: spec?.backoffLimitPerIndex ?? undefined,
    failed: status?.failed ?? 0,
  };
}
