import type { SimApi } from "../engine/api/api.ts";
import type { JsonObject, ObjectRef } from "../engine/api/objects.ts";
import { NAMESPACE, type PodPhase, type PodVolume, podObject, podStatus, WAITING } from "./objects.ts";
import { secondsText } from "./time.ts";

/** How long the kubelet takes for each part of a pod's life, in milliseconds of true time, and how it does it. */
export interface PodPace {
  readonly mountMs: number;
  readonly publishMs: number;
  readonly startMs: number;
  readonly graceMs: number;
  /** From the end of the containers until the API has the final status. */
  readonly statusMs: number;
  /** For each mount. */
  readonly unmountMs: number;
  readonly unstageMs: number;
  readonly isStagingLeaked: boolean;
  /** Its driver mounts twice. */
  readonly isStacked: boolean;
  readonly hasSubPaths: boolean;
  /** The kubelet mounts a pod's volumes in any order: the token after the others. */
  readonly isTokenLast: boolean;
  /** The first mount fails after `heldMs`, the driver cleans up, and the kubelet retries after `afterMs`. */
  readonly retry?: { readonly heldMs: number; readonly afterMs: number };
}

/** A pod that is, or was, in the API server. */
export interface PodRecord {
  readonly uid: string;
  /** `namespace/name` */
  readonly key: string;
  readonly name: string;
  /** Empty until it is scheduled. */
  node: string;
  readonly volumes: readonly PodVolume[];
  readonly pace: PodPace;
  /** The name of its controller. */
  readonly owner: string;
  /** True time. */
  readonly madeAt: number;
  /** The true time of its binding; undefined while it has no node. */
  boundAt: number | undefined;
  isThere: boolean;
  isDeleting: boolean;
  /** The boot in which its containers last started; undefined before. */
  startedIn: string | undefined;
  /** Whether its phase is final. */
  isOver: boolean;
  /** The true time at which the API server first showed it as over: finished or gone. */
  overAt: number | undefined;
}

interface PodsParts {
  readonly api: SimApi;
  readonly now: () => number;
  /** The API server's clock. */
  readonly wallMs: () => number;
}

/** All pods except Mooring's own. */
export class Pods {
  readonly #parts: PodsParts;
  readonly #pods = new Map<string, PodRecord>();

  constructor(parts: PodsParts) {
    this.#parts = parts;
  }

  get all(): readonly PodRecord[] {
    return [...this.#pods.values()];
  }

  get there(): readonly PodRecord[] {
    return this.all.filter(({ isThere }) => isThere);
  }

  on(node: string): readonly PodRecord[] {
    return this.there.filter((pod) => pod.node === node);
  }

  byUid(uid: string): PodRecord | undefined {
    return this.#pods.get(uid);
  }

  /** The default owner is a controller of the same name, with no other pod. */
  create(pod: Pick<PodRecord, "name" | "node" | "volumes" | "pace"> & { readonly owner?: string }): PodRecord {
    const { name, node, volumes, pace, owner = name } = pod;
    const { uid } = this.#parts.api.create("pods", podObject({ name, node, volumes, owner })).metadata;
    const live = {
      madeAt: this.#parts.now(),
      boundAt: node === "" ? undefined : this.#parts.now(),
      isThere: true,
      isDeleting: false,
      startedIn: undefined,
      isOver: false,
      overAt: undefined,
    };
    const record: PodRecord = { uid, key: `${NAMESPACE}/${name}`, name, node, volumes, pace, owner, ...live };
    this.#pods.set(uid, record);
    return record;
  }

  /** The scheduler binds it to a node. */
  schedule(pod: PodRecord, node: string): void {
    if (!pod.isThere || pod.isDeleting || pod.node !== "") return;
    pod.node = node;
    pod.boundAt = this.#parts.now();
    this.#parts.api.update(refOf(pod), (object) => {
      const spec = typeof object.spec === "object" && object.spec !== null ? object.spec : {};
      return { ...object, spec: { ...spec, nodeName: node } };
    });
  }

  /** With grace, the kubelet removes it when it is done. Forced, finished or without a node, it goes at once. */
  delete(pod: PodRecord, isForced: boolean): void {
    if (!pod.isThere) return;
    if (isForced || pod.isOver || pod.node === "") this.remove(pod);
    if (pod.isDeleting || !pod.isThere) return;
    pod.isDeleting = true;
    const deletionTimestamp = secondsText(this.#parts.wallMs() + 30_000);
    this.#parts.api.update(refOf(pod), (object) => ({
      ...object,
      metadata: { ...object.metadata, deletionTimestamp, deletionGracePeriodSeconds: 30 },
    }));
  }

  remove(pod: PodRecord): void {
    if (!pod.isThere) return;
    pod.isThere = false;
    pod.overAt ??= this.#parts.now();
    this.#parts.api.delete(refOf(pod));
  }

  /** Another client has failed the pod, and its kubelet accepts that. */
  takeOver(pod: PodRecord): void {
    if (pod.isOver) return;
    pod.isOver = true;
    pod.overAt = this.#parts.now();
  }

  /** Its kubelet, for which the pod still waits, overwrites the status that another client wrote. */
  takeBack(pod: PodRecord): void {
    if (!pod.isThere || pod.isOver || pod.startedIn !== undefined) return;
    const status = { phase: "Pending", containerStatuses: WAITING };
    this.#parts.api.update(refOf(pod), (object) => ({ ...object, status }), { subresource: "status" });
  }

  /** Another client has deleted it. */
  noteGone(pod: PodRecord): void {
    pod.isThere = false;
    pod.overAt ??= this.#parts.now();
  }

  /** The UID in the request protects another pod of that name. A final phase stays. */
  postStatus(pod: PodRecord, phase: PodPhase): void {
    if (!pod.isThere || pod.isOver) return;
    if (phase !== "Running") {
      pod.isOver = true;
      pod.overAt = this.#parts.now();
    }
    const status: JsonObject = podStatus(phase);
    this.#parts.api.update(refOf(pod), (object) => ({ ...object, status }), { subresource: "status" });
  }
}

function refOf({ name }: PodRecord): ObjectRef {
  return { resource: "pods", namespace: NAMESPACE, name };
}
