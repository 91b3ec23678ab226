import * as v from "valibot";
import type { Claim } from "../common/storage/claim.ts";
import { LAST_USE, MOUNTED_ON, type MountedOn, readLastUse } from "../common/storage/claim-status.ts";
import { isNoAnswer, phaseSince } from "../common/storage/phase-since.ts";
import { parseTimestamp } from "../common/storage/timestamp.ts";
import { readVolumeMark } from "../common/storage/volume-annotations.ts";
import { type Names, NO_NAMES, type VolumeView } from "./volume-view.ts";

const schema = v.object({
  metadata: v.object({
    name: v.string(),
    uid: v.string(),
    creationTimestamp: v.nullish(v.string()),
    annotations: v.nullish(v.record(v.string(), v.string()), {}),
  }),
  spec: v.object({
    claimRef: v.nullish(v.object({ namespace: v.string(), name: v.string(), uid: v.optional(v.string()) })),
    storageClassName: v.nullish(v.string()),
    capacity: v.nullish(v.object({ storage: v.optional(v.string()) })),
    persistentVolumeReclaimPolicy: v.nullish(v.string()),
    csi: v.nullish(v.object({ driver: v.string() })),
  }),
  status: v.nullish(v.object({ phase: v.nullish(v.string()), lastPhaseTransitionTime: v.nullish(v.string()) }), {}),
});

/** Further information from the API server on a volume. */
export interface Surroundings {
  /** The claim with that UID; undefined where the user may not read claims. */
  readonly claim: (uid: string) => Claim | undefined;
  /** Nodes that the volume is attached to; undefined where the user may not read attachments. */
  readonly attachedTo: ((volume: string) => readonly string[]) | undefined;
  /** The API server's clock, at the latest. Milliseconds since the epoch. */
  readonly nowMs: number;
}

/** Reads a volume from its API object. Throws `ValiError` for any other object. */
export function volumeOf(object: unknown, { claim, attachedTo, nowMs }: Surroundings): VolumeView {
  const { metadata, spec, status } = v.parse(schema, object);
  const { name, uid, annotations } = metadata;
  const { claimRef } = spec;
  const own = claimRef?.uid === undefined ? undefined : claim(claimRef.uid);
  const apiMs = parseTimestamp(status?.lastPhaseTransitionTime);
  const createdAtMs = parseTimestamp(metadata.creationTimestamp);
  // A single read has no earlier observation: where the API server has no time, it is unknown.
  const times = { apiMs: isNoAnswer(apiMs, nowMs) ? undefined : apiMs, createdAtMs, firstSeenMs: undefined };
  return {
    name,
    uid,
    phase: status?.phase ?? "",
    since: phaseSince(times),
    storageClass: spec.storageClassName || undefined,
    capacity: spec.capacity?.storage,
    reclaimPolicy: spec.persistentVolumeReclaimPolicy ?? undefined,
    driver: spec.csi?.driver,
    claim: claimRef?.uid ? { namespace: claimRef.namespace, name: claimRef.name, uid: claimRef.uid } : undefined,
    mountedOn: namesOf(own ? own.status?.mountedOn : readVolumeMark(uid, annotations?.[MOUNTED_ON])),
    stagedOn: undefined,
    attachedTo: attachedTo && { items: attachedTo(name), omitted: 0 },
    lastUse: own?.status?.lastUse ?? (claimRef?.uid ? readLastUse(claimRef.uid, annotations?.[LAST_USE]) : undefined),
  };
}

function namesOf(mounted: MountedOn | undefined): Names {
  return mounted === undefined ? NO_NAMES : { items: mounted.nodes, omitted: mounted.more ? "some" : 0 };
}

const attachment = v.object({
  spec: v.object({ nodeName: v.string(), source: v.object({ persistentVolumeName: v.nullish(v.string()) }) }),
});

/** Nodes by the name of the volume that is attached to them. Throws `ValiError` for any other object. */
export function attachmentsOf(objects: readonly unknown[]): ReadonlyMap<string, readonly string[]> {
  const nodes = new Map<string, readonly string[]>();
  for (const object of objects) {
    const { nodeName, source } = v.parse(attachment, object).spec;
    const volume = source.persistentVolumeName;
    if (volume) nodes.set(volume, [...(nodes.get(volume) ?? []), nodeName].toSorted());
  }
  return nodes;
}
