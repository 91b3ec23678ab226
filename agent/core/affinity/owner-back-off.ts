/**
 * How long the next rejection of an owner's pods has to wait. Its replacements may keep coming to this node: a scheduler acts on old
 * data, or an affinity contradicts the pod's own. Three in ten minutes are free; each further one waits twice as long as the one before,
 * up to a ceiling. After ten minutes without one beyond the wait, the owner begins anew. Each rejection carries its level, also in the
 * pod's annotation, so that the newest one is enough.
 */

/** A rejection of one of the owner's pods. Milliseconds of the boot clock. */
export interface PastRejection {
  readonly atMs: number;
  /** 0 for a free one; each further one is one higher. */
  readonly level: number;
}

/** What is known of an owner. */
export interface OwnerPast {
  /** Those that still count. */
  readonly rejections: readonly PastRejection[];
  /** How many are assumed before the agent began to watch, and when that was. */
  readonly assumed: { readonly count: number; readonly atMs: number };
}

/** So many in `OWNER_WINDOW_MS` are free. */
export const FREE_REJECTIONS = 3;
export const OWNER_WINDOW_MS = 600_000;
/** The first wait, and the ceiling that doubling it comes to. Milliseconds. */
const FIRST_WAIT_MS = 60_000;
const LONGEST_WAIT_MS = 1_800_000;
/** The level at which the ceiling is reached. */
const LAST_LEVEL = 6;

/** How long the next rejection waits after one of this level: nothing, 1, 2, 4, 8, 16, and from then on 30 minutes. */
export function backOffMs(level: number): number {
  return level <= 0 ? 0 : Math.min(FIRST_WAIT_MS * 2 ** (level - 1), LONGEST_WAIT_MS);
}

/** True as long as a rejection still matters for the next one. */
export function stillCounts({ atMs, level }: PastRejection, nowMs: number): boolean {
  return nowMs - atMs < backOffMs(level) + OWNER_WINDOW_MS;
}

/** From when on the next one may come: in the past when it may at once. */
export function ownerWait(past: OwnerPast, nowMs: number): number {
  const newestAtMs = Math.max(...past.rejections.map(({ atMs }) => atMs));
  return newestAtMs + backOffMs(levelOf(past, nowMs));
}

/** The level of a rejection that is made now. */
export function nextLevel(past: OwnerPast, nowMs: number): number {
  const level = levelOf(past, nowMs);
  if (level > 0) return Math.min(level + 1, LAST_LEVEL);
  return recentCount(past, nowMs) + 1 >= FREE_REJECTIONS ? 1 : 0;
}

/** An owner with three recent ones is limited whatever their annotations say: these may be of another version, or lost. */
function levelOf(past: OwnerPast, nowMs: number): number {
  const written = Math.max(0, ...past.rejections.map(({ level }) => level));
  return Math.max(written, recentCount(past, nowMs) >= FREE_REJECTIONS ? 1 : 0);
}

/** Those of level 0 count while they are recent; with another one this is not called. */
function recentCount({ rejections, assumed }: OwnerPast, nowMs: number): number {
  return rejections.length + (nowMs - assumed.atMs < OWNER_WINDOW_MS ? assumed.count : 0);
}
