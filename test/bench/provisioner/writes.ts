import { closeSync, constants, fdatasyncSync, openSync, writeSync } from "node:fs";
import type { Clock } from "../../../common/runtime/clock.ts";

const WRITES = 2_000;
const BYTES = 4_096;

/** How long each small synchronous write took, milliseconds. */
export interface WriteFigures {
  readonly first: readonly number[];
  readonly again: readonly number[];
}

/** Writes 4 KiB and waits for the disk, block by block through a new file, and the same once more. */
export function smallWrites(clock: Clock, path: string): WriteFigures {
  const file = openSync(path, constants.O_WRONLY | constants.O_CREAT, 0o600);
  try {
    return { first: pass(clock, file), again: pass(clock, file) };
  } finally {
    closeSync(file);
  }
}

function pass(clock: Clock, file: number): readonly number[] {
  const block = Buffer.alloc(BYTES, 1);
  return Array.from({ length: WRITES }, (_, index) => {
    const beganAt = clock.monotonicMs();
    writeSync(file, block, 0, BYTES, index * BYTES);
    fdatasyncSync(file);
    return clock.monotonicMs() - beganAt;
  });
}
