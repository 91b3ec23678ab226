import inspector from "node:inspector";

/** A place of the code, and how often it was passed: counts of the same order are one. */
export type Feature = string;

/** What of Mooring's code ran; by V8's own counters of each block, so that nothing has to be instrumented or built. */
export interface Coverage {
  /** What ran since it was last asked. */
  readonly take: () => ReadonlySet<Feature>;
  readonly stop: () => void;
}

/** The parts of a coverage that are looked at (Chrome DevTools Protocol, `Profiler.takePreciseCoverage`). */
interface Script {
  readonly url: string;
  readonly functions: readonly {
    readonly ranges: readonly { readonly startOffset: number; readonly endOffset: number; readonly count: number }[];
  }[];
}

const ROOT = new URL("../../", import.meta.url).href;
/** The product, and the library that most of its decoding is done by. */
const WATCHED = ["agent/", "aggregator/", "cli/", "common/", "node_modules/valibot/"].map((folder) => ROOT + folder);

/** Begins to count, in this thread alone. */
export function startCoverage(): Coverage {
  const session = new inspector.Session();
  session.connect();
  session.post("Profiler.enable");
  session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  return {
    take: () => {
      const found = new Set<Feature>();
      // The answer of a session of the same thread is there when `post` returns.
      session.post("Profiler.takePreciseCoverage", (error, { result }) => {
        if (error !== null) throw error;
        for (const script of result) keep(script, found);
      });
      return found;
    },
    stop: () => session.disconnect(),
  };
}

function keep({ url, functions }: Script, found: Set<Feature>): void {
  if (!WATCHED.some((folder) => url.startsWith(folder))) return;
  for (const { ranges } of functions) {
    for (const { startOffset, endOffset, count } of ranges) {
      if (count > 0) found.add(`${url}:${startOffset}-${endOffset}:${Math.floor(Math.log2(count))}`);
    }
  }
}
