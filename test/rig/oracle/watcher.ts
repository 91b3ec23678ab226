import { appendFileSync } from "node:fs";
import type { Clock } from "../../../common/runtime/clock.ts";
import { watchNamespace } from "./kernel.ts";
import { MountLives } from "./mount-lives.ts";
import type { OracleLine, Stamp } from "./record.ts";

/** What is watched and where it is written to. */
export interface WatchOptions {
  /** `/proc/<pid>/ns/mnt` */
  readonly namespace: string;
  /** Takes a line of JSON for each mount and unmount. */
  readonly record: string;
}

/**
 * Between two lists of all mounts: so wide is the span of an unmount at most, unless the machine is busy. The wait for events blocks,
 * so signals are heard once in this time.
 */
const LOOK_MS = 5;

/** Watches until the signal is aborted or the namespace is gone. */
export async function watchMounts(options: WatchOptions, clock: Clock, signal: AbortSignal): Promise<void> {
  const now = (): Stamp => ({ wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() });
  const write = (...lines: readonly OracleLine[]): void => {
    if (lines.length > 0) appendFileSync(options.record, lines.map((one) => `${JSON.stringify(one)}\n`).join(""));
  };
  const watch = watchNamespace(options.namespace);
  const lives = new MountLives(watch.describe);
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    const began = now();
    const mounts = watch.list();
    const ended = now();
    // With the namespace all its mounts are gone.
    write(...lives.onLook({ began, ended, mounts: mounts ?? [] }));
    if (mounts === undefined) break;
    if (isFirst) write({ kind: "watching", at: ended });
    const events = watch.wait(LOOK_MS);
    write(...lives.onEvents(events, now()));
    // The signal's turn.
    await clock.sleep(0);
  }
  watch.close();
  write({ kind: signal.aborted ? "stopped" : "gone", at: now() });
}
