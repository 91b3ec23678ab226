import inspector from "node:inspector";

/** A place in the code, with the order of magnitude of its count. */
export type Feature = string;

/** The covered code of Mooring, by V8's own block counters: no instrumentation and no build. */
export interface Coverage {
  /** What ran since the last call. */
  readonly take: () => ReadonlySet<Feature>;
  readonly stop: () => void;
}

/** The fields of a coverage that are read (Chrome DevTools Protocol, `Profiler.takePreciseCoverage`). */
interface Script {
  readonly url: string;
  readonly functions: readonly {
    readonly ranges: readonly { readonly startOffset: number; readonly endOffset: number; readonly count: number }[];
  }[];
}

const ROOT = new URL("../../", import.meta.url).href;
/** The product, and the library that does most of its decoding. */
const WATCHED = ["agent/", "aggregator/", "cli/", "common/", "node_modules/valibot/"].map((folder) => ROOT + folder);

/** Starts to count, in this thread only. */
export function startCoverage(): Coverage {
  const session = new inspector.Session();
  session.connect();
  session.post("Profiler.enable");
  session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  return {
    take: () => {
      const found = new Set<Feature>();
      // A session of the same thread answers before `post` returns.
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
