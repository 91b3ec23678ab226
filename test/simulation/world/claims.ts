import type { SimApi, StoreEvent } from "../engine/api/api.ts";
import { unprotected } from "../engine/api/deletion.ts";
import type { ApiObject, JsonObject, ObjectRef } from "../engine/api/objects.ts";
import { withOverride } from "../engine/api/protection.ts";
import type { KubeletVolume, VolumeKind } from "./kubelet-paths.ts";
import { claimObject, type LeftStatus, NAMESPACE, type ReclaimPolicy, volumeObject } from "./objects.ts";
import type { PodRecord } from "./pods.ts";
import { secondsText } from "./time.ts";

/** An existing claim, with its volume. */
export interface ClaimRecord {
  readonly name: string;
  readonly uid: string;
  readonly volume: KubeletVolume;
  readonly reclaim: ReclaimPolicy;
  /** The pod that owns it. */
  readonly owner: string | undefined;
  isDeleting: boolean;
  /** What happens to its name once it is gone. */
  next: NextClaim | undefined;
}

/**
 * The next claim of the same name: with a new volume, bound to the old volume, or from a backup: with a new volume and the status and
 * annotations of the old claim.
 */
export type NextClaim = "new-volume" | "same-volume" | "old-status";

/** A new claim. Volumes with equal handles are one attached volume for Kubernetes. */
export interface NewClaim {
  readonly name: string;
  readonly kind: VolumeKind;
  readonly handle?: string | undefined;
  readonly reclaim?: ReclaimPolicy | undefined;
  readonly owner?: { readonly name: string; readonly uid: string } | undefined;
  /** Status and annotations of an earlier claim of that name. */
  readonly left?: LeftStatus | undefined;
}

interface ClaimsParts {
  readonly api: SimApi;
  /** True time. */
  readonly now: () => number;
  /** The API server's clock. */
  readonly wallMs: () => number;
  readonly pods: () => readonly PodRecord[];
  /** Calls `act` after a span of true time. */
  readonly after: (ms: number, act: () => void) => void;
}

/** Time between the end of a claim and the next claim of its name. Milliseconds. */
const AGAIN_MS = 1_200;
/** Delay until a controller sees a write. Milliseconds. */
const WATCH_DELAY_MS = 30;

/** Claims and volumes, with the part of the binder and the provisioner. */
export class Claims {
  readonly #parts: ClaimsParts;
  readonly #claims = new Map<string, ClaimRecord>();
  /** Every claim that ever existed, by UID. */
  readonly #known = new Map<string, ClaimRecord>();
  /** UIDs of claims for which Mooring may attribute a mount of an earlier claim of the same volume. */
  readonly shadowed = new Set<string>();
  /** UIDs of claims that were created with the status of an earlier claim. */
  readonly restored = new Set<string>();
  readonly #madeAt = new Map<string, number>();
  /** Released volumes; the provisioner deletes them once they are detached. */
  readonly #crashPoints = new Set<string>();
  #made = 0;

  constructor(parts: ClaimsParts) {
    this.#parts = parts;
    parts.api.observe((event) => this.#onEvent(event));
  }

  get all(): readonly ClaimRecord[] {
    return [...this.#claims.values()];
  }

  /** Also the claims that are gone. */
  get ever(): readonly ClaimRecord[] {
    return [...this.#known.values()];
  }

  /** The true time of a claim's creation. */
  madeAt(uid: string): number | undefined {
    return this.#madeAt.get(uid);
  }

  /** The true time of the newest claim's creation. */
  get lastMadeAt(): number {
    return Math.max(0, ...this.#madeAt.values());
  }

  get(name: string): ClaimRecord | undefined {
    return this.#claims.get(name);
  }

  /** Also finds a claim that is gone. */
  byUid(uid: string): ClaimRecord | undefined {
    return this.#known.get(uid);
  }

  create({ name, kind, handle, reclaim = "Retain", owner, left }: NewClaim): ClaimRecord {
    this.#made += 1;
    const pv = `pv-${this.#made}`;
    const volume = { pv, kind, handle: handle ?? `handle-${this.#made}` };
    this.#parts.api.create("persistentvolumes", volumeObject(volume, reclaim));
    return this.#bind({ name, volume, reclaim, owner, left });
  }

  #bind({ name, volume, reclaim, owner, left }: Bound): ClaimRecord {
    const { uid } = this.#parts.api.create(
      "persistentvolumeclaims",
      claimObject({ name, pv: volume.pv, owner, left }),
    ).metadata;
    if (left !== undefined) this.restored.add(uid);
    this.#madeAt.set(uid, this.#parts.now());
    this.#setVolume(volume.pv, { phase: "Bound", claimRef: { namespace: NAMESPACE, name, uid } });
    const record = { name, uid, volume, reclaim, owner: owner?.uid, isDeleting: false, next: undefined };
    this.#claims.set(name, record);
    this.#known.set(uid, record);
    return record;
  }

  /** Like the API server, it records when the phase changes. */
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

  /** Like `kubectl delete`: the claim stays until its finalizer is gone. */
  delete(name: string, next: NextClaim | undefined): void {
    const claim = this.#claims.get(name);
    if (claim === undefined || claim.isDeleting) return;
    claim.isDeleting = true;
    claim.next = next;
    this.#parts.api.requestDeletion(refOf(name));
  }

  /** A user sets the override, with any value. */
  setOverride(name: string, value: string): void {
    this.#parts.api.update(refOf(name), (object) => withOverride(object, value));
  }

  /** An administrator removes the finalizer by hand; the policy may refuse that. */
  takeFinalizer(name: string): void {
    this.#parts.api.attempt(refOf(name), unprotected);
  }

  /** The garbage collector deletes the ephemeral claims of pods that are gone. */
  collect(): void {
    const pods = this.#parts.pods().filter(({ isThere }) => isThere);
    for (const { name, owner } of this.all)
      if (owner !== undefined && !pods.some(({ uid }) => uid === owner)) this.delete(name, undefined);
  }

  #onEvent({ resource, type, object, previous }: StoreEvent): void {
    if (type !== "DELETED") return;
    if (resource === "volumeattachments") this.#parts.after(WATCH_DELAY_MS, () => this.#destroy());
    const claim = resource === "persistentvolumeclaims" ? this.#known.get(object.metadata.uid) : undefined;
    if (claim !== undefined) this.#onGone(claim, previous);
  }

  #onGone(claim: ClaimRecord, object: ApiObject | undefined): void {
    const { name, volume, reclaim } = claim;
    if (this.#claims.get(name) === claim) this.#claims.delete(name);
    const { after } = this.#parts;
    after(WATCH_DELAY_MS, () => this.#release(claim));
    const { next } = claim;
    const left = leftOn(object);
    if (next !== undefined) after(AGAIN_MS, () => this.#makeAgain({ name, volume, reclaim, left }, next));
  }

  #release({ name, uid, volume: { pv }, reclaim }: ClaimRecord): void {
    this.#setVolume(pv, { phase: "Released", claimRef: { namespace: NAMESPACE, name, uid } });
    if (reclaim !== "Delete") return;
    this.#crashPoints.add(pv);
    this.#destroy();
  }

  /** The provisioner waits for the detach, not for the unmount. */
  #destroy(): void {
    const { api } = this.#parts;
    const attached = api.list("volumeattachments").map(({ spec }) => JSON.stringify(spec));
    for (const pv of this.#crashPoints) {
      if (attached.some((spec) => spec.includes(`"${pv}"`))) continue;
      this.#crashPoints.delete(pv);
      api.delete({ resource: "persistentvolumes", name: pv });
    }
  }

  #makeAgain({ name, volume, reclaim, left }: Omit<Bound, "owner">, next: NextClaim): void {
    if (this.#claims.has(name)) return;
    // A claim cannot bind to a volume that is deleted.
    if (next === "same-volume" && reclaim === "Retain") this.shadowed.add(this.#bind({ name, volume, reclaim }).uid);
    else this.create({ name, kind: volume.kind, reclaim, left: next === "old-status" ? left : undefined });
  }
}

type Bound = Pick<ClaimRecord, "name" | "volume" | "reclaim"> & Pick<NewClaim, "owner" | "left">;

/** The status and annotations that a backup keeps of a claim. */
function leftOn(claim: ApiObject | undefined): LeftStatus {
  const status = claim?.status;
  const conditions = typeof status === "object" && status !== null && "conditions" in status ? status.conditions : [];
  return { annotations: { ...claim?.metadata.annotations }, conditions: conditions ?? [] };
}

function refOf(name: string): ObjectRef {
  return { resource: "persistentvolumeclaims", namespace: NAMESPACE, name };
}

/** The claims that a pod names. */
export function claimNamesOf({ name, volumes }: Pick<PodRecord, "name" | "volumes">): readonly string[] {
  return volumes.flatMap((volume) => {
    if (volume.by === "inline") return [];
    return [volume.by === "claim" ? volume.claim : `${name}-${volume.name}`];
  });
}

/** Whether a pod means this very claim: a pod means an ephemeral claim only when it owns it (ephemeral.VolumeIsForPod). */
export function meansClaim(pod: PodRecord, { name, owner }: Pick<ClaimRecord, "name" | "owner">): boolean {
  if (!claimNamesOf(pod).includes(name)) return false;
  const isPlain = pod.volumes.some((volume) => volume.by === "claim" && volume.claim === name);
  return isPlain || owner === pod.uid;
}
