/** Of the time in which mounts change all the time, at most a tenth of a processor goes into reading them, as systemd does. */
const REST_PER_WORK = 10;

/** What a look at the node took, milliseconds. */
export interface ScanCost {
  /** From its begin to its end: where the disk of the journal is slow, or others want the processor, most of it is waiting. */
  readonly tookMs: number;
  /** What processors did for it. */
  readonly workedMs: number;
}

/**
 * How long to wait after a change before the table is read, in milliseconds. A storm of mounts must not eat the node, but it shows
 * in every look: one slow look among quick ones, or the first after a start, whose code is not compiled yet, must not make the next
 * end of a use a second late. What only waited has eaten nothing: after it a rest of the same length leaves the disk to others for half of
 * the time. `looks`: the last ones, the latest last.
 */
export function restBefore(scans: readonly ScanCost[], debounceMs: number): number {
  const [last, other] = scans.slice(-2);
  if (last === undefined || other === undefined) return debounceMs;
  return Math.max(debounceMs, Math.min(restAfter(last), restAfter(other)));
}

function restAfter({ tookMs, workedMs }: ScanCost): number {
  return Math.max(tookMs, REST_PER_WORK * workedMs);
}
