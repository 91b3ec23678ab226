import { createInformer } from "../../common/kube/informer.ts";
import { type Claim, projectClaim } from "../../common/storage/claim.ts";
import type { ClaimStatus } from "../../common/storage/claim-status.ts";
import type { PhaseSince } from "../../common/storage/phase-since.ts";
import { claimPhaseSince } from "../core/claims/binding.ts";
import { FUTURE_MS } from "../core/claims/decide.ts";
import { type ClaimKind, type ClassLabel, countedClaim, StorageTotals } from "../core/metrics/storage-totals.ts";
import type { ClusterParts } from "./cluster.ts";
import type { ClusterListener } from "./cluster-listener.ts";
import { ClaimValues, KeptClaim } from "./kept-claim.ts";
import { PhaseObservations } from "./phases.ts";
import type { Pods } from "./pods.ts";
import type { Volumes } from "./volumes.ts";

/** All claims. */
export type Claims = ReturnType<typeof createClaims>;

interface ClaimParts extends ClusterParts {
  readonly classLabel: ClassLabel;
  readonly volumes: Volumes;
  readonly pods: Pods;
}

/** Claims are counted by ages of days, so this is exact enough. */
const AGE_BUCKET_MS = 3_600_000;

export function createClaims(parts: ClaimParts, listener: ClusterListener) {
  const { volumes, pods, nowMs } = parts;
  const values = new ClaimValues();
  const observations = new PhaseObservations<Claim>(({ phase }) => phase === "Lost");
  const totals = new StorageTotals<ClaimKind>(parts.classLabel, AGE_BUCKET_MS);
  const informer = createInformer(parts, {
    collection: { path: "/api/v1/persistentvolumeclaims", listsFrom: "quorum" },
    project: projectClaim,
    keep: (claim): Claim => new KeptClaim(claim, values),
    indexes: {
      /** The nodes on which the stored status says that it is mounted. */
      mountedOn: ({ status }) => status?.mountedOn?.nodes,
      /** The node with which the stored last use is assumed to have ended. */
      assumed: assumedNode,
      pending: ({ phase }) => (phase === "Pending" ? phase : undefined),
    },
    onChange: (change) => {
      const { kind, object } = change;
      observations.note(change, nowMs());
      if (kind !== "added") totals.remove(countedClaim(change.previous));
      if (kind !== "deleted") totals.add(countedClaim(object));
      if (kind === "updated" && isRolledBack(change.previous, object, nowMs()))
        listener.onClaimRolledBack(change.previous);
      if (kind === "deleted") {
        // A pod that names a deleted claim does not use the next claim of that name.
        pods.onClaimGone(object.key);
        listener.onClaimGone(object);
      } else listener.onClaim(object.key);
      if (kind === "updated" && change.previous.phase === "Pending" && object.phase === "Bound")
        listener.onClaimBound(object);
    },
  });
  return {
    informer,
    phaseSince: (claim: Claim): PhaseSince | undefined => {
      const volume = claim.volume === undefined ? undefined : volumes.informer.get(claim.volume);
      const volumeSince = volume && volumes.phaseSince(volume);
      return claimPhaseSince(claim, { volume, volumeSince, firstSeenMs: observations.firstSeenMs(claim.uid) });
    },
    totals,
  };
}

/** A time in the future does not count, before or after: the one that replaces it may be earlier. */
function isRolledBack({ uid, status: before }: Claim, { uid: newUid, status: now }: Claim, nowMs: number): boolean {
  const isTime = ({ sinceMs }: ClaimStatus): boolean => sinceMs <= nowMs + FUTURE_MS;
  if (uid !== newUid || before === undefined || !isTime(before)) return false;
  return now === undefined || !isTime(now) || now.sinceMs < before.sinceMs;
}

function assumedNode({ status }: Claim): string | undefined {
  const lastUse = status?.lastUse;
  return lastUse?.evidence === "node-gone" ? lastUse.node : undefined;
}
