import { SharedTexts } from "../../common/kube/shared-texts.ts";
import { SharedValues } from "../../common/kube/shared-values.ts";
import type { Claim } from "../../common/storage/claim.ts";
import type { ClaimStatus, MountedOn } from "../../common/storage/claim-status.ts";
import { millisecondsOf, ownText, secondsOf, type Whole } from "./kept.ts";

/** What thousands of claims have in common. */
type ClaimKind = Pick<Claim, "phase" | "isDeleting" | "storageClass" | "capacity">;
/** What few claims have at all. */
type Rare = Pick<Claim, "controllerUid" | "strays">;

/** The values that claims share with each other, and the texts that they share with volumes, pods and nodes. */
export class ClaimValues {
  readonly kinds = new SharedValues<ClaimKind>();
  readonly mountedOn = new SharedValues<MountedOn>();
  readonly texts = new SharedTexts();
}

/** A claim as it is kept: 100 bytes less of each than its fields as they are told, and of one that is mounted 200. */
export class KeptClaim implements Whole<Claim> {
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly volume: string | undefined;
  readonly status: ClaimStatus | undefined;
  readonly upstream: Claim["upstream"];
  readonly #kind: ClaimKind;
  readonly #created: number | undefined;
  readonly #rare: Rare | undefined;

  constructor(claim: Claim, values: ClaimValues) {
    const { phase, isDeleting, storageClass, capacity, controllerUid, strays } = claim;
    this.key = claim.key;
    this.uid = claim.uid;
    this.resourceVersion = ownText(claim.resourceVersion);
    this.volume = claim.volume;
    this.status = statusOf(claim.status, values);
    this.upstream = claim.upstream;
    values.texts.share([this.key, this.uid, this.volume, this.status]);
    this.#kind = values.kinds.of({ phase, isDeleting, storageClass, capacity });
    this.#created = secondsOf(claim.createdAtMs);
    this.#rare = controllerUid === undefined && strays === undefined ? undefined : { controllerUid, strays };
  }

  get namespace(): string {
    return this.key.slice(0, this.key.indexOf("/"));
  }

  get name(): string {
    return this.key.slice(this.key.indexOf("/") + 1);
  }

  get phase(): string {
    return this.#kind.phase;
  }

  get isDeleting(): boolean {
    return this.#kind.isDeleting;
  }

  get storageClass(): string | undefined {
    return this.#kind.storageClass;
  }

  get capacity(): string | undefined {
    return this.#kind.capacity;
  }

  get createdAtMs(): number | undefined {
    return millisecondsOf(this.#created);
  }

  get controllerUid(): string | undefined {
    return this.#rare?.controllerUid;
  }

  get strays(): Claim["strays"] {
    return this.#rare?.strays;
  }
}

/** A node has twenty claims mounted, whose statuses name it. */
function statusOf(status: ClaimStatus | undefined, values: ClaimValues): ClaimStatus | undefined {
  if (status?.mountedOn === undefined || status.blindGap !== undefined) return status;
  const { unused, reason, message, sinceMs, mountedOn, lastUse } = status;
  return { unused, reason, message, sinceMs, mountedOn: values.mountedOn.of(mountedOn), lastUse };
}
