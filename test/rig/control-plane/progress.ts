import type { Clock } from "../../../common/runtime/clock.ts";

const TERMINAL_MS = 500;
const PIPE_MS = 15_000;

/** Where progress is shown. */
export interface Screen {
  readonly write: (text: string) => void;
  /** Whether a line can be written over. */
  readonly isTerminal: boolean;
  /** Width in characters. */
  readonly columns: number;
}

/** What shows progress. */
export interface Progress {
  readonly clock: Clock;
  readonly screen: Screen;
}

/** The screen of standard error. */
export function standardError(): Screen {
  const { isTTY, columns } = process.stderr;
  return { write: (text) => void process.stderr.write(text), isTerminal: isTTY === true, columns: columns ?? 80 };
}

/**
 * Shows how far `work` is until it ends: one line that is written over on a terminal, a line every 15 s elsewhere.
 * `describe` gets the time since the begin.
 */
export async function showProgress<T>(
  { clock, screen }: Progress,
  describe: (elapsed: string) => string,
  work: Promise<T>,
): Promise<T> {
  const begin = clock.monotonicMs();
  const over = new AbortController();
  const shown = repeat();
  async function repeat(): Promise<void> {
    for (;;) {
      await clock.sleep(screen.isTerminal ? TERMINAL_MS : PIPE_MS, over.signal);
      if (over.signal.aborted) return;
      const line = `mooring: ${describe(duration(clock.monotonicMs() - begin))}`;
      screen.write(screen.isTerminal ? `\r\u001b[K${line.slice(0, screen.columns - 1)}` : `${line}\n`);
    }
  }
  try {
    return await work;
  } finally {
    over.abort();
    await shown;
    if (screen.isTerminal) screen.write("\r\u001b[K");
  }
}

/** A duration in ms in words: `4 min 20 s`. */
export function duration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** Bytes in words: `3.1 GB`, `27 MB`. */
export function size(bytes: number): string {
  return bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : `${Math.round(bytes / 1e6)} MB`;
}
