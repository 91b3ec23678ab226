import type { KubeParts } from "../../common/kube/client.ts";
import { createInformer, type Informer } from "../../common/kube/informer.ts";
import type { StoreChange } from "../../common/kube/store.ts";
import { type Claim, projectClaim } from "../../common/storage/claim.ts";
import type { ClaimStatus } from "../../common/storage/claim-status.ts";
import type { PhaseSince } from "../../common/storage/phase-since.ts";
import { type ClaimPhaseParts, claimPhaseSince } from "../core/claim-phase.ts";
import { FUTURE_MS } from "../core/claim-status.ts";
import { type ClaimKind, type ClassLabel, countedClaim, StorageTotals } from "../core/storage-totals.ts";
import { ClaimValues, KeptClaim } from "./kept-claim.ts";
import { latestServerMs, PhaseObservations } from "./phases.ts";

/** All claims. */
export interface Claims {
  /** Indexes: nodes that the stored status names as holders; the node with which the stored last use is assumed to have ended. */
  readonly informer: Informer<Claim, "holder" | "assumed">;
  readonly phaseSince: (claim: Claim, of: Pick<ClaimPhaseParts, "volume" | "volumeSince">) => PhaseSince | undefined;
  /** Keys of the claims in phase Pending. */
  readonly pending: ReadonlySet<string>;
  readonly totals: StorageTotals<ClaimKind>;
}

/** Receives the changes of claims. */
export interface ClaimListener {
  /** The claim came or changed. */
  readonly onClaim: (key: string) => void;
  readonly onClaimGone: (claim: Claim) => void;
  /** The stored time went back or away: a backup was restored, or another client wrote it. `previous` is the claim before that. */
  readonly onClaimRolledBack: (previous: Claim) => void;
  /** The watch showed the claim Pending, and now shows it Bound. */
  readonly onClaimBound: (claim: Claim) => void;
}

interface ClaimParts extends KubeParts {
  readonly classLabel: ClassLabel;
}

/** Claims are counted by ages of days, so this is exact enough. */
const AGE_BUCKET_MS = 3_600_000;

export function createClaims(parts: ClaimParts, listener: ClaimListener): Claims {
  const values = new ClaimValues();
  const observations = new PhaseObservations<Claim>(({ phase }) => phase === "Lost");
  const pending = new Set<string>();
  const totals = new StorageTotals<ClaimKind>(parts.classLabel, AGE_BUCKET_MS);
  const informer = createInformer(parts, {
    collection: { path: "/api/v1/persistentvolumeclaims", listsFrom: "quorum" },
    project: projectClaim,
    keep: (claim) => new KeptClaim(claim, values),
    indexes: { holder: ({ status }) => status?.mountedOn?.nodes, assumed: assumedNode },
    onChange: (change) => {
      const { kind, object } = change;
      observations.note(change, latestServerMs(parts));
      trackPending(pending, change);
      if (kind !== "added") totals.remove(countedClaim(change.previous));
      if (kind !== "deleted") totals.add(countedClaim(object));
      if (kind === "updated" && isRolledBack(change.previous, object, latestServerMs(parts)))
        listener.onClaimRolledBack(change.previous);
      if (kind === "deleted") listener.onClaimGone(object);
      else listener.onClaim(object.key);
      if (kind === "updated" && change.previous.phase === "Pending" && object.phase === "Bound")
        listener.onClaimBound(object);
    },
  });
  return {
    informer,
    phaseSince: (claim, of) => claimPhaseSince(claim, { ...of, firstSeenMs: observations.firstSeenMs(claim.uid) }),
    pending,
    totals,
  };
}

/** A time in the future does not count, before or after: the one that replaces it may be earlier. */
function isRolledBack({ uid, status: before }: Claim, { uid: newUid, status: now }: Claim, nowMs: number): boolean {
  const isTime = ({ sinceMs }: ClaimStatus): boolean => sinceMs <= nowMs + FUTURE_MS;
  if (uid !== newUid || before === undefined || !isTime(before)) return false;
  return now === undefined || !isTime(now) || now.sinceMs < before.sinceMs;
}

function trackPending(pending: Set<string>, change: StoreChange<Claim>): void {
  const { key, phase } = change.object;
  if (change.kind !== "deleted" && phase === "Pending") pending.add(key);
  else pending.delete(key);
}

function assumedNode({ status }: Claim): string | undefined {
  const lastUse = status?.lastUse;
  return lastUse?.evidence === "node-gone" ? lastUse.node : undefined;
}
