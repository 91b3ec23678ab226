/**
 * Since when what pods did has been watched without a gap, by whichever replica, and how far a leader has dealt with it. Times are
 * milliseconds of the API server's wall clock.
 */
export interface WatchHistory {
  /** Never too early. */
  readonly sinceMs: number;
  /** The times before it in which nobody watched, oldest first, until every node has told what was used on it meanwhile. */
  readonly gaps: readonly WatchGap[];
  /** A resource version: all that pods did up to it was seen by a leader, and what came of it was written. */
  readonly reached: string;
  /** When the watch had come that far, never too late. */
  readonly reachedAtMs: number;
  /** A resource version that some Lease had by then, and for so long that every living kubelet had renewed its own meanwhile. */
  readonly leasesAt: string | undefined;
}

/** A time in which no replica is known to have watched pods. Whoever used a volume then is known from nodes only. */
export interface WatchGap {
  /** Never too late; nothing when nobody is known to have watched before. */
  readonly fromMs: number | undefined;
  /** Never too early. */
  readonly toMs: number;
  /** A resource version that some Lease had long before it: a kubelet whose Lease is not newer was away when it began. */
  readonly leasesAt: string | undefined;
  /** The nodes that have still to tell; nothing: every node. */
  readonly openNodes: readonly string[] | undefined;
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

/** More gaps are not told apart. */
export const MAX_GAPS = 8;
/** Of more nodes it is not kept that they have still to tell: their agents count as away for the time of the gap, and no longer. */
export const MAX_OPEN_NODES = 32;

/**
 * What a replica can say of the past when it begins to lead, or after a gap of its own: that of its predecessor, where its own watch
 * began before that one's word ends. Nothing that lies in between was seen by anybody else.
 */
export function inherit(handed: WatchHistory | undefined, watch: PodWatch): WatchHistory {
  const { sinceVersion, sinceMs } = watch;
  const known = handed && isBehind(handed, watch) ? withoutVersions(handed) : handed;
  if (known !== undefined && known === handed && isUpTo(sinceVersion, known.reached)) return known;
  const fromMs = known && Math.min(known.reachedAtMs, sinceMs);
  const leasesAt = known?.leasesAt;
  const gap = { fromMs, toMs: sinceMs, leasesAt, openNodes: undefined };
  const gaps = fewer([...(known?.gaps ?? []), gap]);
  // A list takes its time: when its version was the present one is not known, but that it was so after the predecessor's word.
  return { sinceMs, gaps, reached: sinceVersion, reachedAtMs: fromMs ?? 0, leasesAt };
}

/**
 * True when what a replica lists is older than what it had seen: etcd was restored from a backup. What has happened since the backup
 * was made has not happened for this server, and versions from before are given to other things.
 */
function isBehind({ reached }: WatchHistory, { sinceVersion, isRelisted = false }: PodWatch): boolean {
  return isRelisted && isUpTo(sinceVersion, reached) && !isUpTo(reached, sinceVersion);
}

/** A kubelet's Lease is older than the versions of the time before, whether it was renewed or not: it proves no absence. */
function withoutVersions(coverage: WatchHistory): WatchHistory {
  const gaps = coverage.gaps.map((gap) => ({ ...gap, leasesAt: undefined }));
  return { ...coverage, gaps, leasesAt: undefined };
}

/** The oldest become one, and what lies between them with them: rather a gap too many than one too few. */
function fewer(gaps: readonly WatchGap[]): readonly WatchGap[] {
  const [first, second, ...others] = gaps;
  if (gaps.length <= MAX_GAPS || first === undefined || second === undefined) return gaps;
  const openNodes = first.openNodes && second.openNodes && [...new Set([...first.openNodes, ...second.openNodes])];
  const kept = openNodes?.toSorted().slice(0, MAX_OPEN_NODES);
  return fewer([{ fromMs: first.fromMs, toMs: second.toMs, leasesAt: first.leasesAt, openNodes: kept }, ...others]);
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

/** What is left of the gaps when just these nodes have still to tell; nothing: any that had to before. */
export function settleGaps(
  coverage: WatchHistory,
  openIn: (gap: WatchGap) => readonly string[] | undefined,
): WatchHistory {
  const gaps = coverage.gaps.flatMap((gap) => {
    const open = openIn(gap)?.filter((node) => gap.openNodes?.includes(node) ?? true);
    if (open === undefined) return [gap];
    return open.length === 0 ? [] : [{ ...gap, openNodes: open.toSorted().slice(0, MAX_OPEN_NODES) }];
  });
  const isSame = JSON.stringify(gaps) === JSON.stringify(coverage.gaps);
  return isSame ? coverage : { ...coverage, gaps };
}

/**
 * True when what was so at a resource version was so before or at another one. They are decimal numbers that can be compared
 * (KEP-5504); of others nothing is known, so that this is false.
 */
export function isUpTo(version: string, other: string): boolean {
  return DECIMAL.test(version) && DECIMAL.test(other) && BigInt(version) <= BigInt(other);
}

const DECIMAL = /^\d+$/;
