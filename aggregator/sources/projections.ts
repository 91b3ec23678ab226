import { createHash } from "node:crypto";
import * as v from "valibot";
import { factText } from "../../common/storage/node-facts.ts";
import { parseTimestamp } from "../../common/storage/timestamp.ts";
import type { Node, Pod, Volume } from "../core/cluster-objects.ts";

/** API objects to the few fields that decisions need. Each throws `ValiError` for what is not such an object. */

const metadata = v.object({
  namespace: v.optional(v.string()),
  name: v.string(),
  uid: v.string(),
  resourceVersion: v.string(),
});

const containerStatus = v.object({
  state: v.optional(v.object({ running: v.nullish(v.unknown()), terminated: v.nullish(v.unknown()) }), {}),
  lastState: v.optional(v.object({ terminated: v.nullish(v.unknown()) }), {}),
});
const containerStatuses = v.optional(v.array(containerStatus), []);

const podSchema = v.object({
  metadata,
  spec: v.object({
    nodeName: v.optional(v.string()),
    volumes: v.optional(
      v.array(
        v.object({
          name: v.string(),
          persistentVolumeClaim: v.optional(v.object({ claimName: v.string() })),
          ephemeral: v.optional(v.unknown()),
        }),
      ),
      [],
    ),
  }),
  status: v.optional(
    v.object({
      phase: v.optional(v.string(), ""),
      containerStatuses,
      initContainerStatuses: containerStatuses,
      ephemeralContainerStatuses: containerStatuses,
    }),
    {},
  ),
});

type Projected<T> = T & { readonly resourceVersion: string };

/** A generic ephemeral volume's claim is called `<pod>-<volume>`. */
export function projectPod(object: unknown): Projected<Pod> {
  const { metadata: meta, spec, status } = v.parse(podSchema, object);
  const claims = spec.volumes.flatMap(({ name, persistentVolumeClaim, ephemeral }) => {
    if (persistentVolumeClaim !== undefined) return [persistentVolumeClaim.claimName];
    return ephemeral === undefined ? [] : [`${meta.name}-${name}`];
  });
  const statuses = [status.initContainerStatuses, status.containerStatuses, status.ephemeralContainerStatuses].flat();
  return {
    ...identify(meta),
    node: spec.nodeName || undefined,
    claims,
    isTerminal: status.phase === "Succeeded" || status.phase === "Failed",
    hasStarted: statuses.some(({ state, lastState }) =>
      [state.running, state.terminated, lastState.terminated].some(Boolean),
    ),
  };
}

const volumeSchema = v.object({
  metadata,
  spec: v.object({
    claimRef: v.optional(v.object({ namespace: v.string(), name: v.string(), uid: v.optional(v.string()) })),
    storageClassName: v.optional(v.string()),
    capacity: v.optional(v.object({ storage: v.optional(v.string()) })),
    persistentVolumeReclaimPolicy: v.optional(v.string()),
    csi: v.optional(v.object({ driver: v.string(), volumeHandle: v.string() })),
    hostPath: v.optional(v.unknown()),
  }),
  status: v.optional(
    v.object({ phase: v.optional(v.string(), ""), lastPhaseTransitionTime: v.nullish(v.string()) }),
    {},
  ),
});

/** The kubelet's staging path has the SHA-256 of the handle, so that is what volumes are found by. */
export function projectVolume(object: unknown): Projected<Volume> {
  const { metadata: meta, spec, status } = v.parse(volumeSchema, object);
  const { claimRef, csi, hostPath } = spec;
  const phaseSinceMs = parseTimestamp(status.lastPhaseTransitionTime);
  return {
    ...identify(meta),
    phase: status.phase,
    phaseSinceMs,
    storageClass: spec.storageClassName || undefined,
    capacity: spec.capacity?.storage,
    reclaimPolicy: spec.persistentVolumeReclaimPolicy,
    claim: claimRef?.uid ? { key: `${claimRef.namespace}/${claimRef.name}`, uid: claimRef.uid } : undefined,
    csi: csi && { driver: csi.driver, handleHash: createHash("sha256").update(csi.volumeHandle).digest("hex") },
    isHostPath: hostPath !== undefined,
    boundSinceMs: status.phase === "Bound" ? phaseSinceMs : undefined,
  };
}

const nodeInfo = v.object({
  bootID: v.optional(v.string()),
  osImage: v.optional(v.string()),
  containerRuntimeVersion: v.optional(v.string()),
});
const nodeSchema = v.object({ metadata, status: v.optional(v.object({ nodeInfo: v.optional(nodeInfo, {}) }), {}) });

export function projectNode(object: unknown): Projected<Node> {
  const { metadata: meta, status } = v.parse(nodeSchema, object);
  const { bootID, osImage, containerRuntimeVersion } = status.nodeInfo ?? {};
  return {
    ...identify(meta),
    bootId: bootID || undefined,
    distribution: factText(osImage),
    containerRuntime: factText(containerRuntimeVersion),
  };
}

function identify({ namespace, name, uid, resourceVersion }: v.InferOutput<typeof metadata>): {
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
} {
  return { key: namespace === undefined ? name : `${namespace}/${name}`, uid, resourceVersion };
}
