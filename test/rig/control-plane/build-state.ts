import { size } from "./progress.ts";

/** How far a `go build` is, from what Go prints. */
export interface BuildState {
  /** Modules that Go downloaded for it. */
  readonly downloaded: number;
  /** Packages of which Go said whether their objects are in its cache. */
  readonly listed: number;
  /** Those that are not and have to be compiled. */
  readonly stale: number;
  readonly compiled: number;
  /** Bytes of disk that were taken since the begin. */
  readonly diskUsed: number;
}

export const BUILD_BEGIN: BuildState = { downloaded: 0, listed: 0, stale: 0, compiled: 0, diskUsed: 0 };

/** The state after a line of `go list -f {{.Stale}}` or of `go build -v`. */
export function afterLine(state: BuildState, line: string): BuildState {
  if (line.startsWith("go: downloading ")) return { ...state, downloaded: state.downloaded + 1 };
  if (line === "true") return { ...state, listed: state.listed + 1, stale: state.stale + 1 };
  if (line === "false") return { ...state, listed: state.listed + 1 };
  // What is compiled is printed as an import path alone; messages have spaces.
  return /^[^\s:]+$/.test(line) ? { ...state, compiled: state.compiled + 1 } : state;
}

/** Disk that the build takes, in bytes, of `full` for one from empty caches. */
export function diskNeeded({ listed, stale }: BuildState, full: number): number {
  return listed === 0 ? full : (full * stale) / listed;
}

/** The state in words: what is going on, how much of it, and the disk. */
export function describeBuild(state: BuildState, full: number): string {
  const disk = `${size(state.diskUsed)} of about ${size(diskNeeded(state, full))} of disk`;
  return `${describeStep(state)}, ${disk}`;
}

function describeStep({ downloaded, listed, stale, compiled }: BuildState): string {
  if (listed === 0 && downloaded > 0) return `${downloaded} modules downloaded`;
  if (listed === 0) return "looking at what is to be compiled";
  if (compiled < stale) return `${compiled} of ${stale} packages`;
  return `${stale} packages compiled, linking`;
}
