import type { Volume } from "./cluster-objects.ts";
import { allows, choiceParameter, durationParameter, flagParameter, nameParameter, type Query } from "./list-query.ts";
import { isLeaked, isMountedUnbound, type VolumeSight } from "./volume-list.ts";

/** What the volumes can be asked by, beside what every list takes. */
export const VOLUME_PARAMETERS = {
  name: nameParameter("name"),
  namespace: nameParameter("namespace"),
  phase: choiceParameter("phase", ["Pending", "Available", "Bound", "Released", "Failed"]),
  phaseFor: durationParameter("phaseFor"),
  reclaimPolicy: choiceParameter("reclaimPolicy", ["Retain", "Delete", "Recycle"]),
  storageClass: nameParameter("storageClass"),
  driver: nameParameter("driver"),
  node: nameParameter("node"),
  leaked: flagParameter("leaked"),
  stillMounted: flagParameter("stillMounted"),
} as const;

/** What a filter looks at beside the volume itself; each is cheap. */
export interface VolumeHints {
  /** The API server's wall clock, at the earliest. */
  readonly nowMs: number;
  /** The node's last report has the volume in it, or the API says that it is attached there. */
  readonly isSeenOn: (node: string, volume: Volume) => boolean;
  /** Since when it is in its phase. */
  readonly phaseSinceMs: (volume: Volume) => number | undefined;
  /** UIDs of the volumes that may have been left staged; asked for once, by who needs it. */
  readonly idleVolumes: () => ReadonlySet<string>;
}

/** What a query asks for. */
export interface VolumeFilter {
  /** False for a volume that cannot match, wherever it is mounted. */
  readonly mayMatch: (volume: Volume) => boolean;
  readonly matches: (sight: VolumeSight) => boolean;
}

/** The filter of a query. Values of one parameter are alternatives; of several parameters all must hold. */
export function volumeFilter(
  { all, one }: Query,
  { nowMs, isSeenOn, idleVolumes, phaseSinceMs }: VolumeHints,
): VolumeFilter {
  const p = VOLUME_PARAMETERS;
  const [names, namespaces, phases, policies, classes, drivers] = [
    new Set(all(p.name)),
    new Set(all(p.namespace)),
    new Set<string>(all(p.phase)),
    new Set<string>(all(p.reclaimPolicy)),
    new Set(all(p.storageClass)),
    new Set(all(p.driver)),
  ];
  const [nodes, phaseFor] = [all(p.node), one(p.phaseFor)];
  const [leaked, stillMounted] = [one(p.leaked), one(p.stillMounted)];
  const idle = leaked === true ? idleVolumes() : undefined;
  const isOn = ({ use, attached }: VolumeSight): boolean =>
    nodes.some(
      (node) => use.staged.includes(node) || use.held.some((held) => held.node === node) || attached.includes(node),
    );
  return {
    mayMatch: (volume) =>
      allows(names, volume.key) &&
      allows(namespaces, namespaceOf(volume)) &&
      allows(phases, volume.phase) &&
      allows(policies, volume.reclaimPolicy) &&
      allows(classes, volume.storageClass) &&
      allows(drivers, volume.csi?.driver) &&
      (phaseFor === undefined || nowMs - (phaseSinceMs(volume) ?? nowMs + 1) >= phaseFor) &&
      (idle?.has(volume.uid) ?? true) &&
      (stillMounted !== true || volume.phase !== "Bound") &&
      (nodes.length === 0 || nodes.some((node) => isSeenOn(node, volume))),
    matches: (sight) =>
      (nodes.length === 0 || isOn(sight)) &&
      (leaked === undefined || isLeaked(sight) === leaked) &&
      (stillMounted === undefined || isMountedUnbound(sight) === stillMounted),
  };
}

function namespaceOf({ claim }: Volume): string | undefined {
  return claim?.key.slice(0, claim.key.indexOf("/"));
}
