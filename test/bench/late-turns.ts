import { existsSync, globSync, readFileSync } from "node:fs";

/** How often the probe asks for a turn, and from when on it notes one. Milliseconds. */
export const SAMPLE_MS = 20;
export const LATE_MS = 10;

/** A late turn of an event loop. Milliseconds. */
interface LateTurn {
  /** When it ended, since the epoch. */
  readonly atMs: number;
  readonly lateMs: number;
  readonly collectingMs: number;
}

/** Microseconds since boot. */
interface Span {
  readonly from: number;
  readonly to: number;
}

/** The file of a trace of V8 that goes with `file`, which has the turns. */
export function traceFile(file: string, [pid, rotation]: readonly [string, string]): string {
  return `${file}.trace-${pid}-${rotation}`;
}

/** What `lag-probe.ts` has written; nothing while no turn was late. */
export function readLateTurns(file: string): readonly LateTurn[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  const turns = lines.map((line) => {
    const [atMs = Number.NaN, from = Number.NaN, to = Number.NaN] = line.split(" ").map(Number);
    return { atMs, from, to };
  });
  const files = globSync(traceFile(file, ["*", "*"]));
  const collected = collectedIn(
    files.flatMap((trace) => collectionsIn(readFileSync(trace, "utf8"))),
    turns,
  );
  return turns.map(({ atMs, from, to }, index) => ({
    atMs,
    lateMs: (to - from) / 1000 - SAMPLE_MS,
    collectingMs: (collected[index] ?? 0) / 1000,
  }));
}

/** Events of the main thread, whose number is the process's. */
const COLLECTION = /"pid":(\d+),"tid":\1,"ts":(\d+),"tts":\d+,"ph":"X","cat":"v8","name":"V8\.GC\w+","dur":(\d+)/g;

function collectionsIn(trace: string): readonly Span[] {
  return Array.from(trace.matchAll(COLLECTION), ([, , at, duration]) => {
    const from = Number(at);
    return { from, to: from + Number(duration) };
  });
}

/** How long garbage was collected in each turn; a collection may be part of another one. Microseconds. */
function collectedIn(collections: readonly Span[], turns: readonly Span[]): readonly number[] {
  const sorted = collections.toSorted((one, other) => one.from - other.from);
  let next = 0;
  return turns.map(({ from, to }) => {
    let [sum, covered] = [0, from];
    for (; next < sorted.length; next += 1) {
      const collection = sorted[next];
      if (collection === undefined || collection.from >= to) break;
      sum += Math.max(0, Math.min(to, collection.to) - Math.max(covered, collection.from));
      covered = Math.max(covered, collection.to);
    }
    return sum;
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
