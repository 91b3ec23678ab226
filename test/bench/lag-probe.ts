import { appendFileSync } from "node:fs";
import { PerformanceObserver, performance } from "node:perf_hooks";
import { setInterval } from "node:timers";
import { LATE_MS, SAMPLE_MS } from "./late-turns.ts";

/**
 * Runs in a measured process, before its own code (`--import`): appends each late turn of its event loop to the file that its URL names,
 * with the time in which garbage was collected meanwhile. The program itself learns of a collection only after the turn.
 */

const file = new URL(import.meta.url).searchParams.get("file") ?? "";
/** Collections of the last second, and more. */
const KEPT = 500;

const collections: { readonly startTime: number; readonly duration: number }[] = [];
new PerformanceObserver((list) => collections.push(...list.getEntries())).observe({ entryTypes: ["gc"] });

const turns: { readonly from: number; readonly to: number }[] = [];
let last = performance.now();
setInterval(() => {
  const to = performance.now();
  if (to - last - SAMPLE_MS > LATE_MS) turns.push({ from: last, to });
  last = to;
}, SAMPLE_MS).unref();

setInterval(() => {
  const lines = turns.splice(0).map((turn) => {
    const wallMs = performance.timeOrigin + turn.to;
    return `${wallMs.toFixed(0)} ${(turn.to - turn.from - SAMPLE_MS).toFixed(1)} ${collectedIn(turn).toFixed(1)}\n`;
  });
  collections.splice(0, collections.length - KEPT);
  if (lines.length > 0) appendFileSync(file, lines.join(""));
}, 1_000).unref();

function collectedIn({ from, to }: { readonly from: number; readonly to: number }): number {
  const within = collections.map(({ startTime, duration }) =>
    Math.max(0, Math.min(to, startTime + duration) - Math.max(from, startTime)),
  );
  return within.reduce((sum, ms) => sum + ms, 0);
}
