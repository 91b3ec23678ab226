import type { ReadSpan, Release } from "../../common/storage/node-report.ts";
import { type Hold, isUseHold, type UseHold, useKey, volumeKey } from "../../common/storage/volume-identity.ts";
import { holdKey, type MountRead } from "./holds.ts";

/** A hold that is known to be there, with when it was seen. Stamps are milliseconds on the boot clock. */
export interface KnownHold {
  readonly hold: Hold;
  /** `namespace/name` of its pod, once that was known. */
  readonly pod: string | undefined;
  /** Begin of the first read that showed it. */
  readonly since: number;
  /** Begin of the last complete read that showed it; if only damaged reads did, of the last of those. */
  readonly seenAt: number;
  /** True once a complete read showed it: from then on a damaged read no longer moves `seenAt`. */
  readonly proven: boolean;
}

/** Everything an agent knows about its node. It is replaced, never changed. */
export interface NodeState {
  readonly bootId: string;
  readonly holds: ReadonlyMap<string, KnownHold>;
  /** Ends of use that the aggregator has not yet said may be forgotten. */
  readonly releases: readonly Release[];
  /** The last complete read; undefined until there was one. */
  readonly read: ReadSpan | undefined;
  /** What the pod watch had reached before that read began. */
  readonly podsResourceVersion: string | undefined;
  /** End of the first complete read of this run. */
  readonly observedSince: number | undefined;
  /** Rises with each change of holds or releases. */
  readonly generation: number;
}

/** What is seen at one moment: a read, and what the pod watch had reached before it began. */
export interface NodeSnapshot {
  readonly read: MountRead;
  readonly podsResourceVersion: string | undefined;
  /** `namespace/name` by UID, of the pods that the watch shows. */
  readonly podNames: ReadonlyMap<string, string>;
}

/** What a snapshot changed; the wiring logs and reports it. */
export type Decision =
  | { readonly kind: "mounted"; readonly hold: Hold }
  | { readonly kind: "unmounted"; readonly hold: Hold }
  | { readonly kind: "released"; readonly release: Release };

/** The state before the first read of a boot. */
export function initialState(bootId: string): NodeState {
  return {
    bootId,
    holds: new Map(),
    releases: [],
    read: undefined,
    podsResourceVersion: undefined,
    observedSince: undefined,
    generation: 0,
  };
}

/** What a new look at the node tells beyond what was known. Absence counts only in a complete read. */
export function observe(
  previous: NodeState,
  { read, podsResourceVersion, podNames }: NodeSnapshot,
): { readonly state: NodeState; readonly decisions: readonly Decision[] } {
  const complete = read.incomplete === undefined;
  const holds = nextHolds(previous.holds, { read, podNames });
  const gone = complete ? [...previous.holds.values()].filter(({ hold }) => !holds.has(holdKey(hold))) : [];
  const releases = releasesOf(previous.bootId, gone, { holds, endedAt: read.endedAt });
  const decisions: Decision[] = [
    ...[...holds.values()].filter(({ hold }) => !previous.holds.has(holdKey(hold))).map(({ hold }) => mounted(hold)),
    ...gone.map(({ hold }): Decision => ({ kind: "unmounted", hold })),
    ...releases.map((release): Decision => ({ kind: "released", release })),
  ];
  const observed = complete
    ? {
        read: { beganAt: read.beganAt, endedAt: read.endedAt },
        podsResourceVersion,
        observedSince: previous.observedSince ?? read.endedAt,
      }
    : {};
  const state: NodeState = {
    ...previous,
    ...observed,
    holds,
    releases: [...previous.releases, ...releases],
    generation: previous.generation + (decisions.length > 0 ? 1 : 0),
  };
  return { state, decisions };
}

function mounted(hold: Hold): Decision {
  return { kind: "mounted", hold };
}

/** The holds after a read: those it shows, and where it is not complete also those it does not. */
function nextHolds(
  known: ReadonlyMap<string, KnownHold>,
  { read, podNames }: Pick<NodeSnapshot, "read" | "podNames">,
): ReadonlyMap<string, KnownHold> {
  const complete = read.incomplete === undefined;
  const holds = new Map(complete ? [] : known);
  for (const { kind, volume, podUid } of read.holds) {
    const hold: Hold = { kind, volume, podUid };
    const key = holdKey(hold);
    const before = known.get(key);
    if (complete || before?.proven !== true) {
      const pod = before?.pod ?? podNames.get(podUid ?? "");
      holds.set(key, { hold, pod, since: before?.since ?? read.beganAt, seenAt: read.beganAt, proven: complete });
    }
  }
  return holds;
}

/** A use has ended when the last of its holds is gone; its interval begins where the last of them was still seen. */
function releasesOf(
  bootId: string,
  gone: readonly KnownHold[],
  now: { readonly holds: ReadonlyMap<string, KnownHold>; readonly endedAt: number },
): readonly Release[] {
  const inUse = new Set(
    [...now.holds.values()]
      .map(({ hold }) => hold)
      .filter(isUseHold)
      .map(useKey),
  );
  const ended = new Map<string, { readonly use: UseHold; readonly pod: string | undefined; readonly after: number }>();
  for (const { hold, pod, seenAt } of gone) {
    if (!isUseHold(hold) || inUse.has(useKey(hold))) continue;
    const other = ended.get(useKey(hold));
    ended.set(useKey(hold), { use: hold, pod: pod ?? other?.pod, after: Math.max(seenAt, other?.after ?? 0) });
  }
  return [...ended.values()].map(({ use, pod, after }) => ({
    id: `${bootId}/${Math.round(now.endedAt * 1000)}/${use.podUid}/${volumeKey(use.volume)}`,
    volume: use.volume,
    podUid: use.podUid,
    ...(pod === undefined ? {} : { pod }),
    after,
    by: now.endedAt,
  }));
}

/** True when a complete read lacks a hold that is known: then a second read must confirm it before it counts. */
export function hasAbsence(state: NodeState, read: MountRead): boolean {
  if (read.incomplete !== undefined) return false;
  const seen = new Set(read.holds.map(holdKey));
  return [...state.holds.keys()].some((key) => !seen.has(key));
}

/** The state without the releases that can no longer change any status. */
export function forget(state: NodeState, releaseIds: readonly string[]): NodeState {
  const ids = new Set(releaseIds);
  const releases = state.releases.filter(({ id }) => !ids.has(id));
  if (releases.length === state.releases.length) return state;
  return { ...state, releases, generation: state.generation + 1 };
}
