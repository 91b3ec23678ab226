import type { KubeEvent } from "../../common/kube/kube-event.ts";
import { formatMicroTime } from "../../common/runtime/micro-time.ts";
import type { Anomaly } from "../core/node-state.ts";

const NOTES = {
  "unmounted-while-running":
    "was unmounted while the pod runs; its containers may still use it, so the claim counts as used until the pod ends",
  "remounted-while-running": "was unmounted and mounted again while the pod runs",
} as const;

/** The event on a pod about an anomaly; undefined while the pod's name is unknown. */
export function anomalyEvent(
  { mountedVolume, pod, why }: Anomaly,
  { node, nowMs }: { readonly node: string; readonly nowMs: number },
): KubeEvent | undefined {
  const [namespace, name] = pod?.split("/") ?? [];
  if (namespace === undefined || name === undefined || mountedVolume.podUid === undefined) return undefined;
  const volume = mountedVolume.volume.by === "name" ? mountedVolume.volume.name : "a volume";
  return {
    regarding: { apiVersion: "v1", kind: "Pod", namespace, name, uid: mountedVolume.podUid },
    type: "Warning",
    reason: "VolumeUnmountedWhileRunning",
    action: "Observed",
    note: `Volume ${volume} ${NOTES[why]} (node ${node})`,
    eventTime: formatMicroTime(nowMs),
  };
}
