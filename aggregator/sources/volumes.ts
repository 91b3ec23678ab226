import { createInformer } from "../../common/kube/informer.ts";
import { SharedTexts } from "../../common/kube/shared-texts.ts";
import { SharedValues } from "../../common/kube/shared-values.ts";
import type { StoreChange, Stored } from "../../common/kube/store.ts";
import { boundedLabel } from "../../common/runtime/metrics.ts";
import { isNoAnswer, type PhaseSince, phaseSince } from "../../common/storage/phase-since.ts";
import type { Volume } from "../core/cluster-objects.ts";
import { countedVolume, MOST_CLASSES, StorageTotals, type VolumeKind } from "../core/metrics/storage-totals.ts";
import type { ClusterListener, ClusterParts } from "./cluster-parts.ts";
import { keptAs, TIME } from "./kept.ts";
import { projectVolume } from "./projections.ts";

type StoredVolume = Volume & Stored;

export type Volumes = ReturnType<typeof createVolumes>;

/** Volumes are counted by ages of minutes and more, so this is exact enough. */
const AGE_BUCKET_MS = 1_000;

export function createVolumes(parts: ClusterParts, { onClaim, onVolume }: ClusterListener) {
  const observations = observePhases<StoredVolume>(({ phaseSinceMs }, nowMs) => isNoAnswer(phaseSinceMs, nowMs));
  const since = ({ uid, phaseSinceMs: apiMs, createdAtMs }: Volume): PhaseSince | undefined =>
    phaseSince({ apiMs, createdAtMs, firstSeenMs: observations.firstSeenMs(uid) });
  const totals = new StorageTotals<VolumeKind>(boundedLabel(MOST_CLASSES), AGE_BUCKET_MS);
  const onChange = (change: StoreChange<StoredVolume>): void => {
    const { object } = change;
    const before = change.kind === "added" ? undefined : change.previous;
    if (before !== undefined) totals.count(countedVolume(before, since(before)), -1);
    observations.note(change, parts.nowMs());
    if (change.kind !== "deleted") totals.count(countedVolume(object, since(object)), 1);
    onVolume(object.key);
    for (const claim of [before?.claim, object.claim]) if (claim !== undefined) onClaim(claim.key);
  };
  const informer = createInformer(parts, {
    collection: { path: "/api/v1/persistentvolumes", listsFrom: "quorum" },
    project: projectVolume,
    keep: volumeKeeper(),
    // Without the driver: the text exists anyway.
    indexes: { hash: ({ csi }) => csi?.handleHash },
    onChange,
  });
  return {
    informer,
    totals,
    lookups: {
      allVolumes: (): Iterable<Volume> => informer.all(),
      volumeByName: informer.get,
      /** Handles of two drivers may have one hash, and several volumes one handle. */
      volumesByHandle: (driver: string, handleHash: string): readonly Volume[] =>
        informer.by("hash", handleHash).filter(({ csi }) => csi?.driver === driver),
      phaseSince: since,
    },
  };
}

type FlatVolume = Omit<StoredVolume, "claim" | "csi"> & {
  readonly [Name in "claimKey" | "claimUid" | "driver" | "handleHash"]: string | undefined;
};

const Compact = keptAs<FlatVolume>({
  shared: ["phase", "storageClass", "capacity", "reclaimPolicy", "isHostPath", "nodeAffinity", "driver"],
  packed: { createdAtMs: TIME, phaseSinceMs: TIME },
});

/** Makes volumes compact: that saves 150 bytes each. */
export function volumeKeeper(): (volume: StoredVolume) => StoredVolume {
  const [values, texts] = [new SharedValues<object>(), new SharedTexts()];
  return ({ claim, csi, ...volume }) => {
    texts.share([volume.key, claim, csi?.handleHash]);
    const { driver, handleHash } = csi ?? {};
    return new KeptVolume({ ...volume, claimKey: claim?.key, claimUid: claim?.uid, driver, handleHash }, values);
  };
}

class KeptVolume extends Compact implements StoredVolume {
  get claim(): Volume["claim"] {
    const { claimKey: key, claimUid: uid } = this;
    return key === undefined || uid === undefined ? undefined : { key, uid };
  }

  get csi(): Volume["csi"] {
    const { driver, handleHash } = this;
    return driver === undefined || handleHash === undefined ? undefined : { driver, handleHash };
  }
}

interface Phased extends Stored {
  readonly phase: string;
  readonly phaseSinceMs?: number | undefined;
}

/** When this process first saw objects in phases that the API does not date: an age is never longer than the truth. */
export function observePhases<T extends Phased>(isUndated: (object: T, nowMs: number) => boolean) {
  const observations = new Map<string, { readonly phase: string; readonly ms: number }>();
  return {
    /** Takes each change. `nowMs` is the latest that the API server's clock can show: none is dated too early. */
    note: (change: StoreChange<T>, nowMs: number): void => {
      const { object } = change;
      const { uid, phase, phaseSinceMs } = object;
      const before = change.kind === "updated" ? change.previous : undefined;
      // A time that was in the future when it was written stays wrong when it has passed.
      if (before?.phase === phase && before.phaseSinceMs === phaseSinceMs) return;
      if (change.kind === "deleted" || !isUndated(object, nowMs)) observations.delete(uid);
      else if (observations.get(uid)?.phase !== phase) observations.set(uid, { phase, ms: nowMs });
    },
    firstSeenMs: (uid: string): number | undefined => observations.get(uid)?.ms,
  };
}
