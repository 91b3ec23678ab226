import { Worker } from "node:worker_threads";
import type { Clock } from "../../common/runtime/clock.ts";
import { addFigures, type Figures, NO_FIGURES } from "./figures.ts";
import type { StepKind } from "./plan/step.ts";
import type { FailedSeed, SeedResult } from "./seeds.ts";

export interface SimulationOptions {
  readonly firstSeed: number;
  readonly seeds: number;
  readonly jobs: number;
  /** No seed starts after this many milliseconds. */
  readonly limitMs: number;
  /** Ends after this many failed seeds. */
  readonly mostFailures: number;
  readonly shrinks: boolean;
  readonly focus: readonly StepKind[] | undefined;
  readonly print: (line: string) => void;
}

export interface SimulationResult {
  readonly figures: Figures;
  readonly failed: readonly FailedSeed[];
  readonly tookMs: number;
}

/** Time between two lines of progress. Milliseconds. */
const PROGRESS_MS = 10_000;
/** A thread plays this many seeds, and then a new thread replaces it: what Node.js keeps of finished worlds slows the next ones down. */
const MOST_AT_ONCE = 1_000;

/** Plays the seeds, distributed over `jobs` threads. */
export async function simulate(clock: Clock, options: SimulationOptions): Promise<SimulationResult> {
  const { firstSeed, seeds, jobs, limitMs, mostFailures, shrinks, focus, print } = options;
  const begunAt = clock.monotonicMs();
  const done = new AbortController();
  let figures: Figures = NO_FIGURES;
  const failed: FailedSeed[] = [];
  const onResult = (result: SeedResult): void => {
    figures = addFigures(figures, result.figures);
    if (result.failed !== undefined) {
      failed.push(result.failed);
      print(`Seed ${result.failed.seed}: ${result.failed.failure.detail}`);
    }
    if (failed.length >= mostFailures || clock.monotonicMs() - begunAt >= limitMs) done.abort("enough");
  };
  const endSeed = firstSeed + seeds;
  const share = Math.min(MOST_AT_ONCE, Math.ceil(seeds / jobs));
  let next = firstSeed;
  const work = Array.from({ length: jobs }, async () => {
    while (next < endSeed && !done.signal.aborted) {
      const first = next;
      next = Math.min(first + share, endSeed);
      await runWorker({ first, last: next - 1, shrinks, focus }, { onResult, signal: done.signal });
    }
  });
  const progress = printProgress(clock, done.signal, () => {
    const seconds = Math.round((clock.monotonicMs() - begunAt) / 1000);
    print(`${figures.seeds} of ${seeds} seeds, ${figures.steps} steps, ${failed.length} failed, ${seconds} s`);
  });
  try {
    await Promise.all(work);
  } finally {
    done.abort("done");
    await progress;
  }
  return { figures, failed, tookMs: clock.monotonicMs() - begunAt };
}

interface WorkerData {
  readonly first: number;
  readonly last: number;
  readonly shrinks: boolean;
  readonly focus: readonly StepKind[] | undefined;
}

interface WorkerOptions {
  readonly onResult: (result: SeedResult) => void;
  readonly signal: AbortSignal;
}

function runWorker(workerData: WorkerData, { onResult, signal }: WorkerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./worker.ts", import.meta.url), { workerData });
    const end = (): void => void worker.terminate();
    signal.addEventListener("abort", end, { once: true });
    worker.on("message", (result: SeedResult) => {
      if (!signal.aborted) onResult(result);
    });
    worker.on("error", reject);
    worker.on("exit", () => resolve());
  });
}

async function printProgress(clock: Clock, signal: AbortSignal, print: () => void): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(PROGRESS_MS, signal);
    if (!signal.aborted) print();
  }
}
