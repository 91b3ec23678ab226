import type { UnmountRecord } from "../../common/storage/node-report.ts";
import { isUse, type MountedUse, useKey } from "../../common/storage/volume-identity.ts";
import { compactUnmountRecords } from "./compact.ts";
import { agentGapSince, coverageAfter, hasWatched, withAgentGap } from "./coverage.ts";
import { stagingInUse } from "./leaks.ts";
import { type MountedVolumeEntry, type MountScan, mountedVolumeKey } from "./mounted-volumes.ts";
import {
  type Decision,
  isOfEarlierBoot,
  type KnownMountedVolume,
  type NodeSnapshot,
  type NodeState,
  type PendingUnmount,
  type PodFacts,
  unmountRecordOf,
} from "./node-state.ts";

/** What a new scan of the node adds to what was known. Absence counts only in a complete scan. */
export function observe(
  previous: NodeState,
  snapshot: NodeSnapshot,
): { readonly state: NodeState; readonly decisions: readonly Decision[] } {
  const { scan, podsResourceVersion, scanRequest, unchanged } = snapshot;
  const isWatched = hasWatched(previous, { beganAt: scan.beganAt, unchanged });
  const shown = shownMountedVolumes(previous, snapshot);
  const absent = [...previous.mountedVolumes].filter(([key]) => !shown.has(key)).map(([, known]) => known);
  const fates = absent.map((known) => ({ known, fate: fateOf(known, snapshot, isWatched) }));
  const kept = fates.flatMap(({ known, fate }) =>
    fate.kind === "kept" ? [{ ...known, pendingUnmount: fate.pendingUnmount }] : [],
  );
  const gone = fates.flatMap(({ known, fate }) => (fate.kind === "gone" ? [{ known, by: fate.by }] : []));
  const mountedVolumes = withLeaks(
    new Map([...shown, ...kept.map((known) => [mountedVolumeKey(known.mountedVolume), known] as const)]),
    snapshot,
  );
  const unmountRecords = unmountRecordsOf(previous.bootId, gone, mountedVolumes);
  const decisions: readonly Decision[] = [
    ...[...shown].flatMap(([key, { mountedVolume }]): Decision[] =>
      previous.mountedVolumes.has(key) ? [] : [{ kind: "mounted", mountedVolume }],
    ),
    ...gone.map(({ known: { mountedVolume } }): Decision => ({ kind: "unmounted", mountedVolume })),
    ...unmountRecords.map((unmountRecord): Decision => ({ kind: "recorded", unmountRecord })),
  ];
  const complete = {
    scan: { beganAt: scan.beganAt, endedAt: scan.endedAt },
    podsResourceVersion,
    scanRequest,
    agentGaps: isWatched
      ? previous.agentGaps
      : withAgentGap(previous.agentGaps, { from: agentGapSince(previous), to: scan.endedAt }),
  };
  const state: NodeState = {
    ...previous,
    ...(scan.incomplete === undefined ? complete : {}),
    coverage: coverageAfter(previous.coverage, scan.incomplete === undefined),
    mountedVolumes,
    unmountRecords: compactUnmountRecords([...previous.unmountRecords, ...unmountRecords]),
    generation: previous.generation + (decisions.length > 0 || isShownOtherwise(previous, mountedVolumes) ? 1 : 0),
  };
  return { state, decisions: [...decisions, ...anomalies(previous, mountedVolumes)] };
}

/** A mounted volume has become a pending unmount, or is back: the report says whether the last complete scan showed it. */
function isShownOtherwise(previous: NodeState, mountedVolumes: ReadonlyMap<string, KnownMountedVolume>): boolean {
  for (const [key, { pendingUnmount }] of mountedVolumes) {
    const before = previous.mountedVolumes.get(key);
    if (before !== undefined && (before.pendingUnmount === undefined) !== (pendingUnmount === undefined)) return true;
  }
  return false;
}

/** The mounted volumes that the scan shows, with what was known of them. */
function shownMountedVolumes(
  previous: NodeState,
  { scan, pods }: NodeSnapshot,
): ReadonlyMap<string, KnownMountedVolume> {
  const shown = new Map<string, KnownMountedVolume>();
  for (const mountedVolume of scan.mountedVolumes)
    shown.set(
      mountedVolumeKey(mountedVolume),
      shownMountedVolume(previous.mountedVolumes.get(mountedVolumeKey(mountedVolume)), { mountedVolume, scan, pods }),
    );
  return shown;
}

function shownMountedVolume(
  before: KnownMountedVolume | undefined,
  {
    mountedVolume,
    scan,
    pods,
  }: { readonly mountedVolume: MountedVolumeEntry; readonly scan: MountScan; readonly pods: NodeSnapshot["pods"] },
): KnownMountedVolume {
  const { kind, volume, podUid, mount } = mountedVolume;
  const complete = scan.incomplete === undefined;
  const movesBound = complete || before?.proven !== true;
  // A mount with a stamp of another clock may be a new one, of the same pod.
  const known = before?.seenAt === 0 ? undefined : before;
  return {
    mountedVolume: { kind, volume, podUid },
    pod: before?.pod ?? pods?.get(podUid ?? "")?.name,
    mountPoint: mount.mountPoint,
    device: mount.device,
    root: mount.root,
    since: known?.since ?? scan.endedAt,
    seenAt: movesBound ? scan.beganAt : (before?.seenAt ?? scan.beganAt),
    proven: complete || before?.proven === true,
    pendingUnmount: undefined,
    leakedSince: before?.leakedSince,
  };
}

/** What follows for a mounted volume that a scan does not show. */
type Fate =
  | { readonly kind: "kept"; readonly pendingUnmount: PendingUnmount | undefined }
  | { readonly kind: "gone"; readonly by: number };

function fateOf(known: KnownMountedVolume, { scan, pods }: NodeSnapshot, isWatched: boolean): Fate {
  const { mountedVolume, pendingUnmount } = known;
  const pod = mountedVolume.podUid === undefined ? undefined : pods?.get(mountedVolume.podUid);
  // A reboot unmounts everything, and the API may call a pod running until its kubelet has started.
  const update = (end: PendingUnmount): PendingUnmount => (isOfEarlierBoot(known) ? end : withPodState(end, pod));
  // A damaged scan may hide the very mount that is back.
  if (scan.incomplete !== undefined) return { kind: "kept", pendingUnmount: pendingUnmount && update(pendingUnmount) };
  // Before pods have been listed, none is known to be over. A pod that is not over may mount its volume again.
  const isOver = mountedVolume.podUid === undefined || (pods !== undefined && (pod === undefined || pod.isOver));
  // A pending unmount counts from the first scan without it, unless it may have been mounted, or its containers have used it, since.
  const isEndKnown = pendingUnmount !== undefined && isWatched && !(isOver && pendingUnmount.isAnomaly);
  const by = isEndKnown ? pendingUnmount.by : scan.endedAt;
  if (isOver) return { kind: "gone", by };
  const end = pendingUnmount ?? { podVersion: undefined, isAnomaly: false };
  return { kind: "kept", pendingUnmount: update({ ...end, by }) };
}

/** A pending unmount, and the pod now; undefined while the pod does not run, or pods have not been listed. */
function withPodState(end: PendingUnmount, pod: PodFacts | undefined): PendingUnmount {
  if (pod?.isRunning !== true) return end;
  if (end.podVersion === undefined) return { ...end, podVersion: pod.resourceVersion };
  return { ...end, isAnomaly: end.isAnomaly || pod.resourceVersion !== end.podVersion };
}

/** A use ends when its last mounted volume is gone; its interval begins where that was last seen. */
function unmountRecordsOf(
  bootId: string,
  gone: readonly { readonly known: KnownMountedVolume; readonly by: number }[],
  mountedVolumes: ReadonlyMap<string, KnownMountedVolume>,
): readonly UnmountRecord[] {
  const still = [...mountedVolumes.values()].map(({ mountedVolume }) => mountedVolume);
  const inUse = new Set(still.filter(isUse).map(useKey));
  const ended = new Map<
    string,
    { readonly use: MountedUse; readonly pod: string | undefined; readonly after: number; readonly by: number }
  >();
  for (const { known, by } of gone) {
    const { mountedVolume, pod, seenAt } = known;
    if (!isUse(mountedVolume) || inUse.has(useKey(mountedVolume))) continue;
    const other = ended.get(useKey(mountedVolume));
    const [after, latest] = [Math.max(seenAt, other?.after ?? 0), Math.max(by, other?.by ?? 0)];
    ended.set(useKey(mountedVolume), { use: mountedVolume, pod: pod ?? other?.pod, after, by: latest });
  }
  return [...ended.values()].map((end) => unmountRecordOf(bootId, { ...end, after: end.after || undefined }));
}

/** Marks the mounted volumes without a known user: their pod is gone, or no pod uses what is staged. */
function withLeaks(
  mountedVolumes: ReadonlyMap<string, KnownMountedVolume>,
  { scan, pods }: NodeSnapshot,
): ReadonlyMap<string, KnownMountedVolume> {
  if (pods === undefined) return mountedVolumes;
  const isInUse = stagingInUse([...mountedVolumes.values()]);
  const isLeaked = (known: KnownMountedVolume): boolean =>
    known.mountedVolume.podUid === undefined ? !isInUse(known) : !pods.has(known.mountedVolume.podUid);
  return new Map(
    [...mountedVolumes].map(([key, known]) => [
      key,
      { ...known, leakedSince: isLeaked(known) ? (known.leakedSince ?? scan.endedAt) : undefined },
    ]),
  );
}

function anomalies(previous: NodeState, mountedVolumes: ReadonlyMap<string, KnownMountedVolume>): readonly Decision[] {
  return [...mountedVolumes].flatMap(([key, { mountedVolume, pod, pendingUnmount }]): Decision[] => {
    const before = previous.mountedVolumes.get(key)?.pendingUnmount;
    if (before === undefined || before.isAnomaly === pendingUnmount?.isAnomaly) return [];
    // A kubelet may mount and unmount several times before a pod has started.
    if (pendingUnmount === undefined && before.podVersion === undefined) return [];
    const why = pendingUnmount === undefined ? "remounted-while-running" : "unmounted-while-running";
    return [{ kind: "anomaly", mountedVolume, pod, why }];
  });
}

/** True when a complete scan lacks a known mounted volume: then a second scan has to confirm it before it counts. */
export function hasAbsence(state: NodeState, scan: MountScan): boolean {
  if (scan.incomplete !== undefined) return false;
  const seen = new Set(scan.mountedVolumes.map(mountedVolumeKey));
  return [...state.mountedVolumes].some(([key, { pendingUnmount }]) => pendingUnmount === undefined && !seen.has(key));
}

/**
 * The state after a time in which the mount table did not change: what a scan in that time showed was mounted until its end. It only
 * narrows the uncertainty of a later unmount record.
 */
export function extendCoverage(
  state: NodeState,
  { from, until }: { readonly from: number; readonly until: number },
): NodeState {
  const mountedVolumes = [...state.mountedVolumes].map(([key, known]): [string, KnownMountedVolume] => {
    const wasSeen = known.pendingUnmount === undefined && known.seenAt >= from && known.seenAt < until;
    return [key, wasSeen ? { ...known, seenAt: until } : known];
  });
  return { ...state, mountedVolumes: new Map(mountedVolumes) };
}
