import { existsSync, readFileSync } from "node:fs";
import type { Clock } from "../../../common/runtime/clock.ts";
import type { Owner } from "./owner.ts";

/** The kernel's record of how long processes waited for each (`Documentation/accounting/psi.rst`), since boot. */
const RECORDS = ["/proc/pressure/cpu", "/proc/pressure/io"] as const;
const EVERY_MS = 100;
/** So many times as long as it should take, something that the machine starves may take. */
const MOST_PATIENCE = 4;

/** For how long processes of this machine waited for a processor, or for its disk, whichever is more, in a span of the wall clock. */
export type Starvation = (fromMs: number, toMs: number) => number;

/** What the records said at a time of the wall clock: milliseconds in which somebody waited, for each of them. */
export interface PressureSample {
  readonly wallMs: number;
  readonly waitedMs: readonly number[];
}

/** Where no time is taken away, or nobody could tell. */
export const NO_STARVATION: Starvation = () => 0;

/** Reads the records ten times a second until the owner ends. On a kernel without them nothing counts as waited for. */
export function watchStarvation({ clock, signal }: Owner): Starvation {
  const samples: PressureSample[] = [];
  const sample = (): void => void samples.push({ wallMs: clock.wallMs(), waitedMs: readRecords() });
  const watch = async (): Promise<void> => {
    while (!signal.aborted) {
      sample();
      await clock.sleep(EVERY_MS, signal);
    }
  };
  void watch();
  return (fromMs, toMs) => starvedBetween(samples, fromMs, toMs);
}

/** Where the time comes from, and the records, unless told those of this machine. */
interface Measured {
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly waited?: () => readonly number[];
}

/** Counts from now on for how long processes of this machine waited, as a `Starvation` does; each call tells it so far, milliseconds. */
export function countStarvation({ clock, waited = readRecords }: Measured): () => number {
  const [begunAt, before] = [clock.monotonicMs(), waited()];
  return () => gainOf({ before, after: waited() }, clock.monotonicMs() - begunAt);
}

/** Measures from now on how long something takes, without what the machine made everybody wait meanwhile, milliseconds. */
export function startStopwatch(measured: Measured): () => number {
  const [begunAt, starvedMs] = [measured.clock.monotonicMs(), countStarvation(measured)];
  return () => measured.clock.monotonicMs() - begunAt - starvedMs();
}

/**
 * Tells from now on whether something that should be over by itself hangs: when it took longer than the limit of the time that the machine
 * gave, and in any case after four times as long.
 */
export function startLimit(limitMs: number, measured: Measured): () => boolean {
  const [begunAt, spentMs] = [measured.clock.monotonicMs(), startStopwatch(measured)];
  return () => {
    const tookMs = measured.clock.monotonicMs() - begunAt;
    return tookMs > limitMs && (tookMs > MOST_PATIENCE * limitMs || spentMs() > limitMs);
  };
}

/** The milliseconds in which some process waited. Throws for a text that does not say. */
export function parsePressure(text: string): number {
  const total = /^some .*\btotal=(\d+)$/m.exec(text)?.[1];
  if (total === undefined) throw new TypeError(`no record of pressure: ${JSON.stringify(text)}`);
  return Number(total) / 1000;
}

/** The larger of what the records gained in a span, from the last sample before it to the first one after it; never more than the span. */
export function starvedBetween(samples: readonly PressureSample[], fromMs: number, toMs: number): number {
  const before = samples.findLast(({ wallMs }) => wallMs <= fromMs) ?? samples[0];
  const after = samples.find(({ wallMs }) => wallMs >= toMs) ?? samples.at(-1);
  if (before === undefined || after === undefined || toMs <= fromMs) return 0;
  return gainOf({ before: before.waitedMs, after: after.waitedMs }, toMs - fromMs);
}

/** The larger of what the records gained, never more than the span. */
function gainOf(
  { before, after }: { readonly before: readonly number[]; readonly after: readonly number[] },
  spanMs: number,
): number {
  return Math.min(spanMs, Math.max(0, ...after.map((waitedMs, index) => waitedMs - (before[index] ?? 0))));
}

/** Nothing on a kernel without them. */
function readRecords(): readonly number[] {
  return RECORDS.filter((path) => existsSync(path)).map((path) => parsePressure(readFileSync(path, "utf8")));
}
