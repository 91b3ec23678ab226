import type { Claim } from "../../../common/storage/claim.ts";
import { isUse, type VolumeIdentity, volumeKey } from "../../../common/storage/volume-identity.ts";
import { type Directory, volumesOf } from "../claims/attribution.ts";
import type { Volume } from "../cluster-objects.ts";
import type { NodeMountedVolume, NodeUnmountRecord, NodeView, Shown } from "../nodes/node-view.ts";

/** A node where pods have a volume mounted. */
export interface NodeUse {
  readonly node: string;
  /** Their names are `namespace/name`, where the agent knew them. */
  readonly pods: readonly { readonly uid: string; readonly name: string | undefined }[];
}

/** Where a volume is mounted, by the nodes' last reports. */
export interface VolumeUse {
  readonly used: readonly NodeUse[];
  /** Names of nodes with a staging mount. */
  readonly staged: readonly string[];
}

/** How mount tables name a volume: by the PV's name, and by its handle if it has one. */
export function identitiesOf(name: string, csi: Volume["csi"]): readonly VolumeIdentity[] {
  return [{ by: "name", name }, ...(csi === undefined ? [] : [{ by: "handle", ...csi } as const])];
}

/** The claim that a volume names, where its UID fits and it names this volume. */
export function claimOfVolume(
  { key, claim: ref }: Volume,
  find: (key: string) => Claim | undefined,
): Claim | undefined {
  const claim = ref && find(ref.key);
  return claim?.uid === ref?.uid && claim?.volume === key ? claim : undefined;
}

/** Where a volume is mounted, by what nodes show of it. Nodes come in the order of `shown`. */
export function volumeUse(shown: readonly Shown[]): VolumeUse {
  const used = shown.map(({ view: { node }, mountedVolumes }) => ({ node, pods: podsIn(mountedVolumes) }));
  const staged = shown.filter(({ mountedVolumes }) => mountedVolumes.some(({ kind }) => kind === "staging"));
  return { used: used.filter(({ pods }) => pods.length > 0), staged: staged.map(({ view }) => view.node) };
}

/** A pod may have several mounts of a volume. */
function podsIn(mountedVolumes: readonly NodeMountedVolume[]): NodeUse["pods"] {
  const pods = new Map(mountedVolumes.filter(isUse).map(({ podUid, pod }) => [podUid, { uid: podUid, name: pod }]));
  return [...pods.values()];
}

/** A mount with its name may be its own: a known pod that uses another volume has an inline volume of that name. */
export function mayMount(
  { podUid }: Pick<NodeMountedVolume, "podUid">,
  volume: Volume,
  { claim: find, podByUid }: Pick<Directory, "claim" | "podByUid">,
): boolean {
  const pod = podUid === undefined ? undefined : podByUid(podUid);
  if (pod === undefined) return true;
  const isOf = (key: string): boolean => {
    if (key === volume.claim?.key) return true;
    // Otherwise it may still be mounted for a claim that is gone, or that it no longer names.
    if (volume.phase === "Bound") return false;
    const claim = find(key);
    return claim === undefined || claim.volume === volume.key;
  };
  return pod.claims.some(isOf);
}

/** The volumes that a node has staged without using them there, by a report. */
export interface IdleStagings {
  /** The report: a staging that is newer than its scan, or of another boot, may have been used in between without a record. */
  readonly of: Pick<NodeView, "scan" | "timeline">;
  /** By a PV's UID: since when, by the API server's wall clock. Never too early: at the latest since this leader saw it. */
  readonly sinceMs: ReadonlyMap<string, number>;
}

/** The idle stagings after a report; `known` are those before. One without a known PV waits for the next report. */
export function idleStagings(known: IdleStagings | undefined, view: NodeView, directory: Directory): IdleStagings {
  const { mountedVolumes, unmountRecords, scan, scanEndedMs, timeline } = view;
  const used = new Set(mountedVolumes.filter(isUse).map(({ volume }) => volumeKey(volume)));
  const ends = new Map<string, number>();
  for (const { volume, byMs } of unmountRecords.values()) {
    const key = volumeKey(volume);
    ends.set(key, Math.max(byMs, ends.get(key) ?? byMs));
  }
  const stagings = new Map<string, number>();
  for (const { kind, volume: staged, since } of mountedVolumes) {
    if (kind !== "staging") continue;
    const before = known?.of.timeline === timeline && since <= known.of.scan.endedAt ? known.sinceMs : undefined;
    for (const { uid, key, csi } of volumesOf(staged, directory)) {
      const keys = identitiesOf(key, csi).map(volumeKey);
      if (keys.some((one) => used.has(one))) continue;
      // It may have been used and released since the last report.
      const ended = keys.flatMap((one) => ends.get(one) ?? []);
      const sinceMs = Math.max(before?.get(uid) ?? scanEndedMs, ...ended);
      stagings.set(uid, Math.max(sinceMs, stagings.get(uid) ?? sinceMs));
    }
  }
  return { of: { scan, timeline }, sinceMs: stagings };
}

/** How long the unmount of one volume of one pod took since the pod's deletion was requested. */
export interface Unmount {
  /** The CSI driver; `in-tree` for a volume of another kind, `unknown` where its PV is unknown. */
  readonly driver: string;
  /** Never too short; too long by the second to which deletions are dated, and by the uncertainty of the end, at most. */
  readonly ms: number;
}

/** The unmounts of deleted pods that only the new view shows. */
export function newUnmounts(
  before: NodeView | undefined,
  { unmountRecords }: NodeView,
  directory: Directory,
): readonly Unmount[] {
  return [...unmountRecords.values()].flatMap((unmountRecord) => {
    if (before?.unmountRecords.has(unmountRecord.id) === true) return [];
    const deletedAtMs = directory.podByUid(unmountRecord.podUid)?.deletedAtMs;
    if (deletedAtMs === undefined || unmountRecord.byMs < deletedAtMs) return [];
    return [{ driver: driverOf(unmountRecord, directory), ms: unmountRecord.byMs - deletedAtMs }];
  });
}

function driverOf({ volume }: NodeUnmountRecord, directory: Directory): string {
  if (volume.by === "handle") return volume.driver;
  if (volume.by === "device") return "in-tree";
  const [found] = volumesOf(volume, directory);
  if (found === undefined) return "unknown";
  return found.csi?.driver ?? "in-tree";
}
