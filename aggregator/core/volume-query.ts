import type { Volume } from "./cluster-objects.ts";
import { allows, choiceParameter, durationParameter, flagParameter, nameParameter, type Query } from "./list-query.ts";
import { isLeaked, type VolumeSight } from "./volume-list.ts";

/** What the volumes can be asked by, beside what every list takes. */
export const VOLUME_PARAMETERS = {
  name: nameParameter("name"),
  namespace: nameParameter("namespace"),
  phase: choiceParameter("phase", ["Pending", "Available", "Bound", "Released", "Failed"]),
  phaseFor: durationParameter("phaseFor"),
  storageClass: nameParameter("storageClass"),
  driver: nameParameter("driver"),
  node: nameParameter("node"),
  leaked: flagParameter("leaked"),
} as const;

/** What a query asks for. */
export interface VolumeFilter {
  /** False for a volume that cannot match, wherever it is mounted. */
  readonly mayMatch: (volume: Volume) => boolean;
  readonly matches: (sight: VolumeSight) => boolean;
}

/** The filter of a query; `nowMs` is the API server's wall clock, at the earliest. */
export function volumeFilter({ all, one }: Query, nowMs: number): VolumeFilter {
  const p = VOLUME_PARAMETERS;
  const [names, namespaces, phases, classes, drivers] = [
    new Set(all(p.name)),
    new Set(all(p.namespace)),
    new Set<string>(all(p.phase)),
    new Set(all(p.storageClass)),
    new Set(all(p.driver)),
  ];
  const [nodes, phaseFor, leaked] = [all(p.node), one(p.phaseFor), one(p.leaked)];
  const isOn = ({ use, attached }: VolumeSight): boolean =>
    nodes.some(
      (node) => use.staged.includes(node) || use.held.some((held) => held.node === node) || attached.includes(node),
    );
  return {
    mayMatch: ({ key, claim, phase, phaseSinceMs, storageClass, csi }) =>
      allows(names, key) &&
      allows(namespaces, claim?.key.slice(0, claim.key.indexOf("/"))) &&
      allows(phases, phase) &&
      allows(classes, storageClass) &&
      allows(drivers, csi?.driver) &&
      (phaseFor === undefined || (phaseSinceMs !== undefined && nowMs - phaseSinceMs >= phaseFor)),
    matches: (sight) => (nodes.length === 0 || isOn(sight)) && (leaked === undefined || isLeaked(sight) === leaked),
  };
}
