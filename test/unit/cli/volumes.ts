import { NO_NAMES, type VolumeView } from "../../../cli/volume-view.ts";
import { HOUR_MS, NOW_MS } from "./claims.ts";

/** A volume that a claim of namespace shop had, and that was released so many hours ago. */
export function volumeOfHours(hours: number, change: Partial<VolumeView> = {}): VolumeView {
  return {
    name: "pv-reports",
    uid: "uid-pv-reports",
    phase: "Released",
    since: { ms: NOW_MS - hours * HOUR_MS, from: "api" },
    storageClass: "fast",
    capacity: "10Gi",
    reclaimPolicy: "Retain",
    driver: "csi.example",
    claim: { namespace: "shop", name: "reports", uid: "uid-reports" },
    mountedOn: NO_NAMES,
    stagedOn: undefined,
    attachedTo: NO_NAMES,
    lastUse: undefined,
    ...change,
  };
}
