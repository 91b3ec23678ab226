import { createInformer } from "../../common/kube/informer.ts";
import type { StoreChange, Stored } from "../../common/kube/store.ts";
import { isNoAnswer, type PhaseSince, phaseSince } from "../../common/storage/phase-since.ts";
import { readVolumeMark } from "../../common/storage/volume-annotations.ts";
import { attachedBy, type Volume } from "../core/cluster-objects.ts";
import { type ClassLabel, countedVolume, StorageTotals, type VolumeKind } from "../core/metrics/storage-totals.ts";
import type { ClusterParts } from "./cluster.ts";
import type { ClusterListener } from "./cluster-listener.ts";
import { KeptValues } from "./kept.ts";
import { KeptVolume, type SharedFields } from "./kept-volume.ts";
import { PhaseObservations } from "./phases.ts";
import { projectVolume } from "./projections.ts";

type StoredVolume = Volume & Stored;

/** All PersistentVolumes. */
export type Volumes = ReturnType<typeof createVolumes>;

interface VolumeParts extends ClusterParts {
  readonly classLabel: ClassLabel;
}

/** Volumes are counted by ages of minutes and more, so this is exact enough. */
const AGE_BUCKET_MS = 1_000;

export function createVolumes(parts: VolumeParts, { onClaim, onVolume }: ClusterListener) {
  const observations = new PhaseObservations<StoredVolume>(({ phaseSinceMs }, nowMs) =>
    isNoAnswer(phaseSinceMs, nowMs),
  );
  const since = ({ uid, phaseSinceMs: apiMs, createdAtMs }: Volume): PhaseSince | undefined =>
    phaseSince({ apiMs, createdAtMs, firstSeenMs: observations.firstSeenMs(uid) });
  const totals = new StorageTotals<VolumeKind>(parts.classLabel, AGE_BUCKET_MS);
  const count = (change: StoreChange<StoredVolume>): void => {
    if (change.kind !== "added") totals.remove(countedVolume(change.previous, since(change.previous)));
    observations.note(change, parts.nowMs());
    if (change.kind !== "deleted") totals.add(countedVolume(change.object, since(change.object)));
  };
  const onChange = (change: StoreChange<StoredVolume>): void => {
    const { object } = change;
    count(change);
    const before = change.kind === "added" ? object : change.previous;
    onVolume(object.key);
    for (const claim of [before.claim, object.claim]) if (claim !== undefined) onClaim(claim.key);
  };
  const values = new KeptValues<SharedFields>();
  const informer = createInformer(parts, {
    collection: { path: "/api/v1/persistentvolumes", listsFrom: "quorum" },
    project: projectVolume,
    keep: (volume): StoredVolume => new KeptVolume(volume, values),
    // By the handle's hash alone, a string that exists anyway; and by the nodes that the volume's mark names.
    indexes: { hash: ({ csi }) => csi?.handleHash, marked: markedNodes },
    onChange,
  });
  // Handles of two drivers may have one hash, and several volumes one handle.
  const byHandle = (driver: string, handleHash: string): readonly Volume[] =>
    informer.by("hash", handleHash).filter(({ csi }) => csi?.driver === driver);
  return {
    informer,
    byHandle,
    phaseSince: since,
    totals,
    /** The volumes that Kubernetes attaches as one, by their `attachedKey`. */
    attachedAs: (key: string) => byHandle(...attachedBy(key)),
  };
}

function markedNodes({ uid, annotations }: StoredVolume): readonly string[] | undefined {
  return readVolumeMark(uid, annotations?.mountedOn)?.nodes;
}
