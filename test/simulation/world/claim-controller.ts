import type { SimApi, StoreEvent } from "../engine/api/api.ts";
import { finalizersOf, PVC_PROTECTION, unprotected } from "../engine/api/deletion.ts";
import type { ApiObject } from "../engine/api/objects.ts";
import { claimNamesOf, meansClaim } from "./claims.ts";
import { NAMESPACE } from "./objects.ts";
import type { PodRecord } from "./pods.ts";

interface ControllerParts {
  readonly api: SimApi;
  readonly now: () => number;
  readonly after: (ms: number, act: () => void) => void;
  /** The pods in the API server. */
  readonly pods: () => readonly PodRecord[];
  /** Also finds a pod that is gone. */
  readonly podByUid: (uid: string) => PodRecord | undefined;
}

/** Delay until its watch shows a write. Milliseconds. */
const WATCH_DELAY_MS = 30;
/** k8s.io/client-go: workqueue.DefaultTypedControllerRateLimiter. */
const FIRST_RETRY_MS = 5;
const LONGEST_RETRY_MS = 1_000_000;

/**
 * kube-controller-manager's protection of claims (kubernetes/kubernetes 1.36, pkg/controller/volume/pvcprotection): it removes the
 * finalizer of a deleted claim once no scheduled pod names the claim, finished or not. It retries a refused write at each write of the
 * claim, and after a time that doubles.
 */
export class ClaimController {
  readonly #parts: ControllerParts;
  /** Claims that are being deleted, by UID, as its watch shows them. */
  readonly #seen = new Map<string, ApiObject>();
  readonly #failures = new Map<string, number>();
  readonly #retryAt = new Map<string, number>();

  constructor(parts: ControllerParts) {
    this.#parts = parts;
    parts.api.observe((event) => this.#onEvent(event));
  }

  /** UIDs of claims whose finalizer the server refused to remove. */
  readonly refused = new Set<string>();

  /** The true time of its next retry for a claim; undefined without a pending retry. */
  retryAt(uid: string): number | undefined {
    return this.#retryAt.get(uid);
  }

  /** The store went back: the versions that it had seen are no longer valid. */
  relist(): void {
    const { api, after } = this.#parts;
    after(WATCH_DELAY_MS, () => {
      for (const claim of api.list("persistentvolumeclaims")) {
        const { uid, deletionTimestamp } = claim.metadata;
        if (deletionTimestamp === undefined) continue;
        this.#seen.set(uid, claim);
        this.#sync(uid);
      }
    });
  }

  #onEvent({ resource, type, object }: StoreEvent): void {
    const { after } = this.#parts;
    if (resource === "pods" && (type === "DELETED" || isOver(object)))
      after(WATCH_DELAY_MS, () => this.#onPod(object.metadata.uid));
    if (resource !== "persistentvolumeclaims" || object.metadata.deletionTimestamp === undefined) return;
    const { uid } = object.metadata;
    after(WATCH_DELAY_MS, () => {
      if (type === "DELETED") {
        this.#forget(uid);
        return;
      }
      this.#seen.set(uid, object);
      this.#sync(uid);
    });
  }

  /** A pod changed: the claims that it names may be free now. */
  #onPod(podUid: string): void {
    const pod = this.#parts.podByUid(podUid);
    const names = pod === undefined ? [] : claimNamesOf(pod);
    for (const [uid, { metadata }] of this.#seen) if (names.includes(metadata.name)) this.#sync(uid);
  }

  #sync(uid: string): void {
    const claim = this.#seen.get(uid);
    if (claim === undefined || !finalizersOf(claim).includes(PVC_PROTECTION)) return;
    if (this.#isNamed(claim)) {
      this.#settle(uid);
      return;
    }
    const { name, resourceVersion } = claim.metadata;
    const { api } = this.#parts;
    const isUp = api.servers.some((server) => server.isUp);
    const ref = { resource: "persistentvolumeclaims", namespace: NAMESPACE, name } as const;
    const next = { ...claim, metadata: { ...claim.metadata, resourceVersion } };
    if (isUp && api.attempt(ref, () => unprotected(next))) this.#settle(uid);
    else {
      this.refused.add(uid);
      this.#retry(uid);
    }
  }

  /** A scheduled pod names the claim. The kubelet starts no pod that arrives after the deletion. */
  #isNamed({ metadata: { name, ownerReferences } }: ApiObject): boolean {
    const owners = JSON.stringify(ownerReferences ?? []);
    return this.#parts.pods().some((pod) => {
      const owner = owners.includes(`"${pod.uid}"`) ? pod.uid : undefined;
      return pod.node !== "" && meansClaim(pod, { name, owner });
    });
  }

  #retry(uid: string): void {
    const failures = this.#failures.get(uid) ?? 0;
    this.#failures.set(uid, failures + 1);
    const { now, after } = this.#parts;
    const delayMs = Math.min(FIRST_RETRY_MS * 2 ** failures, LONGEST_RETRY_MS);
    const dueMs = Math.min(this.#retryAt.get(uid) ?? Number.POSITIVE_INFINITY, now() + delayMs);
    if (this.#retryAt.get(uid) === dueMs) return;
    this.#retryAt.set(uid, dueMs);
    after(dueMs - now(), () => {
      if (this.#retryAt.get(uid) !== dueMs) return;
      this.#retryAt.delete(uid);
      this.#sync(uid);
    });
  }

  #settle(uid: string): void {
    this.#failures.delete(uid);
    this.#retryAt.delete(uid);
  }

  #forget(uid: string): void {
    this.#seen.delete(uid);
    this.#settle(uid);
  }
}

function isOver({ status }: ApiObject): boolean {
  return /"phase":"(Succeeded|Failed)"/.test(JSON.stringify(status ?? {}));
}
