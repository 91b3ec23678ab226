import { existsSync, readFileSync } from "node:fs";
import type { Owner } from "./owner.ts";

/** The kernel's record of how long processes waited for each (`Documentation/accounting/psi.rst`), since boot. */
const RECORDS = ["/proc/pressure/cpu", "/proc/pressure/io"] as const;
const EVERY_MS = 100;

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
  const records = RECORDS.filter((path) => existsSync(path));
  const samples: PressureSample[] = [];
  const sample = (): void => {
    const waitedMs = records.map((path) => parsePressure(readFileSync(path, "utf8")));
    samples.push({ wallMs: clock.wallMs(), waitedMs });
  };
  const watch = async (): Promise<void> => {
    while (!signal.aborted) {
      sample();
      await clock.sleep(EVERY_MS, signal);
    }
  };
  void watch();
  return (fromMs, toMs) => starvedBetween(samples, fromMs, toMs);
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
  const gains = after.waitedMs.map((waitedMs, index) => waitedMs - (before.waitedMs[index] ?? 0));
  return Math.min(toMs - fromMs, Math.max(0, ...gains));
}
