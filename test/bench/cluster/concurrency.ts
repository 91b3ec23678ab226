/** Which indexes, how many at a time, and who is told how far it is. */
export interface IndexWork {
  /** The first one, unless it is 0, and one more than the last. */
  readonly first?: number;
  readonly count: number;
  readonly workers: number;
  readonly signal: AbortSignal;
  /** Called after each; all below `done` are done. */
  readonly onProgress?: (done: number) => void;
}

/** Does `task` for each index, so many at a time; stops at the first failure or when the signal is aborted, and rejects. */
export async function forEachIndex(
  { first = 0, count, workers, signal, onProgress = () => {} }: IndexWork,
  task: (index: number) => Promise<void>,
): Promise<void> {
  let next = first;
  const running = new Set<number>();
  const stop = new AbortController();
  const work = async (): Promise<void> => {
    while (next < count && !signal.aborted && !stop.signal.aborted) {
      const index = next;
      next += 1;
      running.add(index);
      await task(index);
      running.delete(index);
      onProgress(Math.min(next, ...running));
    }
  };
  await Promise.all(Array.from({ length: workers }, work)).finally(() => stop.abort());
  signal.throwIfAborted();
}
