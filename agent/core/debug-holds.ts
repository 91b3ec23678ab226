import { displayPath } from "../../common/mounts/core/mount-info.ts";
import { volumeKey } from "../../common/storage/volume-identity.ts";
import type { KnownHold, NodeState } from "./node-state.ts";

/** What an agent knows, as people read it: ages in milliseconds instead of stamps, paths as text. */
export function describeHolds(state: NodeState, nowMs: number): object {
  const age = (stamp: number | undefined): number | undefined => stamp && Math.round(nowMs - stamp);
  const describe = ({ hold, pod, mountPoint, since, seenAt, pendingUnmount, leakedSince }: KnownHold): object => ({
    kind: hold.kind,
    volume: volumeKey(hold.volume),
    podUid: hold.podUid,
    pod,
    mountPoint: displayPath(mountPoint),
    firstSeenAgeMs: age(since),
    lastSeenAgeMs: age(seenAt),
    pendingUnmountAgeMs: age(pendingUnmount?.by),
    unusedAgeMs: age(leakedSince),
  });
  return {
    bootId: state.bootId,
    lastCompleteReadAgeMs: age(state.read?.endedAt),
    observedForMs: age(state.blind.at(-1)?.to),
    podsResourceVersion: state.podsResourceVersion,
    holds: [...state.holds.values()].map(describe),
    releases: state.releases.map(({ id, pod, by }) => ({ id, pod, ageMs: age(by) })),
  };
}
