/** While mounts change all the time, scanning takes at most a tenth of a processor, as in systemd. */
const PAUSE_PER_WORK = 10;

/** What a scan took, milliseconds. */
export interface ScanCost {
  /** From begin to end: on a slow disk, or a busy processor, most of it is waiting. */
  readonly tookMs: number;
  /** Processor time. */
  readonly workedMs: number;
}

/**
 * How long to wait after a change before the next scan, in milliseconds. A storm of mounts must not use up the node, but it shows in
 * every scan: one slow scan among quick ones, or the first one after a start, whose code is not compiled yet, must not delay the next
 * end of a use by a second. Waiting uses nothing: after it, a pause of the same length leaves the disk to others for half of the time.
 * `scans`: the last ones, the latest last.
 */
export function pauseBefore(scans: readonly ScanCost[], debounceMs: number): number {
  const [last, other] = scans.slice(-2);
  if (last === undefined || other === undefined) return debounceMs;
  return Math.max(debounceMs, Math.min(pauseAfter(last), pauseAfter(other)));
}

function pauseAfter({ tookMs, workedMs }: ScanCost): number {
  return Math.max(tookMs, PAUSE_PER_WORK * workedMs);
}
