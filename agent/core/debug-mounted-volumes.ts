import { displayPath } from "../../common/mounts/core/mount-info.ts";
import { volumeKey } from "../../common/storage/volume-identity.ts";
import type { KnownMountedVolume, NodeState } from "./node-state.ts";

/** What an agent knows, for people: ages in milliseconds instead of stamps, paths as text. */
export function describeMountedVolumes(state: NodeState, nowMs: number): object {
  const age = (stamp: number | undefined): number | undefined => stamp && Math.round(nowMs - stamp);
  const describe = ({
    mountedVolume,
    pod,
    mountPoint,
    since,
    seenAt,
    pendingUnmount,
    leakedSince,
  }: KnownMountedVolume): object => ({
    kind: mountedVolume.kind,
    volume: volumeKey(mountedVolume.volume),
    podUid: mountedVolume.podUid,
    pod,
    mountPoint: displayPath(mountPoint),
    firstSeenAgeMs: age(since),
    lastSeenAgeMs: age(seenAt),
    pendingUnmountAgeMs: age(pendingUnmount?.by),
    unusedAgeMs: age(leakedSince),
  });
  return {
    bootId: state.bootId,
    lastCompleteScanAgeMs: age(state.scan?.endedAt),
    observedForMs: age(state.agentGaps.at(-1)?.to),
    podsResourceVersion: state.podsResourceVersion,
    mountedVolumes: [...state.mountedVolumes.values()].map(describe),
    unmountRecords: state.unmountRecords.map(({ id, pod, by }) => ({ id, pod, ageMs: age(by) })),
  };
}
