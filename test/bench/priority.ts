/**
 * The command with so much added to its niceness. Where the kernel shares the processor among sessions (sched_autogroup, sched(7)),
 * niceness counts among the processes of one session alone, and each child of a run has one of its own: its session's weight is set, too.
 * Less than 0 needs root.
 */
export function withNiceness(
  nice: number,
  command: readonly string[],
): { readonly command: string; readonly args: string[] } {
  // A kernel without such groups has no such file.
  const script = 'if [ -e /proc/self/autogroup ]; then echo "$0" > /proc/self/autogroup; fi; exec "$@"';
  return { command: "nice", args: ["-n", String(nice), "sh", "-c", script, String(nice), ...command] };
}
