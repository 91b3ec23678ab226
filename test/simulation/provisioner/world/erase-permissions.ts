import type { SimApi } from "../../engine/api/api.ts";
import { finalizersOf } from "../../engine/api/deletion.ts";
import { textAt } from "../../engine/api/json.ts";
import type { ApiObject } from "../../engine/api/objects.ts";
import { NODE_LABEL } from "./controllers.ts";

export const FINALIZER = "external-provisioner.volume.kubernetes.io/finalizer";

interface ErasePermission {
  readonly node: string;
  /** The image may be erased until then, in true time. */
  readonly untilMs: number;
}

/** Which images may be erased, by the objects in the API server. */
export class ErasePermissions {
  readonly #known = new Map<string, ErasePermission>();
  #there: ReadonlySet<string> = new Set();
  readonly #given = new Set<string>();

  /**
   * A PersistentVolume or a claim has changed. A request from before the change may still erase the image within the grace period. A
   * deleted volume keeps its last permission.
   */
  onChange(api: SimApi, { nowMs, graceMs }: { readonly nowMs: number; readonly graceMs: number }): void {
    const volumes = api.list("persistentvolumes");
    this.#there = new Set(volumes.map(({ metadata }) => metadata.name));
    for (const volume of volumes) {
      const { name, labels } = volume.metadata;
      const before = this.#known.get(name)?.untilMs ?? Number.NEGATIVE_INFINITY;
      const isFree = isDeletable(api, volume);
      if (isFree) this.#given.add(name);
      const past = before === Number.POSITIVE_INFINITY ? nowMs + graceMs : before;
      this.#known.set(name, {
        node: textAt(labels, NODE_LABEL),
        untilMs: isFree ? Number.POSITIVE_INFINITY : past,
      });
    }
  }

  /** Whether it was ever allowed to erase the image. */
  wasEverGranted(volume: string): boolean {
    return this.#given.has(volume);
  }

  /** Until when the node may erase the volume's image, and whether the PersistentVolume exists. */
  of(volume: string, node: string): { readonly untilMs: number; readonly isThere: boolean } {
    const known = this.#known.get(volume);
    if (known?.node !== node) return { untilMs: Number.NEGATIVE_INFINITY, isThere: false };
    return { untilMs: known.untilMs, isThere: this.#there.has(volume) };
  }
}

/** Its claim is gone and its policy is Delete; a client that removes our finalizer becomes responsible for the image. */
function isDeletable(api: SimApi, volume: ApiObject): boolean {
  const { deletionTimestamp } = volume.metadata;
  const isDeleting = deletionTimestamp !== undefined;
  const uid = textAt(volume, "spec", "claimRef", "uid");
  if (textAt(volume, "spec", "persistentVolumeReclaimPolicy") !== "Delete") return false;
  if (isDeleting && !finalizersOf(volume).includes(FINALIZER)) return false;
  if (textAt(volume, "status", "phase") !== "Released" && !(isDeleting && uid === "")) return false;
  return !api.list("persistentvolumeclaims").some(({ metadata }) => metadata.uid === uid);
}
