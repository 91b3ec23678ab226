import type { KubeClient } from "../../common/kube/client.ts";
import type { Claim } from "../../common/storage/claim.ts";
import { formatMillisecondsUp } from "../../common/storage/timestamp.ts";
import {
  advance,
  inherit,
  isUpTo,
  leaveOpen,
  type PodWatch,
  type Position,
  type WatchHistory,
} from "../core/pod-watch/history.ts";
import type { Cluster } from "../sources/cluster.ts";
import type { OutsideParts } from "../sources/cluster-parts.ts";
import { COVERAGE_ANNOTATION, readCoverage, writeCoverage } from "../sources/watch-history-annotation.ts";
import type { UnstoredClaims } from "../writing/unstored-claims.ts";
import type { EndedPods } from "./ended-pods.ts";

export interface HistoryParts extends Pick<OutsideParts, "logger" | "nowMs"> {
  readonly client: Pick<KubeClient, "serverTime">;
  readonly cluster: Pick<Cluster, "podsWatchedSince" | "podsReached">;
  readonly ends: EndedPods;
  readonly unstored: Pick<UnstoredClaims, "begin" | "list">;
  /** Answers a function that says later whether everything queued until now has been decided and written. */
  readonly checkpoint: () => () => boolean;
}

/** What may be handed over once everything that was queued when it was taken is decided and written. */
interface Checkpoint extends Position {
  /** Nodes without an answer for the gap; undefined while claims are not decided by the answers of the others. */
  readonly openNodes: readonly string[] | undefined;
  readonly isDone: () => boolean;
}

type Annotations = Readonly<Record<string, string>>;

/** Keeps the chain of watches over all pods: reads it from the previous leader, extends it, and hands it over. */
export class PodWatchHistory {
  readonly #parts: HistoryParts;
  #history: WatchHistory | undefined;
  /** Our own watch, as far as the chain includes it. */
  #watch: PodWatch | undefined;
  /** There is something to hand over that is not older than what the previous leader handed over. */
  #hasHandOver = false;
  #position: Position = { reached: "", reachedAtMs: 0 };
  #checkedAtMs = 0;
  #openNodes: Checkpoint["openNodes"];
  #checkpoint: Checkpoint | undefined;

  constructor(parts: HistoryParts) {
    this.#parts = parts;
  }

  /** What would be handed over now. Its gap stays until the answers of all nodes are decided and stored. */
  get history(): WatchHistory | undefined {
    return this.#history;
  }

  /** This replica leads from now on: joins what the previous leader handed over and our own watch. */
  begin(annotations: Annotations): void {
    const handed = readCoverage(annotations[COVERAGE_ANNOTATION], this.#parts.nowMs());
    const { ends, unstored } = this.#parts;
    const knows = (claim: Claim): boolean => ends.of(claim.key).some((end) => !ends.isIncluded(end, claim));
    unstored.begin(handed?.unstored ?? [], { nowMs: this.#parts.nowMs(), knows });
    this.#history = handed;
    this.#watch = undefined;
    this.#hasHandOver = false;
    this.join();
  }

  /** True where our own watch began too late to continue the chain: another replica's may have begun in time. */
  wouldBreak(annotations: Annotations): boolean {
    const handed = readCoverage(annotations[COVERAGE_ANNOTATION], this.#parts.nowMs());
    const watch = this.#parts.cluster.podsWatchedSince();
    return handed !== undefined && watch !== undefined && !isUpTo(watch.sinceVersion, handed.reached);
  }

  /** Only these nodes have not answered for the gap: only they are handed over once the queue is decided and stored. */
  settle(nodes: readonly string[]): void {
    this.#openNodes = nodes;
  }

  /** For the next leader. Nothing, so that what is stored stays, before any decision and with too many unstored ones. */
  handOver(): Annotations {
    this.join();
    this.#check();
    const unstored = this.#parts.unstored.list();
    if (!this.#hasHandOver || this.#history === undefined || unstored === undefined) return {};
    return { [COVERAGE_ANNOTATION]: writeCoverage(this.#history, unstored) };
  }

  /** Drops the ended pods that a leader has decided. */
  onHandOver(annotations: Annotations): void {
    const handed = readCoverage(annotations[COVERAGE_ANNOTATION], this.#parts.nowMs());
    if (handed !== undefined) this.#parts.ends.settle(handed.reached, new Set(handed.unstored.map(({ uid }) => uid)));
  }

  /** Extends the chain by our own watch, also after a new list: what came and went meanwhile went unobserved. */
  join(): void {
    const { cluster, ends, logger } = this.#parts;
    const watch = cluster.podsWatchedSince();
    if (watch === undefined || watch.sinceVersion === this.#watch?.sinceVersion) return;
    const { droppedUpTo } = ends;
    // Ends that were dropped while another replica led count as never seen. Ends that were dropped later are decided.
    const isLost = this.#watch === undefined && droppedUpTo !== undefined && isUpTo(watch.sinceVersion, droppedUpTo);
    const isRelisted = this.#watch !== undefined;
    const own = isLost ? { sinceVersion: droppedUpTo, sinceMs: this.#parts.nowMs() } : { ...watch, isRelisted };
    const before = this.#history;
    this.#watch = watch;
    this.#checkpoint = undefined;
    this.#openNodes = undefined;
    this.#history = inherit(before, own);
    this.#position = { reached: cluster.podsReached() ?? "", reachedAtMs: this.#history.reachedAtMs };
    this.#checkedAtMs = this.#earliestMs;
    if (this.#history === before) return;
    this.#hasHandOver = false;
    if (before === undefined) return;
    const gap = { from: formatMillisecondsUp(before.reachedAtMs), to: formatMillisecondsUp(own.sinceMs) };
    logger.warn(gap, "pods were not watched for a time: uses that nodes do not report were not seen");
  }

  #check(): void {
    const reached = this.#parts.cluster.podsReached();
    // The watch reached this version after the last check, or at it.
    const isNew = reached !== undefined && reached !== this.#position.reached;
    if (isNew) this.#position = { reached, reachedAtMs: this.#checkedAtMs };
    this.#checkedAtMs = this.#earliestMs;
    if (reached === undefined || this.#history === undefined || this.#checkpoint?.isDone() === false) return;
    // While new work arrives all the time, what is handed over lags behind.
    const before = this.#checkpoint;
    this.#checkpoint = { ...this.#position, openNodes: this.#openNodes, isDone: this.#parts.checkpoint() };
    const decided = this.#checkpoint.isDone() ? this.#checkpoint : before;
    if (decided === undefined) return;
    const { openNodes } = decided;
    const { gap } = this.#history;
    this.#history = { ...advance(this.#history, decided), gap: gap && openNodes ? leaveOpen(gap, openNodes) : gap };
    this.#hasHandOver = true;
  }

  get #earliestMs(): number {
    const time = this.#parts.client.serverTime();
    return time === undefined ? 0 : time.latestMs - time.widthMs;
  }
}
