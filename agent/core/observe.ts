import type { Release } from "../../common/storage/node-report.ts";
import { isUseHold, type UseHold, useKey } from "../../common/storage/volume-identity.ts";
import { compactReleases } from "./compact.ts";
import { holdKey, type MountedHold, type MountRead } from "./holds.ts";
import { stagingInUse } from "./leaks.ts";
import {
  type Decision,
  type KnownHold,
  type NodeSnapshot,
  type NodeState,
  type PendingUnmount,
  type PodFacts,
  releaseOf,
} from "./node-state.ts";
import { blindSince, hasWatched, sightAfter, withBlindSpan } from "./sight.ts";

/** What a new look at the node tells beyond what was known. Absence counts only in a complete read. */
export function observe(
  previous: NodeState,
  snapshot: NodeSnapshot,
): { readonly state: NodeState; readonly decisions: readonly Decision[] } {
  const { read, podsResourceVersion, scanned, unchanged } = snapshot;
  const isWatched = hasWatched(previous, { beganAt: read.beganAt, unchanged });
  const shown = shownHolds(previous, snapshot);
  const absent = [...previous.holds].filter(([key]) => !shown.has(key)).map(([, known]) => known);
  const fates = absent.map((known) => ({ known, fate: fateOf(known, snapshot, isWatched) }));
  const kept = fates.flatMap(({ known, fate }) =>
    fate.kind === "kept" ? [{ ...known, pendingUnmount: fate.pendingUnmount }] : [],
  );
  const gone = fates.flatMap(({ known, fate }) => (fate.kind === "gone" ? [{ known, by: fate.by }] : []));
  const holds = withLeaks(new Map([...shown, ...kept.map((known) => [holdKey(known.hold), known] as const)]), snapshot);
  const releases = releasesOf(previous.bootId, gone, holds);
  const decisions: readonly Decision[] = [
    ...[...shown].flatMap(([key, { hold }]): Decision[] =>
      previous.holds.has(key) ? [] : [{ kind: "mounted", hold }],
    ),
    ...gone.map(({ known: { hold } }): Decision => ({ kind: "unmounted", hold })),
    ...releases.map((release): Decision => ({ kind: "released", release })),
  ];
  const complete = {
    read: { beganAt: read.beganAt, endedAt: read.endedAt },
    podsResourceVersion,
    scanned,
    blind: isWatched ? previous.blind : withBlindSpan(previous.blind, { from: blindSince(previous), to: read.endedAt }),
  };
  const state: NodeState = {
    ...previous,
    ...(read.incomplete === undefined ? complete : {}),
    sight: sightAfter(previous.sight, read.incomplete === undefined),
    holds,
    releases: compactReleases([...previous.releases, ...releases]),
    generation: previous.generation + (decisions.length > 0 || isShownOtherwise(previous, holds) ? 1 : 0),
  };
  return { state, decisions: [...decisions, ...anomalies(previous, holds)] };
}

/** A hold has become a pending unmount, or is back: the report tells of each whether the last complete read showed it. */
function isShownOtherwise(previous: NodeState, holds: ReadonlyMap<string, KnownHold>): boolean {
  for (const [key, { pendingUnmount }] of holds) {
    const before = previous.holds.get(key);
    if (before !== undefined && (before.pendingUnmount === undefined) !== (pendingUnmount === undefined)) return true;
  }
  return false;
}

/** The holds that the read shows, with what was known of them. */
function shownHolds(previous: NodeState, { read, pods }: NodeSnapshot): ReadonlyMap<string, KnownHold> {
  const shown = new Map<string, KnownHold>();
  for (const hold of read.holds)
    shown.set(holdKey(hold), seenHold(previous.holds.get(holdKey(hold)), { hold, read, pods }));
  return shown;
}

function seenHold(
  before: KnownHold | undefined,
  { hold, read, pods }: { readonly hold: MountedHold; readonly read: MountRead; readonly pods: NodeSnapshot["pods"] },
): KnownHold {
  const { kind, volume, podUid, mount } = hold;
  const complete = read.incomplete === undefined;
  const movesBound = complete || before?.proven !== true;
  return {
    hold: { kind, volume, podUid },
    pod: before?.pod ?? pods?.get(podUid ?? "")?.name,
    mountPoint: mount.mountPoint,
    device: mount.device,
    root: mount.root,
    since: before?.since ?? read.endedAt,
    seenAt: movesBound ? read.beganAt : (before?.seenAt ?? read.beganAt),
    proven: complete || before?.proven === true,
    pendingUnmount: undefined,
    leakedSince: before?.leakedSince,
  };
}

/** What becomes of a hold that a read does not show. */
type Fate =
  | { readonly kind: "kept"; readonly pendingUnmount: PendingUnmount | undefined }
  | { readonly kind: "gone"; readonly by: number };

function fateOf({ hold, pendingUnmount }: KnownHold, { read, pods }: NodeSnapshot, isWatched: boolean): Fate {
  const pod = hold.podUid === undefined ? undefined : pods?.get(hold.podUid);
  // A damaged read may hide the very mount that is back.
  if (read.incomplete !== undefined)
    return { kind: "kept", pendingUnmount: pendingUnmount && doubted(pendingUnmount, pod) };
  // As long as the pods have not been listed, none is known to be over. A pod that is not over may mount its volume again.
  const isOver = hold.podUid === undefined || (pods !== undefined && (pod === undefined || pod.isOver));
  // A pending unmount counts from the read that lacked it, unless it may have been mounted, or its containers have used it, since.
  const isEndKnown = pendingUnmount !== undefined && isWatched && !(isOver && pendingUnmount.isAnomaly);
  const by = isEndKnown ? pendingUnmount.by : read.endedAt;
  if (isOver) return { kind: "gone", by };
  const end = pendingUnmount ?? { podVersion: undefined, isAnomaly: false };
  return { kind: "kept", pendingUnmount: doubted({ ...end, by }, pod) };
}

/** A pending unmount, and what the watch now says of its pod: nothing as long as that does not run, or has not been listed. */
function doubted(end: PendingUnmount, pod: PodFacts | undefined): PendingUnmount {
  if (pod?.isRunning !== true) return end;
  if (end.podVersion === undefined) return { ...end, podVersion: pod.resourceVersion };
  return { ...end, isAnomaly: end.isAnomaly || pod.resourceVersion !== end.podVersion };
}

/** A use has ended when the last of its holds is gone; its interval begins where the last of them was still seen. */
function releasesOf(
  bootId: string,
  gone: readonly { readonly known: KnownHold; readonly by: number }[],
  holds: ReadonlyMap<string, KnownHold>,
): readonly Release[] {
  const still = [...holds.values()].map(({ hold }) => hold);
  const inUse = new Set(still.filter(isUseHold).map(useKey));
  const ended = new Map<
    string,
    { readonly use: UseHold; readonly pod: string | undefined; readonly after: number; readonly by: number }
  >();
  for (const { known, by } of gone) {
    const { hold, pod, seenAt } = known;
    if (!isUseHold(hold) || inUse.has(useKey(hold))) continue;
    const other = ended.get(useKey(hold));
    const [after, latest] = [Math.max(seenAt, other?.after ?? 0), Math.max(by, other?.by ?? 0)];
    ended.set(useKey(hold), { use: hold, pod: pod ?? other?.pod, after, by: latest });
  }
  return [...ended.values()].map((end) => releaseOf(bootId, end));
}

/** Marks the holds that nobody is known to use: the pod is not there any more, or no pod uses what is staged. */
function withLeaks(
  holds: ReadonlyMap<string, KnownHold>,
  { read, pods }: NodeSnapshot,
): ReadonlyMap<string, KnownHold> {
  if (pods === undefined) return holds;
  const isInUse = stagingInUse([...holds.values()]);
  const isLeaked = (known: KnownHold): boolean =>
    known.hold.podUid === undefined ? !isInUse(known) : !pods.has(known.hold.podUid);
  return new Map(
    [...holds].map(([key, known]) => [
      key,
      { ...known, leakedSince: isLeaked(known) ? (known.leakedSince ?? read.endedAt) : undefined },
    ]),
  );
}

function anomalies(previous: NodeState, holds: ReadonlyMap<string, KnownHold>): readonly Decision[] {
  return [...holds].flatMap(([key, { hold, pod, pendingUnmount }]): Decision[] => {
    const before = previous.holds.get(key)?.pendingUnmount;
    if (before === undefined || before.isAnomaly === pendingUnmount?.isAnomaly) return [];
    // A kubelet may mount and unmount several times before a pod has started.
    if (pendingUnmount === undefined && before.podVersion === undefined) return [];
    const why = pendingUnmount === undefined ? "remounted-while-running" : "unmounted-while-running";
    return [{ kind: "anomaly", hold, pod, why }];
  });
}

/** True when a complete read lacks a hold that is known: then a second read must confirm it before it counts. */
export function hasAbsence(state: NodeState, read: MountRead): boolean {
  if (read.incomplete !== undefined) return false;
  const seen = new Set(read.holds.map(holdKey));
  return [...state.holds].some(([key, { pendingUnmount }]) => pendingUnmount === undefined && !seen.has(key));
}

/**
 * The state after a span in which the mount table did not change: what a read in that span showed was there until its end. It
 * narrows how uncertain a later release is, and nothing else.
 */
export function extendSight(
  state: NodeState,
  { from, until }: { readonly from: number; readonly until: number },
): NodeState {
  const holds = [...state.holds].map(([key, known]): [string, KnownHold] => {
    const wasSeen = known.pendingUnmount === undefined && known.seenAt >= from && known.seenAt < until;
    return [key, wasSeen ? { ...known, seenAt: until } : known];
  });
  return { ...state, holds: new Map(holds) };
}
