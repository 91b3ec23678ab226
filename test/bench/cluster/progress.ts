import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { number, parse, record, string } from "valibot";

/** How far a load has come, in a file, so that a run that is stopped costs no more than its last moments. */
export interface Progress {
  /** So many are done. */
  readonly of: (what: string) => number;
  readonly note: (what: string, done: number) => void;
}

/** Written down each time that so many more are done. */
const STEP = 1_000;

const counts = record(string(), number());

export function createProgress(file: string): Progress {
  const done = new Map(Object.entries(read(file)));
  return {
    of: (what) => done.get(what) ?? 0,
    note: (what, count) => {
      if (count < (done.get(what) ?? 0) + STEP) return;
      done.set(what, count);
      writeFileSync(`${file}.new`, JSON.stringify(Object.fromEntries(done)));
      renameSync(`${file}.new`, file);
    },
  };
}

function read(file: string): Record<string, number> {
  try {
    return parse(counts, JSON.parse(readFileSync(file, "utf8")));
  } catch {
    // The first run, or a file that is none: what is there already is answered as it is, it only takes longer.
    return {};
  }
}
