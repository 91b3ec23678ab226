/** Does `task` for 0, 1, 2 … up to `count`, so many at a time; stops at the first failure or when the signal is aborted. */
export async function forEachIndex(
  { count, workers, signal }: { readonly count: number; readonly workers: number; readonly signal: AbortSignal },
  task: (index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const stop = new AbortController();
  const work = async (): Promise<void> => {
    while (next < count && !signal.aborted && !stop.signal.aborted) {
      const index = next;
      next += 1;
      await task(index);
    }
  };
  const all = Array.from({ length: Math.min(workers, count) }, work);
  await Promise.all(all).finally(() => stop.abort());
  signal.throwIfAborted();
}
