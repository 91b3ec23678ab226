import type { KubeEvent } from "../../common/kube/kube-event.ts";
import { formatMicroTime } from "../../common/runtime/micro-time.ts";
import { REJECTION_REASON } from "../../common/storage/rejection.ts";
import type { PodOwner } from "../core/affinity/facts.ts";
import { type Misplacement, misplacementText } from "../core/affinity/rejection.ts";

/**
 * The events about a pod: it was rejected, it would be if rejecting were on, it waits for ever and is left alone, or it runs and could
 * not start here again.
 */
export type PodEventKind = "rejected" | "would-reject" | "waits-attached" | "runs-misplaced";

const EVENT_TEXTS = {
  rejected: { action: "Rejected", note: (text: string) => `Pod was rejected: ${text}` },
  "would-reject": {
    action: "WouldReject",
    note: (text: string) => `Pod would be rejected (--affinity=audit): ${text}`,
  },
  "waits-attached": {
    action: "Waiting",
    note: (text: string) =>
      `Pod waits for a volume that the kubelet will not mount, and is let alone since the volume is attached here: ${text}`,
  },
  "runs-misplaced": {
    action: "Running",
    note: (text: string) => `Pod goes on, but could not start here again: ${text}`,
  },
} as const satisfies Record<PodEventKind, unknown>;

/** The pod, where and when. */
interface About {
  readonly pod: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly misplacement: Misplacement;
  /** By the API server's clock, milliseconds since the epoch. */
  readonly nowMs: number;
}

/** A warning on the pod, with the reason that its status gets when it is rejected. One event for each pod and kind. */
export function podEvent(kind: PodEventKind, { pod, misplacement, nowMs }: About): KubeEvent {
  const { action, note } = EVENT_TEXTS[kind];
  const { namespace, name, uid } = pod;
  return {
    regarding: { apiVersion: "v1", kind: "Pod", namespace, name, uid },
    type: "Warning",
    reason: REJECTION_REASON,
    action,
    note: note(misplacementText(misplacement)),
    eventTime: formatMicroTime(nowMs),
    once: `${uid.toLowerCase().slice(0, 40)}-${kind}`,
  };
}

/** A warning on the controller whose replacements keep landing here. */
export function ownerEvent(
  owner: PodOwner,
  about: {
    readonly namespace: string;
    readonly node: string;
    readonly why: string;
    readonly waitMs: number;
    readonly nowMs: number;
  },
): KubeEvent {
  const { apiVersion, kind, name, uid } = owner;
  const seconds = Math.ceil(about.waitMs / 1000);
  return {
    regarding: { apiVersion, kind, namespace: about.namespace, name, uid },
    type: "Warning",
    reason: `${REJECTION_REASON}BackOff`,
    action: "BackingOff",
    note: `${about.why} (node ${about.node}); the next one waits ${seconds} s before it is rejected`,
    eventTime: formatMicroTime(about.nowMs),
  };
}
