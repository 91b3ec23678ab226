import type { SimApi, WriteOptions } from "../engine/api/api.ts";
import type { ApiObject, JsonObject } from "../engine/api/objects.ts";
import { ClaimController } from "./claim-controller.ts";
import { type ClaimRecord, Claims, claimNamesOf } from "./claims.ts";
import { CSI_DRIVER, type KubeletVolume } from "./kubelet-paths.ts";
import { NodeStatuses } from "./node-statuses.ts";
import { attachmentObject, NAMESPACE, nodeObject, type PodVolume } from "./objects.ts";
import { Placement } from "./placement.ts";
import { type PodRecord, Pods } from "./pods.ts";
import { secondsText } from "./time.ts";

/** A volume of a pod, as its kubelet mounts it. */
export interface ResolvedVolume extends KubeletVolume {
  /** `namespace/name` */
  readonly claim: string;
  /** Undefined for an inline volume. */
  readonly claimUid: string | undefined;
  readonly device: string;
  readonly hasSubPaths: boolean;
}

interface ClusterParts {
  readonly api: SimApi;
  /** True time. */
  readonly now: () => number;
  /** The API server's clock. */
  readonly wallMs: () => number;
  readonly after: (ms: number, act: () => void) => void;
}

/** A status write. */
const STATUS = { subresource: "status" } as const;

/** The objects of the API server, with the part of Kubernetes' own controllers. */
export class Cluster {
  readonly pods: Pods;
  readonly claims: Claims;
  readonly claimController: ClaimController;
  /** Nodes that cannot reach the API server. */
  readonly cutOff = new Set<string>();
  readonly #parts: ClusterParts;
  /** By node: since when, by true time, its object has been gone; infinity while the object exists. */
  readonly #goneSince = new Map<string, number>();
  readonly #deleted = new Set<string>();
  readonly placement: Placement;
  readonly statuses: NodeStatuses;

  constructor(parts: ClusterParts) {
    const { api, now, wallMs, after } = parts;
    this.#parts = parts;
    this.placement = new Placement(parts);
    this.statuses = new NodeStatuses({
      ...{ now, after, isApiUp: () => api.servers.some(({ isUp }) => isUp) },
      put: (node, told) =>
        this.#updateNode(node, (object) => ({ ...object, status: { ...jsonObject(object.status), ...told } }), STATUS),
    });
    this.pods = new Pods({ api, now, wallMs });
    this.claims = new Claims({ api, now, wallMs, after, pods: () => this.pods.all });
    this.claimController = new ClaimController({
      ...{ api, now, after, pods: () => this.pods.there },
      podByUid: (uid) => this.pods.byUid(uid),
    });
  }

  isReachableFrom(node: string): boolean {
    return !this.cutOff.has(node) && this.#parts.api.servers.some(({ isUp }) => isUp);
  }

  /** Whether the scheduler binds the pod: not while one of its claims is missing or being deleted. */
  canSchedule(pod: PodRecord): boolean {
    return claimNamesOf(pod).every((name) => this.claims.get(name)?.isDeleting === false);
  }

  /** The volumes that the pod's kubelet mounts; undefined while the kubelet has to wait. */
  resolve(pod: PodRecord): readonly ResolvedVolume[] | undefined {
    const found = pod.volumes.map((volume) => this.#resolveOne(pod, volume));
    const known = found.filter((one) => one !== undefined);
    // It mounts no volume whose affinity excludes its node, and waits (checkNodeAffinity in pkg/volume/util/operationexecutor).
    const isExcluded = known.some(({ pv }) => this.placement.isExcluded(pv, pod.node));
    return isExcluded || found.includes(undefined) ? undefined : known;
  }

  #resolveOne(pod: PodRecord, volume: PodVolume): ResolvedVolume | undefined {
    const { hasSubPaths } = pod.pace;
    if (volume.by === "inline") {
      const inline = { pv: volume.name, kind: "csi-plain", handle: "", claim: "", claimUid: undefined } as const;
      return { ...inline, device: "0:77", hasSubPaths: false };
    }
    const claim = this.claims.get(volume.by === "claim" ? volume.claim : `${pod.name}-${volume.name}`);
    // The kubelet refuses a claim of another owner in place of the pod's own ephemeral claim (ephemeral.VolumeIsForPod).
    if (claim === undefined || (volume.by === "ephemeral" && claim.owner !== pod.uid)) return undefined;
    // It also refuses a claim that is being deleted (getPVCExtractPV of the desired state's populator).
    if (claim.isDeleting) return undefined;
    return { ...toVolume(claim), hasSubPaths: hasSubPaths && canHavePieces(claim) };
  }

  /** The attach controller and the kubelet record the attachment before any mount. */
  attach({ pv, kind, handle }: ResolvedVolume, node: string): void {
    if (kind !== "csi" && kind !== "csi-block") return;
    const { api } = this.#parts;
    const name = `csi-${pv}-${node}`;
    if (api.get({ resource: "volumeattachments", name }) === undefined)
      api.create("volumeattachments", attachmentObject(pv, node));
    this.placement.setAttached(node, handle, true);
    this.#setInUse(node, handle, true);
  }

  detach({ pv, handle }: ResolvedVolume, node: string): void {
    this.#parts.api.delete({ resource: "volumeattachments", name: `csi-${pv}-${node}` });
    this.#setInUse(node, handle, false);
    this.placement.setAttached(node, handle, false);
  }

  #setInUse(node: string, handle: string, isInUse: boolean): void {
    const key = `kubernetes.io/csi/${CSI_DRIVER}^${handle}`;
    this.#updateNode(
      node,
      (object) => {
        const status = jsonObject(object.status);
        const before = Array.isArray(status.volumesInUse) ? status.volumesInUse : [];
        const others = before.filter((one) => one !== key);
        return { ...object, status: { ...status, volumesInUse: isInUse ? [...others, key] : others } };
      },
      STATUS,
    );
  }

  /** The kubelet registers its node for this boot; `agoMs`: for how long a node that has no object has been there. */
  register(node: string, bootId: string, agoMs = 0): void {
    this.#goneSince.delete(node);
    const { api, wallMs } = this.#parts;
    if (api.get({ resource: "csinodes", name: node }) === undefined)
      api.create("csinodes", { metadata: { name: node }, spec: { drivers: [{ name: CSI_DRIVER }] } });
    if (api.get({ resource: "nodes", name: node }) === undefined)
      api.create(
        "nodes",
        nodeObject(node, bootId, { zone: this.placement.zoneOf(node), createdAt: secondsText(wallMs() - agoMs) }),
      );
    else this.statuses.set(node, bootId, "True");
  }

  deleteNode(node: string): void {
    this.#parts.api.delete({ resource: "nodes", name: node });
    if (!this.#goneSince.has(node)) this.#goneSince.set(node, this.#parts.now());
    this.#deleted.add(node);
  }

  /** Whether its object was ever deleted. */
  wasRecreated(node: string): boolean {
    return this.#deleted.has(node);
  }

  /** Since when, by true time, the node has had no object; undefined while it has one. */
  nodeGoneSince(node: string): number | undefined {
    return this.#goneSince.get(node);
  }

  /** An administrator sets or removes the out-of-service taint. */
  taint(node: string, isOutOfService: boolean): void {
    const taints = isOutOfService ? [{ key: "node.kubernetes.io/out-of-service", effect: "NoExecute" }] : [];
    this.#updateNode(node, (object) => ({ ...object, spec: { ...jsonObject(object.spec), taints } }));
  }

  #updateNode(name: string, change: (object: ApiObject) => ApiObject, options?: WriteOptions): void {
    this.#parts.api.update({ resource: "nodes", name }, change, options);
  }
}

function toVolume({ name, uid, volume }: ClaimRecord): Omit<ResolvedVolume, "hasSubPaths"> {
  const device = `8:${16 + Number(volume.pv.slice("pv-".length))}`;
  return { ...volume, claim: `${NAMESPACE}/${name}`, claimUid: uid, device };
}

/** A block device has no subpaths, and the runtime binds a hostPath by itself. */
function canHavePieces({ volume: { kind } }: ClaimRecord): boolean {
  return kind !== "csi-block" && kind !== "host-path";
}

function jsonObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
