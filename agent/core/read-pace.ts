/** Of the time in which mounts change all the time, at most a tenth goes into reading them, as systemd does. */
const REST_PER_READ = 10;

/**
 * How long to wait after a change before the table is read, in milliseconds. A storm of mounts must not eat the node, but it shows
 * in every read: one slow read among quick ones, or the first after a start, whose code is not compiled yet, must not make the next
 * end of a use a second late. `readsMs`: how long the last reads took, the latest last.
 */
export function restBefore(readsMs: readonly number[], debounceMs: number): number {
  const [last, other] = readsMs.slice(-2);
  if (last === undefined || other === undefined) return debounceMs;
  return Math.max(debounceMs, REST_PER_READ * Math.min(last, other));
}
