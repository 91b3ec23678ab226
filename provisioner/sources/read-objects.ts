import * as v from "valibot";
import {
  BETA_STORAGE_PROVISIONER,
  BIND_COMPLETED,
  HOSTNAME,
  NODE_LABEL,
  POOL,
  POOL_ID,
  PROVISIONED_BY,
  SELECTED_NODE,
  STORAGE_PROVISIONER,
} from "../../common/storage/local-volumes.ts";
import { parseBytes } from "../../common/storage/quantity.ts";
import { NOTES, type StoredCapacity } from "../core/capacity.ts";
import type { Claim, ClaimMetadata, LocalNode, StorageClass, Volume } from "../core/objects.ts";

/** Project API objects to the fields that the provisioner needs. Each throws `ValiError` for any other object. */

const text = v.nullish(v.string());
const texts = v.nullish(v.array(v.string()));
const map = v.nullish(v.record(v.string(), v.string()));
const identity = {
  name: v.pipe(v.string(), v.minLength(1)),
  uid: v.pipe(v.string(), v.minLength(1)),
  resourceVersion: v.pipe(v.string(), v.minLength(1)),
  deletionTimestamp: text,
  labels: map,
  annotations: map,
};
const storage = v.nullish(v.object({ storage: text }));

const namespaced = v.object({ ...identity, namespace: v.pipe(v.string(), v.minLength(1)) });

const claimSchema = v.object({
  metadata: namespaced,
  spec: v.object({
    accessModes: texts,
    selector: v.nullish(v.unknown()),
    dataSource: v.nullish(v.unknown()),
    dataSourceRef: v.nullish(v.unknown()),
    storageClassName: text,
    volumeName: text,
    volumeMode: text,
    resources: v.nullish(v.object({ requests: storage, limits: storage })),
  }),
  status: v.nullish(v.object({ capacity: storage, allocatedResourceStatuses: storage })),
});

type Annotations = Readonly<Record<string, string>> | null | undefined;

function provisionerIn(annotations: Annotations): string | undefined {
  return annotations?.[STORAGE_PROVISIONER] ?? annotations?.[BETA_STORAGE_PROVISIONER];
}

export function readClaim(object: unknown): Claim {
  const { metadata, spec, status } = v.parse(claimSchema, object);
  const { namespace, name, uid, resourceVersion, annotations } = metadata;
  return {
    ...{ namespace, name, uid, resourceVersion },
    isDeleting: Boolean(metadata.deletionTimestamp),
    provisioner: provisionerIn(annotations),
    selectedNode: annotations?.[SELECTED_NODE],
    storageClass: spec.storageClassName ?? undefined,
    volumeName: spec.volumeName ?? "",
    volumeMode: spec.volumeMode ?? "Filesystem",
    accessModes: spec.accessModes ?? [],
    requestBytes: parseBytes(spec.resources?.requests?.storage ?? undefined),
    limitBytes: parseBytes(spec.resources?.limits?.storage ?? undefined),
    hasSelector: spec.selector != null,
    hasDataSource: spec.dataSource != null || spec.dataSourceRef != null,
    capacityBytes: parseBytes(status?.capacity?.storage ?? undefined),
    resizeStatus: status?.allocatedResourceStatuses?.storage ?? undefined,
  };
}

const claimMetadata = v.object({ metadata: namespaced });

/** For a whole claim, or for its metadata alone. */
export function readClaimMetadata(object: unknown): ClaimMetadata & { readonly resourceVersion: string } {
  const { namespace, name, uid, resourceVersion, annotations } = v.parse(claimMetadata, object).metadata;
  const provisioner = provisionerIn(annotations);
  const isBound = annotations?.[BIND_COMPLETED] !== undefined;
  return { namespace, name, uid, resourceVersion, provisioner, selectedNode: annotations?.[SELECTED_NODE], isBound };
}

const volumeSchema = v.object({
  metadata: v.object({ ...identity, finalizers: texts }),
  spec: v.object({
    capacity: storage,
    claimRef: v.nullish(v.object({ namespace: text, name: text, uid: text })),
    local: v.nullish(v.object({ path: text })),
    persistentVolumeReclaimPolicy: text,
    storageClassName: text,
    volumeMode: text,
  }),
  status: v.nullish(v.object({ phase: text })),
});

export function readVolume(object: unknown): Volume {
  const { metadata, spec, status } = v.parse(volumeSchema, object);
  const { name, uid, resourceVersion, annotations, labels } = metadata;
  const { namespace, name: claimName, uid: claimUid } = spec.claimRef ?? {};
  return {
    ...{ name, uid, resourceVersion },
    isDeleting: Boolean(metadata.deletionTimestamp),
    finalizers: metadata.finalizers ?? [],
    provisionedBy: annotations?.[PROVISIONED_BY],
    pool: annotations?.[POOL],
    poolId: annotations?.[POOL_ID],
    node: labels?.[NODE_LABEL],
    path: spec.local?.path ?? undefined,
    storageClass: spec.storageClassName ?? "",
    volumeMode: spec.volumeMode ?? "Filesystem",
    policy: spec.persistentVolumeReclaimPolicy ?? "Retain",
    phase: status?.phase ?? "",
    capacityBytes: parseBytes(spec.capacity?.storage ?? undefined),
    claim:
      spec.claimRef == null ? undefined : { namespace: namespace ?? "", name: claimName ?? "", uid: claimUid ?? "" },
  };
}

const classSchema = v.object({
  metadata: v.object(identity),
  provisioner: v.string(),
  parameters: map,
  reclaimPolicy: text,
  mountOptions: texts,
  volumeBindingMode: text,
});

export function readClass(object: unknown): StorageClass & { readonly uid: string; readonly resourceVersion: string } {
  const { metadata, provisioner, parameters, reclaimPolicy, mountOptions, volumeBindingMode } = v.parse(
    classSchema,
    object,
  );
  const { name, uid, resourceVersion } = metadata;
  return {
    ...{ name, uid, resourceVersion, provisioner },
    parameters: parameters ?? {},
    bindingMode: volumeBindingMode ?? "Immediate",
    reclaimPolicy: reclaimPolicy ?? "Delete",
    mountOptions: mountOptions ?? [],
  };
}

const nodeSchema = v.object({ metadata: v.object(identity) });

export function readNode(object: unknown): LocalNode & { readonly resourceVersion: string } {
  const { name, uid, resourceVersion, labels } = v.parse(nodeSchema, object).metadata;
  return { name, uid, resourceVersion, hostname: labels?.[HOSTNAME] };
}

const capacitySchema = v.object({
  metadata: namespaced,
  storageClassName: v.string(),
  nodeTopology: v.nullish(v.object({ matchLabels: map, matchExpressions: v.nullish(v.array(v.unknown())) })),
  capacity: text,
  maximumVolumeSize: text,
});

/** The objects of a list. */
export function readItems(object: unknown): readonly unknown[] {
  return v.parse(v.object({ items: v.nullish(v.array(v.unknown()), []) }), object).items ?? [];
}

/** The node label of an object. */
export function readNodeLabel(object: unknown): string | undefined {
  return v.parse(v.object({ metadata: v.object({ labels: map }) }), object).metadata.labels?.[NODE_LABEL];
}

export function readCapacity(object: unknown): StoredCapacity {
  const { metadata, storageClassName, nodeTopology, capacity, maximumVolumeSize } = v.parse(capacitySchema, object);
  const { name, uid, resourceVersion, annotations } = metadata;
  const others = Object.keys(nodeTopology?.matchLabels ?? {}).length + (nodeTopology?.matchExpressions?.length ?? 0);
  const hostname = others === 1 ? nodeTopology?.matchLabels?.[HOSTNAME] : undefined;
  const [bytes, most] = [parseBytes(capacity ?? undefined), parseBytes(maximumVolumeSize ?? undefined)];
  return {
    name,
    uid,
    resourceVersion,
    storageClass: storageClassName,
    hostname,
    bytes: bytes === most ? bytes : undefined,
    notes: Object.fromEntries(
      NOTES.flatMap((key) => {
        const note = annotations?.[key];
        return note === undefined ? [] : [[key, note] as const];
      }),
    ),
  };
}
