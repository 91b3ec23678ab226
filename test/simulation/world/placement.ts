import type { SimApi } from "../engine/api/api.ts";
import type { ApiObject, Json, JsonObject, ObjectRef } from "../engine/api/objects.ts";
import { CSI_DRIVER } from "./kubelet-paths.ts";

/** Zones of nodes and volumes. */
export const ZONES = ["a", "b"] as const;
export type Zone = (typeof ZONES)[number];

interface PlacementParts {
  readonly api: SimApi;
  /** True time. */
  readonly now: () => number;
}

/** A span of true time; open-ended while it lasts. */
interface Spell {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Zones of nodes, node affinities of volumes, and what the attach-detach controller, which checks neither, has attached. */
export class Placement {
  readonly #parts: PlacementParts;
  readonly #zones = new Map<string, Zone>();
  /** By volume and node: when its affinity excluded the node, by what was stored. */
  readonly #excluded = new Map<string, readonly Spell[]>();
  /** By device and node. */
  readonly #attached = new Map<string, number>();

  constructor(parts: PlacementParts) {
    this.#parts = parts;
    parts.api.create("csidrivers", { metadata: { name: CSI_DRIVER }, spec: { attachRequired: true } });
    parts.api.observe(({ resource }) => {
      if (resource === "nodes" || resource === "persistentvolumes") this.#note();
    });
  }

  /** A node starts in the first zone. */
  zoneOf(node: string): Zone {
    return this.#zones.get(node) ?? ZONES[0];
  }

  /** The node's driver registers the node's zone. */
  relabel(node: string, zone: Zone): void {
    this.#zones.set(node, zone);
    this.#parts.api.update(nodeRef(node), ({ metadata, ...node }) => ({
      ...node,
      metadata: { ...metadata, labels: { ...metadata.labels, zone } },
    }));
  }

  /** Moves a volume: from now on it may be used in that zone alone, or anywhere. */
  move(pv: string, zone: Zone | undefined): void {
    const matchExpressions = [{ key: "zone", operator: "In", values: [zone ?? ""] }];
    const nodeAffinity = zone === undefined ? undefined : { required: { nodeSelectorTerms: [{ matchExpressions }] } };
    this.#parts.api.update({ resource: "persistentvolumes", name: pv }, (object) => ({
      ...object,
      spec: { ...objectIn(object.spec), nodeAffinity },
    }));
  }

  /** By the stored objects; a missing object excludes nothing. */
  isExcluded(pv: string, node: string): boolean {
    const { api } = this.#parts;
    const zone = api.get(nodeRef(node))?.metadata.labels?.zone;
    const volume = api.get({ resource: "persistentvolumes", name: pv });
    const wanted = volume === undefined ? undefined : zoneIn(volume);
    return zone !== undefined && wanted !== undefined && wanted !== zone;
  }

  /** Whether the node was excluded at any time since then. */
  wasExcluded(pv: string, node: string, sinceMs: number): boolean {
    return this.isExcluded(pv, node) || (this.#excluded.get(`${pv} ${node}`) ?? []).some(({ toMs }) => toMs >= sinceMs);
  }

  /** Since when the node has been excluded; undefined where it is not. */
  excludedSince(pv: string, node: string): number | undefined {
    const last = this.#excluded.get(`${pv} ${node}`)?.at(-1);
    return last?.toMs === Number.POSITIVE_INFINITY ? last.fromMs : undefined;
  }

  isAttached(handle: string, node: string): boolean {
    return attachedIn(this.#parts.api.get(nodeRef(node))).includes(deviceOf(handle));
  }

  /** Since when, by true time, it has been attached; infinity where it is not. */
  attachedSince(handle: string, node: string): number {
    return this.isAttached(handle, node)
      ? (this.#attached.get(`${handle} ${node}`) ?? Number.POSITIVE_INFINITY)
      : Number.POSITIVE_INFINITY;
  }

  setAttached(node: string, handle: string, isAttached: boolean): void {
    const key = `${handle} ${node}`;
    if (!isAttached) this.#attached.delete(key);
    else if (!this.#attached.has(key)) this.#attached.set(key, this.#parts.now());
    this.#parts.api.update(
      nodeRef(node),
      (object) => {
        const others = attachedIn(object).filter((name) => name !== deviceOf(handle));
        const names = isAttached ? [...others, deviceOf(handle)] : others;
        const volumesAttached = names.map((name) => ({ name, devicePath: "" }));
        return { ...object, status: { ...objectIn(object.status), volumesAttached } };
      },
      { subresource: "status" },
    );
  }

  #note(): void {
    const { api, now } = this.#parts;
    for (const { metadata: volume } of api.list("persistentvolumes")) {
      for (const { metadata: node } of api.list("nodes"))
        this.#noteOne(`${volume.name} ${node.name}`, {
          isExcluded: this.isExcluded(volume.name, node.name),
          nowMs: now(),
        });
    }
  }

  #noteOne(key: string, { isExcluded, nowMs }: { readonly isExcluded: boolean; readonly nowMs: number }): void {
    const spells = this.#excluded.get(key) ?? [];
    const last = spells.at(-1);
    const isOpen = last?.toMs === Number.POSITIVE_INFINITY;
    if (isOpen === isExcluded) return;
    const before = isOpen ? spells.slice(0, -1) : spells;
    const next =
      isOpen && last !== undefined ? { ...last, toMs: nowMs } : { fromMs: nowMs, toMs: Number.POSITIVE_INFINITY };
    this.#excluded.set(key, [...before, next]);
  }
}

function nodeRef(name: string): ObjectRef {
  return { resource: "nodes", name };
}

function deviceOf(handle: string): string {
  return `kubernetes.io/csi/${CSI_DRIVER}^${handle}`;
}

function attachedIn(node: ApiObject | undefined): readonly string[] {
  const { volumesAttached } = objectIn(node?.status);
  return Array.isArray(volumesAttached) ? volumesAttached.map((one) => String(objectIn(one).name)) : [];
}

/** Reads the one form of affinity that `move` writes. */
function zoneIn({ spec }: ApiObject): string | undefined {
  const { nodeAffinity } = objectIn(spec);
  return /"values":\["([^"]*)"\]/.exec(JSON.stringify(nodeAffinity ?? {}))?.[1];
}

function objectIn(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
