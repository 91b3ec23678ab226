/** The number of indexes, from 0, and of concurrent tasks. */
export interface IndexWork {
  readonly count: number;
  readonly workers: number;
  readonly signal: AbortSignal;
}

/** Runs `task` for each index, this many at a time; stops at the first failure or when the signal aborts, and rejects. */
export async function forEachIndex(
  { count, workers, signal }: IndexWork,
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
  await Promise.all(Array.from({ length: workers }, work)).finally(() => stop.abort());
  signal.throwIfAborted();
}
