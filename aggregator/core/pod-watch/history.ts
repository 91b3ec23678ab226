/** How long replicas have watched pods without a gap. Times are milliseconds of the API server's wall clock. */
export interface WatchHistory {
  /** Never too early. */
  readonly sinceMs: number;
  /** The gap before it, in which no replica watched, until every node has answered what was used on it meanwhile. */
  readonly gap: WatchGap | undefined;
  /** A resource version: a leader has decided everything that pods did up to it, and written the result. */
  readonly reached: string;
  /** When the watch had reached it, never too late. */
  readonly reachedAtMs: number;
}

/** A time in which no replica is known to have watched pods. Its uses are known from nodes only. */
export interface GapTime {
  /** Never too late; undefined when no replica is known to have watched before. */
  readonly fromMs: number | undefined;
  /** Never too early. */
  readonly toMs: number;
}

/** The one gap that is open, up to the begin of the present chain of watches. */
export interface WatchGap extends GapTime {
  /** A resource version from before the gap: no older Node has changed since. Undefined where that proves nothing. */
  readonly reached: string | undefined;
  /** Every node has still to answer; otherwise those in `open`. */
  readonly isForAll: boolean;
  /** Nodes that have still to answer or, where every node has, that have not answered for the previous gap either. */
  readonly open: readonly string[];
}

/** A claim whose decision the API server has not stored: only the hand-over contains it. */
export interface UnstoredClaim {
  readonly uid: string;
  /** Unused since then at the earliest, by the API server's wall clock; undefined where it was decided to be in use. */
  readonly sinceMs: number | undefined;
}

/** With more of them the hand-over stays as it was. */
export const MAX_UNSTORED = 100;

/** One replica's own watch of all pods: it missed nothing after `sinceVersion`. */
export interface PodWatch {
  readonly sinceVersion: string;
  /** When it had reached that, never too early. */
  readonly sinceMs: number;
  /** It follows another watch of the same replica, which the history includes. */
  readonly isRelisted?: boolean | undefined;
}

/** The hand-over names no more nodes: agents of others count as away for the time of the gap, and no longer. */
export const MAX_OPEN_NODES = 32;

/**
 * The history of a replica that begins to lead, or lists anew: the previous leader's where its own watch began before
 * that ends. Otherwise no replica saw what lies between, and a gap begins.
 */
export function inherit(handed: WatchHistory | undefined, watch: PodWatch): WatchHistory {
  const { sinceVersion, sinceMs, isRelisted } = watch;
  const isKnown = handed !== undefined && isUpTo(sinceVersion, handed.reached);
  // It lists less than it had seen: a backup of etcd was restored, and the server uses the versions again for other changes.
  const isRestored = isKnown && isRelisted === true && sinceVersion !== handed.reached;
  if (isKnown && !isRestored) return handed;
  const fromMs = handed && Math.min(handed.reachedAtMs, sinceMs);
  // After a restore every object is older than the versions of the time before, changed since or not.
  const gap = nextGap(handed?.gap, { fromMs, toMs: sinceMs, reached: isRestored ? undefined : handed?.reached });
  // A list takes its time: when its version was current is unknown, except that it was after the hand-over.
  return { sinceMs, gap, reached: sinceVersion, reachedAtMs: fromMs ?? 0 };
}

/** Pods went unobserved again. Where no node has answered for the previous gap, both are one, with the time between. */
export function nextGap(before: WatchGap | undefined, gap: GapTime & Pick<WatchGap, "reached">): WatchGap {
  const { isForAll = false, open = [] } = before ?? {};
  // A node that is away for long does not move claims of other nodes: for those the gap begins now.
  if (before === undefined || !isForAll) return { ...gap, isForAll: true, open };
  return { fromMs: before.fromMs ?? 0, toMs: gap.toMs, reached: gap.reached && before.reached, isForAll, open };
}

/** The gap of one of these nodes: all the time before it, for one that has not answered for the previous gap either. */
export function gapOf(gap: WatchGap, ...nodes: readonly string[]): GapTime {
  const isSecond = gap.isForAll && nodes.some((node) => gap.open.includes(node));
  return { fromMs: isSecond ? 0 : gap.fromMs, toMs: gap.toMs };
}

/** The gap when only these nodes have still to answer. */
export function leaveOpen(gap: WatchGap, nodes: readonly string[]): WatchGap | undefined {
  const open = nodes.filter((node) => gap.isForAll || gap.open.includes(node)).toSorted();
  if (open.length === 0) return undefined;
  return { ...gap, ...gapOf(gap, ...open), isForAll: false, open: open.slice(0, MAX_OPEN_NODES) };
}

export type Position = Pick<WatchHistory, "reached" | "reachedAtMs">;

/** The leader has decided everything up to a position. It never goes back: it had reached the earlier one before. */
export function advance(history: WatchHistory, { reached, reachedAtMs }: Position): WatchHistory {
  if (isUpTo(reached, history.reached)) return history;
  return { ...history, reached, reachedAtMs: Math.max(reachedAtMs, history.reachedAtMs) };
}

/** The first resource version is not newer than the second: decimal numbers (KEP-5504). False for anything else. */
export function isUpTo(version: string, other: string): boolean {
  return DECIMAL.test(version) && DECIMAL.test(other) && BigInt(version) <= BigInt(other);
}

const DECIMAL = /^\d+$/;
