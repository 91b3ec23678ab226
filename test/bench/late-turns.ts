import { existsSync, readFileSync } from "node:fs";

/** How often the probe asks for a turn, and from when on it notes one. Milliseconds. */
export const SAMPLE_MS = 20;
export const LATE_MS = 10;

/** A late turn of an event loop, as `lag-probe.ts` wrote it. Milliseconds. */
interface LateTurn {
  /** When it ended, since the epoch. */
  readonly atMs: number;
  readonly lateMs: number;
  readonly collectingMs: number;
}

/** What the probe has written; nothing while no turn was late. */
export function readLateTurns(file: string): readonly LateTurn[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => {
    const [atMs = Number.NaN, lateMs = Number.NaN, collectingMs = Number.NaN] = line.split(" ").map(Number);
    return { atMs, lateMs, collectingMs };
  });
}

/**
 * The lag that 99 % of all turns did not exceed between two times, without the time in which garbage was collected; a blocked loop counts
 * once for each turn that was due meanwhile. `LATE_MS` where fewer turns were later. Milliseconds.
 */
export function ownLagP99(
  turns: readonly LateTurn[],
  span: { readonly fromMs: number; readonly toMs: number },
): number {
  const within = turns.filter(({ atMs }) => atMs >= span.fromMs && atMs < span.toMs);
  const lags = within.flatMap(({ lateMs, collectingMs }) => {
    const ownMs = Math.max(0, lateMs - collectingMs);
    return Array.from({ length: 1 + Math.floor(ownMs / SAMPLE_MS) }, (_, missed) => ownMs - missed * SAMPLE_MS);
  });
  const most = Math.floor((span.toMs - span.fromMs) / SAMPLE_MS / 100);
  return Math.max(LATE_MS, lags.toSorted((one, other) => other - one)[most] ?? 0);
}
