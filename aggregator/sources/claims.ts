import { createInformer } from "../../common/kube/informer.ts";
import { SharedValues } from "../../common/kube/shared-values.ts";
import { type Claim, projectClaim } from "../../common/storage/claim.ts";
import type { ClaimStatus } from "../../common/storage/claim-status.ts";
import type { PhaseSince } from "../../common/storage/phase-since.ts";
import { claimPhaseSince } from "../core/claims/binding.ts";
import { FUTURE_MS } from "../core/claims/decide.ts";
import { unusedMessage } from "../core/claims/message.ts";
import { type ClaimKind, type ClassLabel, countedClaim, StorageTotals } from "../core/metrics/storage-totals.ts";
import type { ClusterListener, ClusterParts } from "./cluster-parts.ts";
import { KeptValues, keptWith, millisecondsOf, secondsOf, type Whole } from "./kept.ts";
import { observePhases, type Volumes } from "./volumes.ts";

interface ClaimParts extends ClusterParts {
  readonly classLabel: ClassLabel;
  readonly volumes: Volumes;
}

/** Claims are counted by ages of days, so this is exact enough. */
const AGE_BUCKET_MS = 3_600_000;

export function createClaims(parts: ClaimParts, listener: ClusterListener) {
  const { volumes, nowMs } = parts;
  const values = new ClaimValues();
  const observations = observePhases<Claim>(({ phase }) => phase === "Lost");
  const totals = new StorageTotals<ClaimKind>(parts.classLabel, AGE_BUCKET_MS);
  const informer = createInformer(parts, {
    collection: { path: "/api/v1/persistentvolumeclaims", listsFrom: "quorum" },
    project: projectClaim,
    keep: (claim): Claim => new KeptClaim(claim, values),
    indexes: {
      /** The nodes on which the stored status says that it is mounted. */
      mountedOn: ({ status }) => status?.mountedOn?.nodes,
      /** The node with which the stored last use is assumed to have ended. */
      assumed: ({ status }) => (status?.lastUse?.evidence === "node-gone" ? status.lastUse.node : undefined),
      pending: ({ phase }) => (phase === "Pending" ? phase : undefined),
    },
    onChange: (change) => {
      const { kind, object } = change;
      observations.note(change, nowMs());
      if (kind !== "added") totals.count(countedClaim(change.previous), -1);
      if (kind !== "deleted") totals.count(countedClaim(object), 1);
      if (kind === "updated" && isRolledBack(change.previous, object, nowMs()))
        listener.onClaimRolledBack(change.previous);
      if (kind === "deleted") listener.onClaimGone(object);
      else listener.onClaim(object.key);
      if (kind === "updated" && change.previous.phase === "Pending" && object.phase === "Bound")
        listener.onClaimBound(object);
    },
  });
  return {
    informer,
    totals,
    lookups: {
      claim: informer.get,
      claims: informer.all,
      /** The stored status of a claim names the node as one that has it mounted. */
      isStoredAsMounted: (node: string): boolean => informer.by("mountedOn", node).length > 0,
      /** Keys of the claims whose stored last use is assumed to have ended with this node. */
      assumedOn: (node: string): Iterable<string> => informer.by("assumed", node).map(({ key }) => key),
      /** The claims here are those of the API server at this resource version; undefined while they have to be listed anew. */
      claimsReached: informer.resourceVersion,
      claimPhaseSince: (claim: Claim): PhaseSince | undefined => {
        const volume = claim.volume === undefined ? undefined : volumes.informer.get(claim.volume);
        const volumeSince = volume && volumes.lookups.phaseSince(volume);
        return claimPhaseSince(claim, { volume, volumeSince, firstSeenMs: observations.firstSeenMs(claim.uid) });
      },
    },
  };
}

/** A time in the future does not count, before or after: the one that replaces it may be earlier. */
function isRolledBack({ uid, status: before }: Claim, { uid: newUid, status: now }: Claim, nowMs: number): boolean {
  const isTime = ({ sinceMs }: ClaimStatus): boolean => sinceMs <= nowMs + FUTURE_MS;
  if (uid !== newUid || before === undefined || !isTime(before)) return false;
  return now === undefined || !isTime(now) || now.sinceMs < before.sinceMs;
}

/** Fields of the status with the same values in thousands of claims. A message that follows from the other fields is not kept. */
type SharedStatus = Pick<ClaimStatus, "unused" | "reason" | "mountedOn"> & { readonly message: string | undefined };

/** What claims share: those of a kind their fields, those of a pod their status. */
export class ClaimValues extends KeptValues {
  readonly statuses = new SharedValues<SharedStatus>();
}

const KIND = ["phase", "isDeleting", "storageClass", "capacity"] as const;
const RARE = ["deletion", "controllerUid", "hasInvalidCondition", "strays", "gap", "staged"] as const;
type Kind = Pick<Claim, (typeof KIND)[number]>;
type Rare = Pick<Claim & Pick<ClaimStatus, "gap" | "staged">, (typeof RARE)[number]>;

/** A claim in compact form: it saves 200 bytes each, 300 for a mounted one. */
export class KeptClaim extends keptWith<Kind, Rare>(KIND, RARE) implements Whole<Claim> {
  readonly volume: string | undefined;
  readonly upstream: Claim["upstream"];
  readonly #shared: SharedStatus | undefined;
  readonly #since: number | undefined;
  readonly #lastUse: ClaimStatus["lastUse"];
  /** The claim whose status was read last, and that status: one decision reads it many times. */
  static #read: { readonly claim: KeptClaim; readonly status: ClaimStatus | undefined } | undefined;

  constructor(claim: Claim, values: ClaimValues) {
    const { status } = claim;
    super({ ...claim, gap: status?.gap, staged: status?.staged }, values);
    this.volume = claim.volume;
    this.upstream = claim.upstream;
    // What names a pod or a record is in one claim alone.
    values.texts.share([this.key, this.uid, this.volume, status?.lastUse?.node]);
    this.#shared = status && sharedOf(status, values);
    this.#since = secondsOf(status?.sinceMs);
    this.#lastUse = status?.lastUse;
  }

  get namespace(): string {
    return this.key.slice(0, this.key.indexOf("/"));
  }

  get name(): string {
    return this.key.slice(this.key.indexOf("/") + 1);
  }

  get status(): ClaimStatus | undefined {
    if (KeptClaim.#read?.claim !== this) KeptClaim.#read = { claim: this, status: this.#wholeStatus() };
    return KeptClaim.#read.status;
  }

  #wholeStatus(): ClaimStatus | undefined {
    const sinceMs = millisecondsOf(this.#since);
    if (this.#shared === undefined || sinceMs === undefined) return undefined;
    const { message, ...shared } = this.#shared;
    const { gap, staged } = this;
    const rare = { ...(gap !== undefined && { gap }), ...(staged !== undefined && { staged }) };
    const status = { ...shared, sinceMs, lastUse: this.#lastUse, ...rare };
    if (message !== undefined) return { ...status, message };
    return {
      ...status,
      get message() {
        return unusedMessage(status);
      },
    };
  }
}

/** A message with the last use in it differs from claim to claim. */
function sharedOf(status: ClaimStatus, { statuses }: ClaimValues): SharedStatus {
  const { unused, reason, message, mountedOn } = status;
  const isOwn = !unused || message !== unusedMessage(status);
  return statuses.of({ unused, reason, message: isOwn ? message : undefined, mountedOn });
}
