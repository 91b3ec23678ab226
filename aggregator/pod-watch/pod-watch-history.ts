import type { KubeClient, KubeParts } from "../../common/kube/client.ts";
import type { Claim } from "../../common/storage/claim.ts";
import { formatMillisecondsUp } from "../../common/storage/timestamp.ts";
import {
  advance,
  inherit,
  isUpTo,
  leaveOpen,
  type PodWatch,
  type WatchGap,
  type WatchHistory,
} from "../core/pod-watch/history.ts";
import type { Cluster } from "../sources/cluster.ts";
import {
  COVERAGE_ANNOTATION,
  type HandOver,
  readCoverage,
  writeCoverage,
} from "../sources/watch-history-annotation.ts";
import type { UnstoredClaims } from "../writing/unstored-claims.ts";
import type { EndedPods } from "./ended-pods.ts";

/** The work that is queued and not done yet. */
export interface Backlog {
  /** Answers a function that says later whether everything queued until now has been decided and written. */
  readonly checkpoint: () => () => boolean;
}

export interface HistoryParts extends Pick<KubeParts, "logger">, Backlog {
  readonly client: Pick<KubeClient, "serverTime">;
  readonly cluster: Pick<Cluster, "podsWatchedSince" | "podsReached">;
  readonly ends: EndedPods;
  readonly unstored: Pick<UnstoredClaims, "begin" | "list">;
}

type Annotations = Readonly<Record<string, string>>;

/** Keeps the chain of watches over all pods: reads it from the previous leader, extends it, and hands it over. */
export class PodWatchHistory {
  readonly #parts: HistoryParts;
  #coverage: WatchHistory | undefined;
  /** Our own watch, as far as the chain includes it. */
  #watch: PodWatch | undefined;
  /** There is something to hand over that is not older than what the previous leader handed over. */
  #hasHandOver = false;
  #reached: string | undefined;
  #reachedAtMs = 0;
  #checkedAtMs = 0;
  readonly #checkpoint: Checkpoint<Parameters<typeof advance>[1]>;

  constructor(parts: HistoryParts) {
    this.#parts = parts;
    this.#checkpoint = new Checkpoint(parts);
  }

  /** What would be handed over now. */
  get coverage(): WatchHistory | undefined {
    return this.#coverage;
  }

  /** A leader has decided everything up to this resource version. Undefined before the first list. */
  get reached(): string | undefined {
    return this.#coverage?.reached;
  }

  /** This replica leads from now on: joins what the previous leader handed over and our own watch. */
  begin(annotations: Annotations): void {
    const handed = readCoverage(annotations[COVERAGE_ANNOTATION], this.#latestMs);
    const { ends, unstored } = this.#parts;
    const knows = (claim: Claim): boolean => ends.of(claim.key).some((end) => !ends.isIncluded(end, claim));
    unstored.begin(handed?.unstored ?? [], { nowMs: this.#latestMs, knows });
    this.#coverage = handed && coverageOf(handed);
    this.#watch = undefined;
    this.#hasHandOver = false;
    this.#checkpoint.reset();
    this.join();
  }

  /** True where our own watch began too late to continue the chain: another replica's may have begun in time. */
  wouldBreak(annotations: Annotations): boolean {
    const handed = readCoverage(annotations[COVERAGE_ANNOTATION], this.#latestMs);
    const watch = this.#parts.cluster.podsWatchedSince();
    return handed !== undefined && watch !== undefined && !isUpTo(watch.sinceVersion, handed.reached);
  }

  /** The time in which no replica watched, until the answers of all nodes are decided and stored. Undefined before the first list. */
  gap(): WatchGap | undefined {
    return this.#watch && this.#coverage?.gap;
  }

  /** Only these nodes have not answered for the gap yet; the answers of the others are decided and stored. */
  settle(nodes: readonly string[]): void {
    const { gap } = this.#coverage ?? {};
    if (this.#coverage !== undefined && gap !== undefined)
      this.#coverage = { ...this.#coverage, gap: leaveOpen(gap, nodes) };
  }

  /** Extends the chain by our own watch, as far as it is decided. */
  update(): void {
    this.join();
    this.#check();
  }

  /**
   * The annotations for the next leader. Before this leader has decided anything, those of the previous one stay; while there are too
   * many unstored decisions to hand over, its own last ones do.
   */
  handOver(): Annotations {
    this.join();
    this.#check();
    const unstored = this.#parts.unstored.list();
    if (!this.#hasHandOver || this.#coverage === undefined || unstored === undefined) return {};
    return { [COVERAGE_ANNOTATION]: writeCoverage(this.#coverage, unstored) };
  }

  /** Drops the ended pods that a leader has decided. */
  onHandOver(annotations: Annotations): void {
    const handed = readCoverage(annotations[COVERAGE_ANNOTATION], this.#latestMs);
    if (handed !== undefined) this.#parts.ends.settle(handed.reached, new Set(handed.unstored.map(({ uid }) => uid)));
  }

  /** Extends the chain by our own watch, also after pods were listed anew: what came and went meanwhile went unobserved. */
  join(): void {
    const { cluster, ends, logger } = this.#parts;
    const watch = cluster.podsWatchedSince();
    if (watch === undefined || watch.sinceVersion === this.#watch?.sinceVersion) return;
    const { droppedUpTo } = ends;
    // Ends that were dropped while another replica led count as never seen. Ends that were dropped later are decided.
    const isLost = this.#watch === undefined && droppedUpTo !== undefined && isUpTo(watch.sinceVersion, droppedUpTo);
    const isRelisted = this.#watch !== undefined;
    const own = isLost ? { sinceVersion: droppedUpTo, sinceMs: this.#latestMs } : { ...watch, isRelisted };
    const before = this.#coverage;
    this.#watch = watch;
    this.#checkpoint.reset();
    this.#coverage = inherit(before, own);
    this.#reached = cluster.podsReached();
    this.#reachedAtMs = this.#coverage.reachedAtMs;
    this.#checkedAtMs = this.#earliestMs;
    if (this.#coverage === before) return;
    this.#hasHandOver = false;
    if (before === undefined) return;
    const gap = { from: formatMillisecondsUp(before.reachedAtMs), to: formatMillisecondsUp(own.sinceMs) };
    logger.warn(gap, "pods were not watched for a time: uses that nodes do not report were not seen");
  }

  #check(): void {
    const reached = this.#parts.cluster.podsReached();
    if (reached !== undefined && reached !== this.#reached) {
      this.#reached = reached;
      // The watch reached this version after the last look, or at it.
      this.#reachedAtMs = this.#checkedAtMs;
    }
    this.#checkedAtMs = this.#earliestMs;
    if (reached === undefined || this.#coverage === undefined) return;
    const position = this.#checkpoint.newest({ reached, atMs: this.#reachedAtMs });
    if (position === undefined) return;
    this.#coverage = advance(this.#coverage, position);
    this.#hasHandOver = true;
  }

  get #latestMs(): number {
    return this.#parts.client.serverTime()?.latestMs ?? 0;
  }

  get #earliestMs(): number {
    const time = this.#parts.client.serverTime();
    return time === undefined ? 0 : time.latestMs - time.widthMs;
  }
}

/**
 * A value that may be published only when everything that was queued when it was taken is done. While new work arrives all the time, the
 * published value lags behind.
 */
export class Checkpoint<T> {
  readonly #backlog: Backlog;
  #next: { readonly value: T; readonly isDone: () => boolean } | undefined;

  constructor(backlog: Backlog) {
    this.#backlog = backlog;
  }

  /** `present` is the value now. Answers the newest value that may be published; nothing when that has not changed. */
  newest(present: T): T | undefined {
    const done = this.#next?.isDone() === true ? this.#next.value : undefined;
    if (this.#next !== undefined && done === undefined) return undefined;
    this.#next = { value: present, isDone: this.#backlog.checkpoint() };
    if (!this.#next.isDone()) return done;
    this.#next = undefined;
    return present;
  }

  /** Drops the value that waits: it no longer applies. */
  reset(): void {
    this.#next = undefined;
  }
}

function coverageOf({ unstored: _, ...coverage }: HandOver): WatchHistory {
  return coverage;
}
