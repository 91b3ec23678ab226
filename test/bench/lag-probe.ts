import { appendFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { setInterval } from "node:timers";
import { createTracing } from "node:trace_events";
import { LATE_MS, SAMPLE_MS } from "./late-turns.ts";

/**
 * Runs in a measured process, before its own code (`--import`): appends each late turn of its event loop to the file that its URL names,
 * and has V8 trace its garbage collections (`--trace-event-file-pattern`). The hooks of Node.js would show the pauses for a collection,
 * but not the steps of marking that V8 takes while it allocates for the program, which take longer.
 */

const file = new URL(import.meta.url).searchParams.get("file") ?? "";
/** V8 counts the same microseconds, of CLOCK_MONOTONIC. */
const nowUs = (): number => Number(process.hrtime.bigint() / 1_000n);

const tracing = createTracing({ categories: ["v8"] });
tracing.enable();

const lines: string[] = [];
let last = nowUs();
setInterval(() => {
  const now = nowUs();
  const atMs = performance.timeOrigin + performance.now();
  if (now - last > (SAMPLE_MS + LATE_MS) * 1000) lines.push(`${atMs.toFixed(0)} ${last} ${now}\n`);
  last = now;
}, SAMPLE_MS).unref();

setInterval(() => {
  if (lines.length > 0) appendFileSync(file, lines.splice(0).join(""));
  // Node.js writes a trace only when tracing ends.
  tracing.disable();
  tracing.enable();
}, 1_000).unref();
