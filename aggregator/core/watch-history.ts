/**
 * Since when what pods did has been watched without a gap, by whichever replica, and how far a leader has dealt with it. Times are
 * milliseconds of the API server's wall clock.
 */
export interface WatchHistory {
  /** Never too early. */
  readonly sinceMs: number;
  /** The time before it in which no replica watched, until every node has answered what was used on it meanwhile. */
  readonly gap: WatchGap | undefined;
  /** A resource version: all that pods did up to it was seen by a leader, and what came of it was written. */
  readonly reached: string;
  /** When the watch had come that far, never too late. */
  readonly reachedAtMs: number;
  /** A resource version that some Lease had by then, and for so long that every living kubelet had renewed its own meanwhile. */
  readonly leasesAt: string | undefined;
}

/** A time in which no replica is known to have watched pods. What was used then is known from nodes only. */
export interface GapTime {
  /** Never too late; nothing when no replica is known to have watched before. */
  readonly fromMs: number | undefined;
  /** Never too early. */
  readonly toMs: number;
}

/** The one gap that is open, up to the begin of the present chain of watches. */
export interface WatchGap extends GapTime {
  /** A resource version that some Lease had long before it: a kubelet whose Lease is not newer was away when it began. */
  readonly leasesAt: string | undefined;
  /** Every node has still to answer; else those in `open`. */
  readonly isForAll: boolean;
  /** Nodes that have still to answer, by the begin of the gap for each: of an earlier gap, where that was open for it already. */
  readonly open: ReadonlyMap<string, number | undefined>;
}

/** A claim whose status a leader has decided, and that the API server has not stored: nothing but the leader's word tells of it. */
export interface UnstoredClaim {
  readonly uid: string;
  /** It is unused since then at the earliest, milliseconds of the API server's wall clock; nothing where it was decided to be in use. */
  readonly sinceMs: number | undefined;
}

/** More of them are not handed over: as long as there are, the hand-over stays as it was. */
export const MAX_UNSTORED = 100;

/** One replica's own watch of all pods: nothing was missed after `sinceVersion`. */
export interface PodWatch {
  readonly sinceVersion: string;
  /** When it had come that far, never too early. */
  readonly sinceMs: number;
  /** It follows another watch of the same replica, which had been taken into account. */
  readonly isRelisted?: boolean | undefined;
}

/** Of more nodes it is not kept that they have still to tell: their agents count as away for the time of the gap, and no longer. */
export const MAX_OPEN_NODES = 32;

/**
 * What a replica can say of the past when it begins to lead, or after a gap of its own: what its predecessor left, where its own watch
 * began before that ends. Nothing that lies in between was seen by another replica.
 */
export function inherit(handed: WatchHistory | undefined, watch: PodWatch): WatchHistory {
  const { sinceVersion, sinceMs } = watch;
  const isRestored = handed !== undefined && isBehind(handed, watch);
  if (handed !== undefined && !isRestored && isUpTo(sinceVersion, handed.reached)) return handed;
  const fromMs = handed && Math.min(handed.reachedAtMs, sinceMs);
  // After a restore a kubelet's Lease is older than the versions of the time before, whether it was renewed or not: it proves no absence.
  const leasesAt = isRestored ? undefined : handed?.leasesAt;
  const gap = nextGap(handed?.gap, { fromMs, toMs: sinceMs, leasesAt });
  // A list takes its time: when its version was the present one is not known, but that it was so after the predecessor's word.
  return { sinceMs, gap, reached: sinceVersion, reachedAtMs: fromMs ?? 0, leasesAt };
}

/**
 * True when what a replica lists is older than what it had seen: etcd was restored from a backup. What has happened since the backup
 * was made has not happened for this server, and versions from before are given to other things.
 */
function isBehind({ reached }: WatchHistory, { sinceVersion, isRelisted = false }: PodWatch): boolean {
  return isRelisted && isUpTo(sinceVersion, reached) && !isUpTo(reached, sinceVersion);
}

/**
 * Pods were not watched again. For a node that has not answered of the gap before it is one gap from the begin of that one, with what was
 * watched in between; for all others it begins now, so that a node which is away for long dates no claims of others anew.
 */
export function nextGap(before: WatchGap | undefined, gap: GapTime & Pick<WatchGap, "leasesAt">): WatchGap {
  if (before === undefined) return { ...gap, isForAll: true, open: new Map() };
  const beginOf = (fromMs: number | undefined): number => fromMs ?? 0;
  const open = new Map([...before.open].map(([node, fromMs]) => [node, beginOf(fromMs)]));
  if (!before.isForAll) return { ...gap, isForAll: true, open };
  const leasesAt = gap.leasesAt && before.leasesAt;
  return { fromMs: beginOf(before.fromMs), toMs: gap.toMs, leasesAt, isForAll: true, open };
}

/** The gap as it is for one node; nothing where that has answered. */
export function gapOf(gap: WatchGap, node: string): GapTime | undefined {
  const { fromMs, toMs, open, isForAll } = gap;
  if (open.has(node)) return { fromMs: open.get(node), toMs };
  return isForAll ? { fromMs, toMs } : undefined;
}

/** What is left of the gap when just these nodes have still to answer. */
export function leaveOpen(gap: WatchGap, nodes: readonly string[]): WatchGap | undefined {
  const asked = nodes.toSorted().flatMap((node) => {
    const own = gapOf(gap, node);
    return own === undefined ? [] : [[node, own.fromMs] as const];
  });
  return asked.length === 0 ? undefined : { ...gap, isForAll: false, open: new Map(asked.slice(0, MAX_OPEN_NODES)) };
}

/** The leader has dealt with everything up to a resource version. It never goes back. */
export function advance(
  coverage: WatchHistory,
  {
    reached,
    atMs,
    leasesAt,
  }: { readonly reached: string; readonly atMs: number; readonly leasesAt?: string | undefined },
): WatchHistory {
  if (isUpTo(reached, coverage.reached)) return coverage;
  // It is known to have come as far as before at the time that was known before.
  if (atMs < coverage.reachedAtMs) return { ...coverage, reached };
  return { ...coverage, reached, reachedAtMs: atMs, leasesAt: leasesAt ?? coverage.leasesAt };
}

/**
 * True when what was so at a resource version was so before or at another one. They are decimal numbers that can be compared
 * (KEP-5504); of others nothing is known, so that this is false.
 */
export function isUpTo(version: string, other: string): boolean {
  return DECIMAL.test(version) && DECIMAL.test(other) && BigInt(version) <= BigInt(other);
}

const DECIMAL = /^\d+$/;
