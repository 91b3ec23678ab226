import type { KubeParts } from "../../common/kube/client.ts";
import { createInformer, type Informer } from "../../common/kube/informer.ts";
import type { StoreChange, Stored } from "../../common/kube/store.ts";
import { isNoAnswer, type PhaseSince, phaseSince } from "../../common/storage/phase-since.ts";
import { readVolumeMark } from "../../common/storage/volume-annotations.ts";
import { attachedBy, type Volume } from "../core/cluster-objects.ts";
import { type ClassLabel, countedVolume, StorageTotals, type VolumeKind } from "../core/storage-totals.ts";
import { KeptValues } from "./kept.ts";
import { KeptVolume, type SharedFields } from "./kept-volume.ts";
import { latestServerMs, PhaseObservations } from "./phases.ts";
import { projectVolume } from "./projections.ts";

type StoredVolume = Volume & Stored;

/** All PersistentVolumes, by name and by handle. */
export interface Volumes {
  /** Indexes: the hash of the handle, a string that exists anyway; the nodes that the volume's mark names. */
  readonly informer: Informer<StoredVolume, "hash" | "marked">;
  /** Several volumes may have one handle. */
  readonly byHandle: (driver: string, handleHash: string) => readonly Volume[];
  /** The volumes that Kubernetes attaches as one, by their `attachedKey`. */
  readonly attachedAs: (key: string) => readonly Volume[];
  readonly phaseSince: (volume: Volume) => PhaseSince | undefined;
  readonly totals: StorageTotals<VolumeKind>;
}

interface VolumeParts extends KubeParts {
  readonly classLabel: ClassLabel;
}

/** Volumes are counted by ages of minutes and more, so this is exact enough. */
const AGE_BUCKET_MS = 1_000;

/** Receives the changes of volumes. */
export interface VolumeListener {
  /** The volume came, changed or went. */
  readonly onVolume: (name: string) => void;
  /** The volume of the claim changed. */
  readonly onClaim: (key: string) => void;
}

export function createVolumes(parts: VolumeParts, { onClaim, onVolume }: VolumeListener): Volumes {
  const observations = new PhaseObservations<StoredVolume>(({ phaseSinceMs }, nowMs) =>
    isNoAnswer(phaseSinceMs, nowMs),
  );
  const since = ({ uid, phaseSinceMs: apiMs, createdAtMs }: Volume): PhaseSince | undefined =>
    phaseSince({ apiMs, createdAtMs, firstSeenMs: observations.firstSeenMs(uid) });
  const totals = new StorageTotals<VolumeKind>(parts.classLabel, AGE_BUCKET_MS);
  const count = (change: StoreChange<StoredVolume>): void => {
    if (change.kind !== "added") totals.remove(countedVolume(change.previous, since(change.previous)));
    observations.note(change, latestServerMs(parts));
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
  const informer = createInformer<StoredVolume, "hash" | "marked">(parts, {
    collection: { path: "/api/v1/persistentvolumes", listsFrom: "quorum" },
    project: projectVolume,
    keep: (volume) => new KeptVolume(volume, values),
    indexes: { hash: ({ csi }) => csi?.handleHash, marked: markedNodes },
    onChange,
  });
  // Handles of two drivers may have one hash.
  const byHandle = (driver: string, handleHash: string): readonly Volume[] =>
    informer.by("hash", handleHash).filter(({ csi }) => csi?.driver === driver);
  return {
    informer,
    byHandle,
    phaseSince: since,
    totals,
    attachedAs: (key) => byHandle(...attachedBy(key)),
  };
}

function markedNodes({ uid, annotations }: StoredVolume): readonly string[] | undefined {
  return readVolumeMark(uid, annotations?.mountedOn)?.nodes;
}
