import type { Gap } from "../../../common/storage/claim-status.ts";
import type { NodeFacts } from "../../../common/storage/node-facts.ts";
import { MAX_REPORT_ENTRIES, type NodeReport, type UnmountRecord } from "../../../common/storage/node-report.ts";
import {
  type MountedVolume,
  type VolumeIdentity,
  volumeKey,
  volumeMatcher,
} from "../../../common/storage/volume-identity.ts";
import type { Fact } from "../claims/attribution.ts";

/** The end of one pod's use of a volume on a node, in milliseconds of the API server's wall clock. */
export interface NodeUnmountRecord {
  readonly id: string;
  readonly node: string;
  readonly volume: UnmountRecord["volume"];
  readonly podUid: string;
  /** `namespace/name`, where the agent knew it. */
  readonly pod: string | undefined;
  /** At or after the truth. */
  readonly byMs: number;
  /** By how much `byMs` is too late at most; undefined where that is unknown, as for mounts of an earlier boot. */
  readonly widthMs: number | undefined;
  /** The same end as the agent stamped it. */
  readonly by: number;
  /** Stamps of one timeline can be compared; those of a later one are later, whatever their numbers. */
  readonly timeline: number;
  /** The node's last report has it, so an agent reports it again. Otherwise only this process has it. */
  readonly isReported: boolean;
}

export type NodeMountedVolume = MountedVolume & {
  /** `namespace/name` */
  readonly pod: string | undefined;
  /** By when it was mounted, on the boot clock. */
  readonly since: number;
  /** When last seen, never too late, if the last complete scan lacks it but its pod is not over; -Infinity: unknown. */
  readonly seenMs?: number | undefined;
};

/** A node's last accepted report. Times are milliseconds of the API server's wall clock, by default never too early. */
export interface NodeView {
  readonly node: string;
  readonly bootId: string;
  readonly instance: string;
  readonly generation: number;
  /** Grows with each boot, and when the boot clock has gone back. */
  readonly timeline: number;
  /** When its first message was sent, on the boot clock: stamps of an earlier timeline are from before that. */
  readonly timelineFrom: number;
  readonly mountedVolumes: readonly NodeMountedVolume[];
  /** By ID, records that may still change a status: reported ones, and those that follow from two reports. */
  readonly unmountRecords: ReadonlyMap<string, NodeUnmountRecord>;
  /** Begin of the last complete scan; see `ReportClock.earliest`. */
  readonly scanBeganMs: number;
  /** The same, never too late; undefined where that is unknown. */
  readonly scanFromMs: number | undefined;
  /** End of the last complete scan. */
  readonly scanEndedMs: number;
  /**
   * When the agent did not watch in this boot: from its last remembered scan (never too late; -Infinity: none) to the
   * next, as `to` in its own stamps. It has reported the end of all that was mounted by then and is not now.
   */
  readonly agentGaps: readonly (Gap & { readonly to: number })[];
  /** The pod watch had reached this before the scan began. */
  readonly podsResourceVersion: string | undefined;
  /** Begin and end of that scan on the boot clock. */
  readonly scan: NodeReport["scan"];
  /** When the last accepted message was sent, on the boot clock. */
  readonly sentAt: number;
  /** When the boot began, never too late. */
  readonly bootedAfterMs: number;
  /** The same, never too early. */
  readonly bootedByMs: number;
  /** The machine had no agent with a journal before; false also where that is unknown. */
  readonly isFirstBoot: boolean;
  /** Its boot clock went back, and with it everything that its agent knows: until when it knows nothing. */
  readonly forgottenByMs?: number | undefined;
  /** For people to read. */
  readonly facts?: NodeFacts | undefined;
}

export function factsIn(view: NodeView | undefined): readonly Fact[] {
  return view === undefined ? [] : [...view.mountedVolumes, ...view.unmountRecords.values()];
}

/** A heartbeat leaves the state as it is. */
export function isSameState(known: NodeView, view: NodeView): boolean {
  return known.mountedVolumes === view.mountedVolumes && known.unmountRecords === view.unmountRecords;
}

/** What only one of two views shows: most of a node's mounted volumes are the same as in the previous report. */
export function changedFacts(known: NodeView, view: NodeView): readonly Fact[] {
  if (isSameState(known, view)) return [];
  const [before, after] = [factsByText(known), factsByText(view)];
  const texts = new Set(before.keys()).symmetricDifference(after);
  return [...texts].flatMap((text) => before.get(text) ?? after.get(text) ?? []);
}

/** Facts by every field that their claim and effect depend on. A record's ID identifies the pod and the volume. */
function factsByText({ mountedVolumes, unmountRecords }: NodeView): ReadonlyMap<string, Fact> {
  const facts = new Map<string, Fact>();
  for (const one of mountedVolumes)
    facts.set(`${one.kind}/${one.since}/${one.podUid ?? ""}/${volumeKey(one.volume)}`, one);
  for (const one of unmountRecords.values()) facts.set(`${one.byMs}/${one.id}`, one);
  return facts;
}

/** Mounted volumes and records of a view: more than a report has, as ends stay until settled even if unreported. */
const MOST_ENTRIES = 3 * MAX_REPORT_ENTRIES;

/** Why the node may not have so much, which would take 20 MiB with the longest texts; undefined where it may. */
export function sizeProblem({ mountedVolumes, unmountRecords }: NodeView): string | undefined {
  const entries = mountedVolumes.length + unmountRecords.size;
  if (entries <= MOST_ENTRIES) return undefined;
  return `${entries} mounted volumes and unmount records are to be remembered of the node, and it may have ${MOST_ENTRIES}`;
}

export interface Shown {
  readonly view: NodeView;
  readonly mountedVolumes: readonly NodeMountedVolume[];
  readonly unmountRecords: readonly NodeUnmountRecord[];
}

/** What these views show of the volumes, as far as it belongs to what is asked for. */
export function shownIn(
  views: readonly NodeView[],
  volumes: readonly VolumeIdentity[],
  isOwn: (fact: Fact) => boolean,
): readonly Shown[] {
  const isOne = volumeMatcher(volumes);
  const isShown = (fact: Fact): boolean => isOne(fact.volume) && isOwn(fact);
  return views.map((view) => ({
    view,
    mountedVolumes: view.mountedVolumes.filter(isShown),
    unmountRecords: [...view.unmountRecords.values()].filter(isShown),
  }));
}
