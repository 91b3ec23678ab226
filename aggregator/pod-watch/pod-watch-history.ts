import type { Lease } from "../../common/kube/lease.ts";
import type { ServerTime } from "../../common/kube/server-clock.ts";
import type { Logger } from "../../common/runtime/logger.ts";
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
} from "../core/watch-history.ts";
import type { Cluster } from "../sources/cluster.ts";
import {
  COVERAGE_ANNOTATION,
  type HandOver,
  readCoverage,
  writeCoverage,
} from "../sources/watch-history-annotation.ts";
import type { UnstoredClaims } from "../writing/unstored-claims.ts";
import { type Backlog, Checkpoint } from "./checkpoint.ts";
import type { EndedPods } from "./ended-pods.ts";

interface HistoryParts extends Backlog {
  readonly logger: Logger;
  readonly cluster: Pick<Cluster, "podsWatchedSince" | "podsReached">;
  readonly ends: EndedPods;
  readonly unstored: Pick<UnstoredClaims, "begin" | "list">;
  /** The API server's clock. */
  readonly time: () => ServerTime | undefined;
}

/**
 * How long a kubelet's Lease is valid: a living one renews it four times in that. So whose Lease is from before this time before a gap
 * was away when the gap began; of one that is a little newer nobody knows. Milliseconds.
 */
const KUBELET_LEASE_MS = 40_000;

type Annotations = Readonly<Record<string, string>>;

/** Keeps the chain of watches over all pods: reads it from a predecessor, goes on with it, and hands it over. */
export class PodWatchHistory {
  readonly #parts: HistoryParts;
  #coverage: WatchHistory | undefined;
  /** Our own watch, as far as the chain takes it into account. */
  #watch: PodWatch | undefined;
  /** Something can be said that is not older than what the predecessor said. */
  #isTold = false;
  #reached: string | undefined;
  #reachedAtMs = 0;
  #lookedAtMs = 0;
  /** Resource versions of a Lease and when they were seen, oldest first. */
  readonly #leases: { readonly version: string; readonly seenAtMs: number }[] = [];
  /** One that a living kubelet's Lease was newer than: at the last look, and when `#reached` was. */
  #leasesLooked: string | undefined;
  #leasesReached: string | undefined;
  readonly #dealtWith: Checkpoint<Parameters<typeof advance>[1]>;

  constructor(parts: HistoryParts) {
    this.#parts = parts;
    this.#dealtWith = new Checkpoint(parts);
  }

  /** What is handed over now. */
  get coverage(): WatchHistory | undefined {
    return this.#coverage;
  }

  /** We lead: what the predecessor left, and what our own watch has to say. */
  begin(annotations: Annotations): void {
    const handed = readCoverage(annotations[COVERAGE_ANNOTATION], this.#latestMs);
    const { ends, unstored } = this.#parts;
    const knows = (claim: Claim): boolean => ends.of(claim.key).some((end) => !ends.isTold(end, claim));
    unstored.begin(handed?.unstored ?? [], { nowMs: this.#latestMs, knows });
    this.#coverage = handed && coverageOf(handed);
    this.#watch = undefined;
    this.#isTold = false;
    this.#dealtWith.reset();
    this.join();
  }

  /** True where our own watch began too late for the chain to go on with us: another replica's may have begun in time. */
  wouldBreak(annotations: Annotations): boolean {
    const handed = readCoverage(annotations[COVERAGE_ANNOTATION], this.#latestMs);
    const watch = this.#parts.cluster.podsWatchedSince();
    return handed !== undefined && watch !== undefined && !isUpTo(watch.sinceVersion, handed.reached);
  }

  /** The time in which no replica watched, until all that nodes answer of it is dealt with. Nothing before the first list. */
  gap(): WatchGap | undefined {
    return this.#watch && this.#coverage?.gap;
  }

  /** These nodes have still to answer what was used on them in the gap; what the others answered is dealt with. */
  settle(nodes: readonly string[]): void {
    const { gap } = this.#coverage ?? {};
    if (this.#coverage !== undefined && gap !== undefined)
      this.#coverage = { ...this.#coverage, gap: leaveOpen(gap, nodes) };
  }

  /** Goes on with the chain: takes our own watch into account, and how far it has been dealt with. */
  update(): void {
    this.join();
    this.#look();
  }

  /**
   * The annotations for a successor. As long as nothing has been dealt with, the predecessor's word stays; while more decisions are not
   * stored than can be handed over, our own last one does.
   */
  handOver(): Annotations {
    this.update();
    const unstored = this.#parts.unstored.list();
    if (!this.#isTold || this.#coverage === undefined || unstored === undefined) return {};
    return { [COVERAGE_ANNOTATION]: writeCoverage(this.#coverage, unstored) };
  }

  /** The Lease was seen, with what its holder leaves, ourselves included. */
  onHandedOver({ annotations, resourceVersion }: Pick<Lease, "annotations" | "resourceVersion">): void {
    if (this.#parts.time() !== undefined) this.#leases.push({ version: resourceVersion, seenAtMs: this.#latestMs });
    // Also where another one leads: none but the newest of the old ones is of use.
    this.#leasesBefore(this.#earliestMs - KUBELET_LEASE_MS);
    this.hear(annotations);
  }

  /** Ends of pods that a leader has dealt with need not be remembered. */
  hear(annotations: Annotations): void {
    const handed = readCoverage(annotations[COVERAGE_ANNOTATION], this.#latestMs);
    if (handed !== undefined) this.#parts.ends.settle(handed.reached, new Set(handed.unstored.map(({ uid }) => uid)));
  }

  /** Takes our own watch into account, also when pods had to be listed anew: what came and went meanwhile was not seen. */
  join(): void {
    const { cluster, ends, logger } = this.#parts;
    const watch = cluster.podsWatchedSince();
    if (watch === undefined || watch.sinceVersion === this.#watch?.sinceVersion) return;
    const { droppedUpTo } = ends;
    // The first time what was dropped while others led is as good as never seen; later it is dealt with.
    const isLost = this.#watch === undefined && droppedUpTo !== undefined && isUpTo(watch.sinceVersion, droppedUpTo);
    const isRelisted = this.#watch !== undefined;
    const own = isLost ? { sinceVersion: droppedUpTo, sinceMs: this.#latestMs } : { ...watch, isRelisted };
    const before = this.#coverage;
    this.#watch = watch;
    this.#dealtWith.reset();
    this.#coverage = inherit(before, own);
    this.#reached = cluster.podsReached();
    this.#reachedAtMs = this.#coverage.reachedAtMs;
    this.#leasesReached = this.#coverage.leasesAt;
    this.#noteLook();
    if (this.#coverage === before) return;
    this.#isTold = false;
    // They may be of a server that has gone back since: none of them is older than what it has now.
    if (this.#coverage.leasesAt === undefined) this.#leases.length = 0;
    if (before === undefined) return;
    const gap = { from: formatMillisecondsUp(before.reachedAtMs), to: formatMillisecondsUp(own.sinceMs) };
    logger.warn(gap, "pods were not watched for a time: uses that nodes do not report were not seen");
  }

  #look(): void {
    const reached = this.#parts.cluster.podsReached();
    if (reached !== undefined && reached !== this.#reached) {
      this.#reached = reached;
      // It has come that far since the last look, or had by then.
      this.#reachedAtMs = this.#lookedAtMs;
      this.#leasesReached = this.#leasesLooked;
    }
    this.#noteLook();
    if (reached === undefined || this.#coverage === undefined) return;
    const present = { reached, atMs: this.#reachedAtMs, leasesAt: this.#leasesReached };
    const position = this.#dealtWith.newest(present);
    if (position === undefined) return;
    this.#coverage = advance(this.#coverage, position);
    this.#isTold = true;
  }

  #noteLook(): void {
    this.#lookedAtMs = this.#earliestMs;
    this.#leasesLooked = this.#leasesBefore(this.#earliestMs - KUBELET_LEASE_MS);
  }

  /** The newest that was seen by then; older ones are of no use any more. */
  #leasesBefore(ms: number): string | undefined {
    while ((this.#leases[1]?.seenAtMs ?? Number.POSITIVE_INFINITY) <= ms) this.#leases.shift();
    const [oldest] = this.#leases;
    return oldest !== undefined && oldest.seenAtMs <= ms ? oldest.version : undefined;
  }

  get #latestMs(): number {
    return this.#parts.time()?.latestMs ?? 0;
  }

  get #earliestMs(): number {
    const time = this.#parts.time();
    return time === undefined ? 0 : time.latestMs - time.widthMs;
  }
}

function coverageOf({ unstored: _, ...coverage }: HandOver): WatchHistory {
  return coverage;
}
