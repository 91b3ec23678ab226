import type { SimApi } from "../engine/api/api.ts";
import type { JsonObject, ObjectRef } from "../engine/api/objects.ts";
import { NAMESPACE, type PodPhase, type PodVolume, podObject, podStatus, WAITING } from "./objects.ts";
import { secondsText } from "./time.ts";

/** How long what a kubelet does with a pod takes, milliseconds of true time, and how it does it. */
export interface PodPace {
  readonly mountMs: number;
  readonly publishMs: number;
  readonly startMs: number;
  readonly graceMs: number;
  /** From the end of the containers until the final status is in the API. */
  readonly statusMs: number;
  /** For each mount. */
  readonly unmountMs: number;
  readonly unstageMs: number;
  readonly isStagingLeaked: boolean;
  /** Its driver mounts twice over. */
  readonly isStacked: boolean;
  readonly hasSubPaths: boolean;
  /** The kubelet mounts a pod's volumes in any order: the token's after the others. */
  readonly isTokenLast: boolean;
  /** Its first attempt to mount fails after so long, the driver cleans up, and the kubelet tries again later. */
  readonly retry?: { readonly heldMs: number; readonly afterMs: number };
}

/** A pod as the API server has it, or had it. */
export interface PodRecord {
  readonly uid: string;
  /** `namespace/name` */
  readonly key: string;
  readonly name: string;
  /** Empty until it is scheduled. */
  node: string;
  readonly volumes: readonly PodVolume[];
  readonly pace: PodPace;
  /** What its controller is called. */
  readonly owner: string;
  /** By true time. */
  readonly madeAt: number;
  /** When, by true time, it was bound to its node; nothing while it is on none. */
  boundAt: number | undefined;
  isThere: boolean;
  isDeleting: boolean;
  /** The boot in which its containers were started last; nothing before they were. */
  startedIn: string | undefined;
  /** Its phase is final. */
  isOver: boolean;
  /** When, by true time, the API server first showed that it was over: finished or gone. */
  overAt: number | undefined;
}

interface PodsParts {
  readonly api: SimApi;
  readonly now: () => number;
  /** The API server's clock. */
  readonly wallMs: () => number;
}

/** All pods but those of Mooring. */
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

  /** Its controller has its name, and no other pod, unless told. */
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

  /** With grace: the kubelet takes it away when it is done. Without, or when it is finished or on no node: at once. */
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

  /** Somebody else has failed a pod, and its kubelet takes that over. */
  takeOver(pod: PodRecord): void {
    if (pod.isOver) return;
    pod.isOver = true;
    pod.overAt = this.#parts.now();
  }

  /** Its kubelet, by which the pod waits still, writes that over what somebody else has made of it. */
  takeBack(pod: PodRecord): void {
    if (!pod.isThere || pod.isOver || pod.startedIn !== undefined) return;
    const status = { phase: "Pending", containerStatuses: WAITING };
    this.#parts.api.update(refOf(pod), (object) => ({ ...object, status }), { subresource: "status" });
  }

  /** Somebody else has deleted it. */
  noteGone(pod: PodRecord): void {
    pod.isThere = false;
    pod.overAt ??= this.#parts.now();
  }

  /** A status of another pod of that name is refused by its UID. A final phase stays. */
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
