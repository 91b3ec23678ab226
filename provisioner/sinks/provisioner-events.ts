import type { KubeEvent } from "../../common/kube/kube-event.ts";
import { formatMicroTime } from "../../common/runtime/micro-time.ts";
import type { Claim, Volume } from "../core/objects.ts";

/** Events for the owner of a claim. They have the reasons and messages of other provisioners and resizers. */
const CLAIM_REASONS = {
  provisioning: { type: "Normal", reason: "Provisioning", action: "Provisioning" },
  provisioned: { type: "Normal", reason: "ProvisioningSucceeded", action: "Provisioning" },
  "not-provisioned": { type: "Warning", reason: "ProvisioningFailed", action: "Provisioning" },
  "resize-pending": { type: "Normal", reason: "FileSystemResizeRequired", action: "Resizing" },
  resized: { type: "Normal", reason: "VolumeResizeSuccessful", action: "Resizing" },
  "not-resized": { type: "Warning", reason: "VolumeResizeFailed", action: "Resizing" },
} as const;

/** Events for administrators, on a PersistentVolume. */
const VOLUME_REASONS = {
  "not-deleted": { type: "Warning", reason: "VolumeFailedDelete", action: "Deleting" },
  "not-available": { type: "Warning", reason: "VolumeUnavailable", action: "Attaching" },
} as const;

export type ClaimEventKind = keyof typeof CLAIM_REASONS;
export type VolumeEventKind = keyof typeof VOLUME_REASONS;
export const CLAIM_EVENT_KINDS: readonly ClaimEventKind[] = [
  ...(["provisioning", "provisioned", "not-provisioned"] as const),
  ...(["resize-pending", "resized", "not-resized"] as const),
];
export const VOLUME_EVENT_KINDS: readonly VolumeEventKind[] = ["not-deleted", "not-available"];

/** A sentence, and its time by the API server's clock in milliseconds. */
interface Note {
  readonly note: string;
  readonly nowMs: number;
}

export function claimEvent(
  { namespace, name, uid }: Pick<Claim, "namespace" | "name" | "uid">,
  kind: ClaimEventKind,
  { note, nowMs }: Note,
): KubeEvent {
  const { type, reason, action } = CLAIM_REASONS[kind];
  const regarding = { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace, name, uid };
  return { regarding, type, reason, action, note, eventTime: formatMicroTime(nowMs) };
}

export function volumeEvent(
  { name, uid }: Pick<Volume, "name" | "uid">,
  kind: VolumeEventKind,
  { note, nowMs }: Note,
): KubeEvent {
  const { type, reason, action } = VOLUME_REASONS[kind];
  const regarding = { apiVersion: "v1", kind: "PersistentVolume", namespace: "", name, uid };
  return { regarding, type, reason, action, note, eventTime: formatMicroTime(nowMs) };
}
