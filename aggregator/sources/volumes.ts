import type { KubeParts } from "../../common/kube/client.ts";
import { IndexMap } from "../../common/kube/index-map.ts";
import { createInformer, type Informer } from "../../common/kube/informer.ts";
import type { StoreChange, Stored } from "../../common/kube/store.ts";
import { isNoAnswer, type PhaseSince, phaseSince } from "../../common/storage/phase-since.ts";
import { readVolumeMark } from "../../common/storage/volume-annotations.ts";
import { attachedBy, type Volume } from "../core/cluster-objects.ts";
import { type ClassLabel, countedVolume, StorageTotals, type VolumeKind } from "../core/storage-totals.ts";
import { KeptVolume, VolumeValues } from "./kept-volume.ts";
import { latestServerMs, PhaseObservations } from "./phases.ts";
import { projectVolume } from "./projections.ts";
import { named, track } from "./track.ts";

type StoredVolume = Volume & Stored;

/** All PersistentVolumes, by name and by handle. */
export interface Volumes {
  readonly informer: Informer<StoredVolume>;
  /** Several volumes may have one handle. */
  readonly byHandle: (driver: string, handleHash: string) => readonly Volume[];
  /** The volumes that Kubernetes attaches as one, by their `attachedKey`. */
  readonly attachedAs: (key: string) => readonly Volume[];
  readonly phaseSince: (volume: Volume) => PhaseSince | undefined;
  readonly totals: StorageTotals<VolumeKind>;
  /** A volume's mark names the node as one that has it mounted. */
  readonly isMarkedOn: (node: string) => boolean;
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
  const marked = new IndexMap();
  // By the handle's hash alone, a string that exists anyway; handles of two drivers may have one hash.
  const byHash = new IndexMap();
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
    track(byHash, change, ({ csi }) => named(csi?.handleHash));
    track(marked, change, markedNodes);
    onVolume(object.key);
    for (const claim of [before.claim, object.claim]) if (claim !== undefined) onClaim(claim.key);
  };
  const collection = { path: "/api/v1/persistentvolumes", listsFrom: "quorum" } as const;
  const values = new VolumeValues();
  const keep = (volume: StoredVolume): StoredVolume => new KeptVolume(volume, values);
  const informer = createInformer(parts, { collection, project: projectVolume, keep, onChange });
  const byHandle = (driver: string, handleHash: string): readonly Volume[] =>
    [...byHash.get(handleHash)]
      .map(informer.get)
      .filter((volume) => volume !== undefined)
      .filter(({ csi }) => csi?.driver === driver);
  return {
    informer,
    byHandle,
    phaseSince: since,
    totals,
    attachedAs: (key) => byHandle(...attachedBy(key)),
    isMarkedOn: (node) => marked.get(node)[Symbol.iterator]().next().done !== true,
  };
}

function markedNodes({ uid, annotations }: StoredVolume): readonly string[] {
  return readVolumeMark(uid, annotations?.mountedOn)?.nodes ?? [];
}
