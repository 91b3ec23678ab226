import type { LastUse } from "../common/storage/claim-status.ts";
import type { PhaseSince } from "../common/storage/phase-since.ts";

/** Some names, and how many more there are. */
export interface Names {
  readonly items: readonly string[];
  readonly omitted: number | "some";
}

export const NO_NAMES: Names = { items: [], omitted: 0 };

/** The displayed fields of a PersistentVolume. */
export interface VolumeView {
  readonly name: string;
  readonly uid: string;
  readonly phase: string;
  /** Undefined where it is unknown. */
  readonly since: PhaseSince | undefined;
  readonly storageClass: string | undefined;
  /** In the API's form: `10Gi`. */
  readonly capacity: string | undefined;
  readonly reclaimPolicy: string | undefined;
  readonly driver: string | undefined;
  /** The claim that it is or was bound to. */
  readonly claim: { readonly namespace: string; readonly name: string; readonly uid: string } | undefined;
  /** Nodes that have it mounted. */
  readonly mountedOn: Names;
  /** Nodes that have it staged, according to the aggregator. */
  readonly stagedOn: Names | undefined;
  /** Nodes that it is attached to by a VolumeAttachment; undefined where the user may not read these. */
  readonly attachedTo: Names | undefined;
  /** The last finished use. */
  readonly lastUse: LastUse | undefined;
}

/** The requested volumes; an empty list means all. */
export interface VolumeFilter {
  readonly phases: readonly string[];
  readonly classes: readonly string[];
  readonly policies: readonly string[];
}

/** The volumes that match the request. */
export function filterVolumes(
  volumes: readonly VolumeView[],
  { phases, classes, policies }: VolumeFilter,
): readonly VolumeView[] {
  const allows = (wanted: readonly string[], value: string | undefined): boolean =>
    wanted.length === 0 || (value !== undefined && wanted.includes(value));
  return volumes.filter(
    ({ phase, storageClass, reclaimPolicy }) =>
      allows(phases, phase) && allows(classes, storageClass) && allows(policies, reclaimPolicy),
  );
}

/** Volumes that need a decision come first; volumes in use come last, next to the prompt. */
const RANKS: Readonly<Record<string, number>> = { Failed: 0, Released: 1, Available: 2, Pending: 3, Bound: 5 };
const ODD_RANK = 4;

/** By phase; within a phase the longest first, and by name where that is unknown. */
export function sortVolumes(volumes: readonly VolumeView[]): readonly VolumeView[] {
  return volumes.toSorted(
    (one, other) =>
      rankOf(one) - rankOf(other) || compareTimes(timeOf(one), timeOf(other)) || (one.name < other.name ? -1 : 1),
  );
}

function rankOf({ phase }: VolumeView): number {
  return RANKS[phase] ?? ODD_RANK;
}

function timeOf({ since }: VolumeView): number {
  return since?.ms ?? Number.POSITIVE_INFINITY;
}

/** The difference of two infinities would be NaN. */
function compareTimes(one: number, other: number): number {
  return one === other ? 0 : one - other;
}
