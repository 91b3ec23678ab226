import { hash } from "node:crypto";
import * as v from "valibot";
import type { Stored } from "../../common/kube/store.ts";
import { LAST_USE, MOUNTED_ON } from "../../common/storage/claim-status.ts";
import { labelsSchema } from "../../common/storage/label-syntax.ts";
import { factText } from "../../common/storage/node-facts.ts";
import { type ClaimVolume, claimVolumesOf, podVolumes } from "../../common/storage/pod-claims.ts";
import { REJECTED_ANNOTATION, rejectionMark } from "../../common/storage/rejection.ts";
import { CENTURY_MS, parseTimestamp } from "../../common/storage/timestamp.ts";
import { volumeAnnotations } from "../../common/storage/volume-annotations.ts";
import type { BindingMode } from "../core/claims/binding.ts";
import { attachedKey, type Node, type Pod, type Volume } from "../core/cluster-objects.ts";
import type { AgentAccount } from "../core/reports/reporter.ts";

/** Project API objects to the few fields that decisions need. Each throws `ValiError` for anything else. */

const metadata = v.object({
  namespace: v.optional(v.string()),
  name: v.string(),
  uid: v.string(),
  resourceVersion: v.string(),
  creationTimestamp: v.optional(v.string()),
  labels: v.nullish(labelsSchema),
});

/** The metadata that a store keeps of an object. */
function identify({ namespace, name, uid, resourceVersion }: v.InferOutput<typeof metadata>): Stored {
  return { key: namespace === undefined ? name : `${namespace}/${name}`, uid, resourceVersion };
}

const terminated = v.nullish(v.object({ reason: v.nullish(v.string()), startedAt: v.nullish(v.unknown()) }));
const containerStatus = v.object({
  state: v.optional(v.object({ running: v.nullish(v.unknown()), terminated }), {}),
  lastState: v.optional(v.object({ terminated: v.nullish(v.unknown()) }), {}),
  containerID: v.nullish(v.string()),
  restartCount: v.nullish(v.number()),
  started: v.nullish(v.boolean()),
});
const containerStatuses = v.optional(v.array(containerStatus), []);

/** Only the annotation of a rejection: others may be many and long. */
const annotations = v.nullish(v.object({ [REJECTED_ANNOTATION]: v.optional(v.string()) }));

const podSchema = v.object({
  metadata: v.object({
    ...metadata.entries,
    annotations,
    deletionTimestamp: v.nullish(v.string()),
    deletionGracePeriodSeconds: v.nullish(v.number()),
  }),
  spec: v.object({
    nodeName: v.optional(v.string()),
    serviceAccountName: v.optional(v.string()),
    volumes: podVolumes,
  }),
  status: v.optional(
    v.object({
      phase: v.optional(v.string(), ""),
      reason: v.optional(v.string()),
      containerStatuses,
      initContainerStatuses: containerStatuses,
      ephemeralContainerStatuses: containerStatuses,
    }),
    {},
  ),
});

type PodMetadata = v.InferOutput<typeof podSchema>["metadata"];

/** Projects a pod; agents run with this account. */
export function projectPod(object: unknown, agents: AgentAccount): Pod {
  const { metadata: meta, spec, status } = v.parse(podSchema, object);
  const volumes = claimVolumesOf(meta.name, spec.volumes);
  const keysOf = (of: readonly ClaimVolume[]): readonly string[] => of.map(({ claim }) => `${meta.namespace}/${claim}`);
  const named = keysOf(volumes.filter(({ isEphemeral }) => !isEphemeral));
  const ephemeral = keysOf(volumes.filter(({ isEphemeral }) => isEphemeral)).filter((key) => !named.includes(key));
  const statuses = [status.initContainerStatuses, status.containerStatuses, status.ephemeralContainerStatuses].flat();
  return {
    ...identify(meta),
    node: spec.nodeName || undefined,
    claims: [...named, ...ephemeral],
    ephemeralClaims: ephemeral.length > 0 ? ephemeral : undefined,
    isTerminal: status.phase === "Succeeded" || status.phase === "Failed",
    hasStarted: statuses.some(hasStarted),
    isAgent: isAgent(meta, spec.serviceAccountName, agents) ? true : undefined,
    createdAtMs: parseTimestamp(meta.creationTimestamp),
    deletedAtMs: deletedAt(meta),
    rejection: rejectionMark({ ...status, annotations: meta.annotations }),
  };
}

/** The label alone does not count: a tenant's pod could have it, and decisions would wait for its node's reports. */
function isAgent({ namespace, labels }: PodMetadata, account: string | undefined, agents: AgentAccount): boolean {
  const isLabelled = labels?.["app.kubernetes.io/name"] === "mooring-agent";
  return isLabelled && namespace === agents.namespace && account === agents.account;
}

/** Whether a container may have been started (kubernetes/kubernetes: `TerminatePod`, `convertToAPIContainerStatuses`). */
function hasStarted({ state, lastState, ...known }: v.InferOutput<typeof containerStatus>): boolean {
  if (state.running || lastState.terminated) return true;
  if (!state.terminated) return false;
  // When a pod is over, the kubelet marks also containers that never existed as terminated, with only a reason of its own. Of one that it
  // knew to run it keeps the ID or the last state.
  const { reason, startedAt } = state.terminated;
  const isKnown = startedAt || known.containerID || known.restartCount || known.started;
  return reason !== "ContainerStatusUnknown" || Boolean(isKnown);
}

/** A deletion timestamp is the end of the grace period (`BeforeDelete` in k8s.io/apiserver). */
function deletedAt({ deletionTimestamp, deletionGracePeriodSeconds: graceSeconds }: PodMetadata): number | undefined {
  const endMs = deletionTimestamp ? parseTimestamp(deletionTimestamp) : undefined;
  const graceMs = (graceSeconds ?? 0) * 1_000;
  // A grace period of centuries overflows in the API server, and the timestamp beside it can be any time.
  return endMs === undefined || !(Math.abs(graceMs) < CENTURY_MS) ? undefined : endMs - graceMs;
}

/**
 * The CSI identity of an in-tree volume whose plugin a CSI driver has taken over (k8s.io/csi-translation-lib), where it follows from one
 * field of the source. Staging path and attachment use its handle, the pods' mounts the PV's name. The handle of a GCE disk depends on
 * the release and on labels, that of an Azure file share on its secret.
 */
function migrated(driver: string, field: string, pattern = /^(.*)$/s) {
  const toHandle = (source: Readonly<Record<string, unknown>>) => {
    const [, volumeHandle] = pattern.exec(v.parse(v.string(), source[field])) ?? [];
    return volumeHandle === undefined ? undefined : { driver, volumeHandle };
  };
  return v.optional(v.pipe(v.record(v.string(), v.unknown()), v.transform(toHandle)));
}

const volumeSchema = v.object({
  metadata: v.object({
    ...metadata.entries,
    annotations: v.nullish(v.object({ [MOUNTED_ON]: v.optional(v.string()), [LAST_USE]: v.optional(v.string()) }), {}),
  }),
  spec: v.object({
    claimRef: v.optional(v.object({ namespace: v.string(), name: v.string(), uid: v.optional(v.string()) })),
    storageClassName: v.optional(v.string()),
    capacity: v.optional(v.object({ storage: v.optional(v.string()) })),
    persistentVolumeReclaimPolicy: v.optional(v.string()),
    csi: v.optional(v.object({ driver: v.string(), volumeHandle: v.string() })),
    hostPath: v.optional(v.unknown()),
    nodeAffinity: v.nullish(v.object({ required: v.nullish(v.unknown()) })),
    // `vol-1`, `aws:///vol-1` and `aws://<zone>/vol-1` are one volume.
    awsElasticBlockStore: migrated("ebs.csi.aws.com", "volumeID", /^(?:aws:\/\/[^/]*\/)?(vol-[^/]*)$/),
    azureDisk: migrated("disk.csi.azure.com", "diskURI"),
    cinder: migrated("cinder.csi.openstack.org", "volumeID"),
    vsphereVolume: migrated("csi.vsphere.vmware.com", "volumePath"),
    portworxVolume: migrated("pxd.portworx.com", "volumeID"),
  }),
  status: v.optional(
    v.object({ phase: v.optional(v.string(), ""), lastPhaseTransitionTime: v.nullish(v.string()) }),
    {},
  ),
});

/** The kubelet's staging path contains the SHA-256 of the handle, so volumes are found by that. */
export function projectVolume(object: unknown): Volume & Stored {
  const { metadata: meta, spec, status } = v.parse(volumeSchema, object);
  const { claimRef, nodeAffinity } = spec;
  const { awsElasticBlockStore: ebs, azureDisk, cinder, vsphereVolume: vsphere, portworxVolume: portworx } = spec;
  const csi = spec.csi ?? ebs ?? azureDisk ?? cinder ?? vsphere ?? portworx;
  return {
    ...identify(meta),
    phase: status.phase,
    phaseSinceMs: parseTimestamp(status.lastPhaseTransitionTime),
    createdAtMs: parseTimestamp(meta.creationTimestamp),
    storageClass: spec.storageClassName || undefined,
    capacity: spec.capacity?.storage,
    reclaimPolicy: spec.persistentVolumeReclaimPolicy,
    claim: claimRef?.uid ? { key: `${claimRef.namespace}/${claimRef.name}`, uid: claimRef.uid } : undefined,
    csi: csi && { driver: csi.driver, handleHash: hash("sha256", csi.volumeHandle) },
    isHostPath: spec.hostPath !== undefined,
    nodeAffinity: nodeAffinity?.required ? JSON.stringify(nodeAffinity.required) : undefined,
    annotations: volumeAnnotations(meta.annotations ?? {}),
  };
}

const text = v.optional(v.string());
const nodeInfo = v.object({ bootID: text, osImage: text, containerRuntimeVersion: text });
const condition = v.object({ type: v.string(), status: v.string() });

const nodeSchema = v.object({
  metadata,
  spec: v.optional(v.object({ taints: v.nullish(v.array(v.object({ key: v.optional(v.string()) }))) }), {}),
  status: v.optional(
    v.object({
      nodeInfo: v.optional(nodeInfo, {}),
      conditions: v.nullish(v.array(condition)),
      volumesInUse: v.nullish(v.array(v.string())),
      volumesAttached: v.nullish(v.array(v.object({ name: v.string() }))),
    }),
    {},
  ),
});

export function projectNode(object: unknown): Node & Stored {
  const { metadata: meta, spec, status } = v.parse(nodeSchema, object);
  const { bootID, osImage, containerRuntimeVersion } = status.nodeInfo ?? {};
  const ready = status.conditions?.find(({ type }) => type === "Ready");
  const { volumesInUse, volumesAttached } = status;
  const volumes = new Set([...(volumesInUse ?? []), ...(volumesAttached ?? []).map(({ name }) => name)]);
  const attached = [...volumes].flatMap(attachedKeyIn);
  return {
    ...identify(meta),
    bootId: bootID || undefined,
    labels: meta.labels ?? undefined,
    createdAtMs: parseTimestamp(meta.creationTimestamp),
    os: meta.labels?.["kubernetes.io/os"],
    isReady: ready?.status === "True",
    isUnreachable: ready?.status === "Unknown",
    // With any effect, like Kubernetes' pod garbage collector and attach-detach controller.
    isOutOfService: spec.taints?.some(({ key }) => key === "node.kubernetes.io/out-of-service") ?? false,
    ...(attached.length > 0 && { attached }),
    distribution: factText(osImage),
    containerRuntime: factText(containerRuntimeVersion),
  };
}

/** A CSI volume's unique name is `kubernetes.io/csi/<driver>^<handle>`. The names of other plugins lead to no PV. */
function attachedKeyIn(uniqueName: string): readonly string[] {
  const [, driver, handle] = /^kubernetes\.io\/csi\/([^^]+)\^(.+)$/s.exec(uniqueName) ?? [];
  return driver === undefined || handle === undefined
    ? []
    : [attachedKey({ driver, handleHash: hash("sha256", handle) })];
}

const storageClassSchema = v.object({ metadata, volumeBindingMode: v.nullish(v.string()) });

export function projectStorageClass(object: unknown): Stored & { readonly binding: BindingMode } {
  const { metadata: meta, volumeBindingMode: mode } = v.parse(storageClassSchema, object);
  return { ...identify(meta), binding: mode === "WaitForFirstConsumer" ? mode : "Immediate" };
}
