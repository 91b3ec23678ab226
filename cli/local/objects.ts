import * as v from "valibot";
import { readFindings } from "../../common/storage/findings.ts";
import {
  FINDINGS,
  HOSTNAME,
  NODE_LABEL,
  POOL,
  POOL_ID,
  POOL_PROBLEM,
  POOL_SIZE,
  POOL_STATE,
  PROVISIONED_BY,
  PROVISIONERS,
} from "../../common/storage/local-volumes.ts";
import { parseBytes } from "../../common/storage/quantity.ts";
import type { LocalVolume, PoolReport, ProvisionerPod } from "./state.ts";

/** Project API objects to what the commands need. Each throws `ValiError` for any other object. */

const text = v.nullish(v.string());
const map = v.nullish(v.record(v.string(), v.string()));
const metadata = v.object({
  ...{ name: v.string(), uid: v.string(), resourceVersion: v.string() },
  ...{ namespace: text, labels: map, annotations: map, deletionTimestamp: text },
  finalizers: v.nullish(v.array(v.string())),
});

const volumeSchema = v.object({
  metadata,
  spec: v.object({
    capacity: v.nullish(v.object({ storage: text })),
    claimRef: v.nullish(v.object({ namespace: text, name: text, uid: text })),
    storageClassName: text,
    persistentVolumeReclaimPolicy: text,
  }),
  status: v.nullish(v.object({ phase: text })),
});

/** Undefined for a volume that Mooring did not provision. */
export function localVolumeOf(object: unknown): LocalVolume | undefined {
  const { metadata, spec, status } = v.parse(volumeSchema, object);
  const { name, uid, resourceVersion, annotations, labels } = metadata;
  const node = labels?.[NODE_LABEL];
  if (node === undefined || !PROVISIONERS.includes(annotations?.[PROVISIONED_BY] ?? "")) return undefined;
  const { namespace, name: claim, uid: claimUid } = spec.claimRef ?? {};
  return {
    ...{ name, uid, resourceVersion, node },
    isDeleting: Boolean(metadata.deletionTimestamp),
    finalizers: metadata.finalizers ?? [],
    pool: annotations?.[POOL] ?? "",
    poolId: annotations?.[POOL_ID],
    bytes: parseBytes(spec.capacity?.storage ?? undefined) ?? 0,
    phase: status?.phase ?? "",
    policy: spec.persistentVolumeReclaimPolicy ?? "",
    storageClass: spec.storageClassName ?? "",
    claim: namespace && claim && claimUid ? { namespace, name: claim, uid: claimUid } : undefined,
  };
}

const capacitySchema = v.object({
  metadata,
  storageClassName: v.string(),
  nodeTopology: v.nullish(v.object({ matchLabels: map })),
  capacity: text,
});

/** Undefined for an object without a node in its topology, which the admission policy checks. */
export function poolReportOf(object: unknown): PoolReport | undefined {
  const { metadata, storageClassName, nodeTopology, capacity } = v.parse(capacitySchema, object);
  const { name, uid, namespace, annotations } = metadata;
  const node = nodeTopology?.matchLabels?.[HOSTNAME];
  if (node === undefined) return undefined;
  return {
    ...{ name, uid, namespace: namespace ?? "", node, storageClass: storageClassName },
    freeBytes: parseBytes(capacity ?? undefined),
    pool: annotations?.[POOL],
    poolId: annotations?.[POOL_ID],
    state: annotations?.[POOL_STATE],
    sizeBytes: parseBytes(annotations?.[POOL_SIZE]),
    problem: annotations?.[POOL_PROBLEM],
    findings: readFindings(annotations?.[FINDINGS]),
  };
}

const podSchema = v.object({
  metadata: v.object({ name: v.string() }),
  spec: v.object({ nodeName: text }),
  status: v.nullish(
    v.object({ phase: text, conditions: v.nullish(v.array(v.object({ type: v.string(), status: v.string() }))) }),
  ),
});

/** Undefined for a pod without a node, and for a finished one. */
export function provisionerPodOf(object: unknown): ProvisionerPod | undefined {
  const { metadata, spec, status } = v.parse(podSchema, object);
  const isOver = status?.phase === "Succeeded" || status?.phase === "Failed";
  if (!spec.nodeName || isOver) return undefined;
  const isReady = status?.conditions?.some((one) => one.type === "Ready" && one.status === "True") ?? false;
  return { name: metadata.name, node: spec.nodeName, isReady };
}

const userSchema = v.object({
  metadata: v.object({ name: v.string(), namespace: v.string() }),
  spec: v.object({
    volumes: v.nullish(
      v.array(v.object({ persistentVolumeClaim: v.nullish(v.object({ claimName: v.nullish(v.string()) })) })),
    ),
  }),
});

/** A pod, and the names of the claims that it uses. */
export function claimUserOf(object: unknown): { readonly pod: string; readonly claims: readonly string[] } {
  const { metadata, spec } = v.parse(userSchema, object);
  const claims = spec.volumes?.flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? []) ?? [];
  return { pod: `${metadata.namespace}/${metadata.name}`, claims };
}

export function nameOf(object: unknown): string {
  return v.parse(v.object({ metadata: v.object({ name: v.string() }) }), object).metadata.name;
}
