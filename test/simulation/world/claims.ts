import type { SimApi } from "../engine/api/api.ts";
import type { ApiObject, JsonObject, ObjectRef } from "../engine/api/objects.ts";
import type { KubeletVolume, VolumeKind } from "./kubelet-paths.ts";
import { claimObject, type LeftStatus, NAMESPACE, volumeObject } from "./objects.ts";
import type { PodRecord } from "./pods.ts";
import { secondsText } from "./time.ts";

/** A claim that is there, with its volume. */
export interface ClaimRecord {
  readonly name: string;
  readonly uid: string;
  readonly volume: KubeletVolume;
  /** The pod that controls it. */
  readonly owner: string | undefined;
  isDeleting: boolean;
  /** What becomes of its name when it is gone. */
  next: NextClaim | undefined;
}

/**
 * A claim that is made again under its name: with a volume of its own, or bound to the one that it had, or from a backup: with a volume of
 * its own and all that stood in the status and the annotations of the earlier one.
 */
export type NextClaim = "new-volume" | "same-volume" | "old-status";

/** A claim that is to be made. Equal handles mean volumes that Kubernetes attaches as one. */
export interface NewClaim {
  readonly name: string;
  readonly kind: VolumeKind;
  readonly handle?: string | undefined;
  readonly owner?: { readonly name: string; readonly uid: string } | undefined;
  /** What stood on an earlier claim of that name. */
  readonly left?: LeftStatus | undefined;
}

interface ClaimsParts {
  readonly api: SimApi;
  /** True time. */
  readonly now: () => number;
  /** The API server's clock. */
  readonly wallMs: () => number;
  readonly pods: () => readonly PodRecord[];
  /** Calls after so much true time. */
  readonly after: (ms: number, act: () => void) => void;
}

/** Between the end of a claim and the next of its name. Milliseconds. */
const AGAIN_MS = 1_200;

/** Claims and volumes, and what the binder and the protection controller do with them. */
export class Claims {
  readonly #parts: ClaimsParts;
  readonly #claims = new Map<string, ClaimRecord>();
  /** UIDs of claims beside which a mount of an earlier claim of the same volume may be taken for theirs. */
  readonly shadowed = new Set<string>();
  /** UIDs of claims that were made with what stood on an earlier one. */
  readonly restored = new Set<string>();
  readonly #madeAt = new Map<string, number>();
  #made = 0;

  constructor(parts: ClaimsParts) {
    this.#parts = parts;
  }

  get all(): readonly ClaimRecord[] {
    return [...this.#claims.values()];
  }

  /** When a claim was made, by true time. */
  madeAt(uid: string): number | undefined {
    return this.#madeAt.get(uid);
  }

  get(name: string): ClaimRecord | undefined {
    return this.#claims.get(name);
  }

  create({ name, kind, handle, owner, left }: NewClaim): ClaimRecord {
    this.#made += 1;
    const pv = `pv-${this.#made}`;
    const volume = { pv, kind, handle: handle ?? `handle-${this.#made}` };
    this.#parts.api.create("persistentvolumes", volumeObject(volume));
    return this.#bind({ name, volume, owner, left });
  }

  #bind({ name, volume, owner, left }: Bound): ClaimRecord {
    const { uid } = this.#parts.api.create(
      "persistentvolumeclaims",
      claimObject({ name, pv: volume.pv, owner, left }),
    ).metadata;
    if (left !== undefined) this.restored.add(uid);
    this.#madeAt.set(uid, this.#parts.now());
    this.#setVolume(volume.pv, { phase: "Bound", claimRef: { namespace: NAMESPACE, name, uid } });
    const record = { name, uid, volume, owner: owner?.uid, isDeleting: false, next: undefined };
    this.#claims.set(name, record);
    return record;
  }

  /** The API server itself notes when a phase changes. */
  #setVolume(pv: string, { phase, claimRef }: { readonly phase: string; readonly claimRef: JsonObject }): void {
    const ref = { resource: "persistentvolumes", name: pv } as const;
    const { api, wallMs } = this.#parts;
    api.update(ref, (object) => {
      const spec = typeof object.spec === "object" && object.spec !== null ? object.spec : {};
      return { ...object, spec: { ...spec, claimRef } };
    });
    const status = { phase, lastPhaseTransitionTime: secondsText(wallMs()) };
    api.update(ref, (object) => ({ ...object, status }), { subresource: "status" });
  }

  /** A claim that pods name stays until they are gone. */
  delete(name: string, next: NextClaim | undefined): void {
    const claim = this.#claims.get(name);
    if (claim === undefined || claim.isDeleting) return;
    claim.isDeleting = true;
    claim.next = next;
    const deletionTimestamp = secondsText(this.#parts.wallMs());
    this.#parts.api.update(refOf(name), (object) => ({
      ...object,
      metadata: { ...object.metadata, deletionTimestamp },
    }));
    this.release();
  }

  /** Takes away what is to be deleted and what no pod names any more, and what was made for a pod that is gone. */
  release(): void {
    const pods = this.#parts.pods().filter(({ isThere }) => isThere);
    for (const claim of this.all) {
      const isOrphan = claim.owner !== undefined && !pods.some(({ uid }) => uid === claim.owner);
      const isNamed = pods.some((pod) => claimNamesOf(pod).includes(claim.name));
      if (isOrphan || (claim.isDeleting && !isNamed)) this.#remove(claim);
    }
  }

  #remove({ name, uid, volume, next }: ClaimRecord): void {
    this.#claims.delete(name);
    const left = leftOn(this.#parts.api.get(refOf(name)));
    this.#parts.api.delete(refOf(name));
    this.#setVolume(volume.pv, { phase: "Released", claimRef: { namespace: NAMESPACE, name, uid } });
    if (next !== undefined) this.#parts.after(AGAIN_MS, () => this.#makeAgain({ name, volume, left }, next));
  }

  #makeAgain({ name, volume, left }: Omit<Bound, "owner">, next: NextClaim): void {
    if (this.#claims.has(name)) return;
    if (next === "same-volume") this.shadowed.add(this.#bind({ name, volume }).uid);
    else this.create({ name, kind: volume.kind, left: next === "old-status" ? left : undefined });
  }
}

type Bound = Pick<ClaimRecord, "name" | "volume"> & Pick<NewClaim, "owner" | "left">;

/** What a backup has of a claim beside what was asked for. */
function leftOn(claim: ApiObject | undefined): LeftStatus {
  const status = claim?.status;
  const conditions = typeof status === "object" && status !== null && "conditions" in status ? status.conditions : [];
  return { annotations: { ...claim?.metadata.annotations }, conditions: conditions ?? [] };
}

function refOf(name: string): ObjectRef {
  return { resource: "persistentvolumeclaims", namespace: NAMESPACE, name };
}

/** The names of the claims that a pod means. */
export function claimNamesOf({ name, volumes }: PodRecord): readonly string[] {
  return volumes.flatMap((volume) => {
    if (volume.by === "inline") return [];
    return [volume.by === "claim" ? volume.claim : `${name}-${volume.name}`];
  });
}
