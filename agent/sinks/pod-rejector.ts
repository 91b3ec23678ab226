import * as v from "valibot";
import { outcomeOf, patchObject, type WriteOutcome, type WriteTarget } from "../../common/kube/apply.ts";
import { ApiError, type KubeClient } from "../../common/kube/client.ts";
import type { Clock } from "../../common/runtime/clock.ts";
import { withDeadline } from "../../common/runtime/deadline.ts";
import { MooringError, messageOf } from "../../common/runtime/errors.ts";
import { REJECTION_REASON, rejectionMark } from "../../common/storage/rejection.ts";
import type { RejectionPatch } from "../core/affinity/rejection.ts";

/** One pod, and no other of its name. */
export interface PodIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** The state of it that the decision was about. */
export interface RejectedPod extends PodIdentity {
  readonly resourceVersion: string;
}

/** The outcome of a try to reject a pod. */
export type RejectionOutcome =
  /** It is rejected, by the API server's answer or, when that was lost, by a later read. */
  | { readonly kind: "rejected" }
  /** It has changed since, or was re-created: decide again. Nothing was changed. */
  | { readonly kind: "conflict"; readonly why: string }
  /** There is no such pod any more. */
  | { readonly kind: "gone"; readonly why: string }
  /** Nothing was sent: the decision had become too old. */
  | { readonly kind: "stale"; readonly why: string }
  /** The API server rejects the content: an admission policy, a webhook. */
  | { readonly kind: "refused"; readonly why: string }
  /** The agent's account may not do it. */
  | { readonly kind: "forbidden"; readonly why: string }
  /** The API server is overloaded and did nothing. */
  | { readonly kind: "overloaded"; readonly why: string }
  /** No usable answer: whether the pod was changed is unknown. Read it before another try. */
  | { readonly kind: "unanswered"; readonly why: string };

/** The state of a pod some time after it was rejected. */
export type RejectionState =
  /** It is as the rejection left it. */
  | "held"
  /** It is over, but its reason is missing: the kubelet removes it for a moment before it puts it back. */
  | "without-reason"
  /** Its phase is another one again. */
  | "reverted"
  | "gone";

/** Rejects pods: writes to exactly the pod, and the state of it, that was decided on. Each method rejects only for a bug, unless stated. */
export interface PodRejector {
  /** One patch of phase, reason, message and annotation. Calls `mayBeSent` at the moment of sending. */
  readonly reject: (order: RejectionOrder, signal: AbortSignal) => Promise<RejectionOutcome>;
  /** Deletes the pod, for kubelets that do not keep what `reject` wrote. Needs another permission. */
  readonly remove: (order: Omit<RejectionOrder, "patch">, signal: AbortSignal) => Promise<RejectionOutcome>;
  /** The state of a rejected pod now. Throws `MooringError` when that cannot be read. */
  readonly rejectionState: (pod: PodIdentity, signal: AbortSignal) => Promise<RejectionState>;
}

/** A pod to reject. */
export interface RejectionOrder {
  readonly pod: RejectedPod;
  readonly patch: RejectionPatch;
  /** False when the decision is too old by now. */
  readonly mayBeSent: () => boolean;
}

/** Field manager of what a rejection writes. */
const FIELD_MANAGER = "mooring-agent";

/** An answer may take so long: then the pod is read again. Milliseconds. */
const ANSWER_MS = 10_000;

class Stale extends MooringError {
  constructor() {
    super("api-rejected", "what was decided on had become too old before it could be sent");
  }
}

interface RejectorParts {
  readonly client: KubeClient;
  readonly clock: Clock;
}

/** A change of a pod, and how to see that it was made. */
interface PodChange {
  readonly order: Omit<RejectionOrder, "patch">;
  readonly write: (client: KubeClient, signal: AbortSignal) => Promise<WriteOutcome>;
  readonly isDone: (state: PodState | undefined) => boolean;
}

export function createPodRejector(parts: RejectorParts): PodRejector {
  return {
    reject: ({ patch, ...order }, signal) => {
      const change = { target: targetOf(order.pod), patch, fieldManager: FIELD_MANAGER };
      const write: PodChange["write"] = (client, limited) => patchObject(client, change, limited);
      return carryOut(parts, { order, write, isDone: (state) => state?.isRejected === true }, signal);
    },
    remove: (order, signal) => {
      const write: PodChange["write"] = (client, limited) => deletePod(client, order.pod, limited);
      return carryOut(parts, { order, write, isDone: (state) => state === undefined || state.isDeleting }, signal);
    },
    rejectionState: async (pod, signal) => rejectionStateOf(await readPodState(parts, pod, signal)),
  };
}

async function carryOut(parts: RejectorParts, change: PodChange, signal: AbortSignal): Promise<RejectionOutcome> {
  const { pod, mayBeSent } = change.order;
  let why = "the answer does not show what was asked for";
  try {
    const client = guardedClient(parts.client, mayBeSent);
    const written = await withDeadline({ ...parts, signal }, ANSWER_MS, (limited) => change.write(client, limited));
    if (written.kind === "refused") return { kind: "refused", why: written.message };
    if (written.kind !== "applied") return { kind: written.kind, why: written.message };
    if (change.isDone(podStateIn(written.object, pod))) return { kind: "rejected" };
  } catch (error) {
    const known = knownFailure(error);
    if (known !== undefined) return known;
    why = messageOf(error);
  }
  // Done or not: the pod itself shows it, if it can be read.
  return (await isFound(parts, change, signal)) ? { kind: "rejected" } : { kind: "unanswered", why };
}

/** What a failure proves; undefined when it says nothing about the result. */
function knownFailure(error: unknown): RejectionOutcome | undefined {
  if (!(error instanceof MooringError)) throw error;
  const why = error.message;
  if (error instanceof Stale) return { kind: "stale", why };
  if (!(error instanceof ApiError)) return undefined;
  if (error.status === 401 || error.status === 403) return { kind: "forbidden", why };
  // Refused before anything was done.
  return error.status === 429 ? { kind: "overloaded", why } : undefined;
}

async function isFound(parts: RejectorParts, { order, isDone }: PodChange, signal: AbortSignal): Promise<boolean> {
  try {
    return isDone(await readPodState(parts, order.pod, signal));
  } catch (error) {
    if (!(error instanceof MooringError)) throw error;
    // Without a read the result stays unknown, which is the answer.
    return false;
  }
}

/** A client that sends nothing once `mayBeSent` says no. */
function guardedClient(client: KubeClient, mayBeSent: () => boolean): KubeClient {
  const beforeSend = (): void => {
    if (!mayBeSent()) throw new Stale();
  };
  return { ...client, request: (request, signal) => client.request({ ...request, beforeSend }, signal) };
}

function pathOf({ namespace, name }: PodIdentity): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}`;
}

function targetOf(pod: RejectedPod): WriteTarget {
  const { namespace, name, uid, resourceVersion } = pod;
  const path = pathOf(pod);
  return { apiVersion: "v1", kind: "Pod", path, subresource: "status", namespace, name, uid, resourceVersion };
}

/** With the UID and the resource version as preconditions, and the pod's own grace period. */
async function deletePod(client: KubeClient, pod: RejectedPod, signal: AbortSignal): Promise<WriteOutcome> {
  const { uid, resourceVersion } = pod;
  if (uid === "" || resourceVersion === "") throw new TypeError("a deletion needs the UID and the state of its pod");
  const body = { kind: "DeleteOptions", apiVersion: "v1", preconditions: { uid, resourceVersion } };
  try {
    const object = await client.request({ method: "DELETE", path: pathOf(pod), body }, signal);
    return { kind: "applied", object };
  } catch (error) {
    const outcome = error instanceof ApiError ? outcomeOf(error, pod) : undefined;
    if (outcome === undefined) throw error;
    return outcome;
  }
}

/** The fields that show the outcome of a rejection. */
interface PodState {
  readonly isRejected: boolean;
  readonly isDeleting: boolean;
  readonly phase: string;
  readonly reason: string;
}

const podSchema = v.object({
  metadata: v.object({
    uid: v.string(),
    deletionTimestamp: v.nullish(v.string()),
    annotations: v.nullish(v.record(v.string(), v.string())),
  }),
  status: v.nullish(v.object({ phase: v.nullish(v.string()), reason: v.nullish(v.string()) })),
});

/** Undefined for another pod, and for anything else: the answer to a deletion may be a `Status`. */
function podStateIn(object: unknown, { uid }: PodIdentity): PodState | undefined {
  const result = v.safeParse(podSchema, object);
  return result.success && result.output.metadata.uid === uid ? stateOf(result.output) : undefined;
}

function stateOf({ metadata, status }: v.InferOutput<typeof podSchema>): PodState {
  const [phase, reason] = [status?.phase ?? "", status?.reason ?? ""];
  const isRejected = rejectionMark({ phase, reason, annotations: metadata.annotations }) !== undefined;
  return { isRejected, isDeleting: metadata.deletionTimestamp != null, phase, reason };
}

/** The pod now; undefined when none has its UID. Throws `MooringError`. */
function readPodState(parts: RejectorParts, pod: PodIdentity, signal: AbortSignal): Promise<PodState | undefined> {
  return withDeadline({ ...parts, signal }, ANSWER_MS, async (limited) => {
    try {
      const answer = await parts.client.request({ method: "GET", path: pathOf(pod) }, limited);
      const result = v.safeParse(podSchema, answer);
      if (!result.success) throw new MooringError("api-rejected", `the answer for ${pathOf(pod)} is no pod`);
      return podStateIn(answer, pod);
    } catch (error) {
      if (error instanceof ApiError && outcomeOf(error, pod)?.kind === "gone") return undefined;
      throw error;
    }
  });
}

function rejectionStateOf(state: PodState | undefined): RejectionState {
  if (state === undefined) return "gone";
  if (state.phase !== "Failed") return "reverted";
  return state.reason === REJECTION_REASON ? "held" : "without-reason";
}
