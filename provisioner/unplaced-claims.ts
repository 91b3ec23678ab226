import type { Clock } from "../common/runtime/clock.ts";
import type { ClaimMetadata } from "./core/objects.ts";
import { unplacedProblem } from "./core/unplaced.ts";
import type { Recorder } from "./recorder.ts";
import type { Cluster } from "./sources/cluster.ts";
import type { Live } from "./sources/live.ts";

interface UnplacedParts {
  readonly node: string;
  readonly clock: Clock;
  readonly cluster: Cluster;
  readonly live: Live;
  readonly recorder: Recorder;
}

/** The scheduler selects a suitable node within moments. Milliseconds. */
export const UNPLACED_AFTER_MS = 10_000;
/** The first object changes when a node is added or removed. Milliseconds. */
const REPORTER_MS = 60_000;

/**
 * Reports to owners of claims without a selected node what is wrong. One provisioner does this: that of the node whose CSIStorageCapacity
 * object comes first by name. That needs no election and costs one small list a minute while there is such a claim. When the node is
 * deleted, its objects go with it, and another provisioner takes over. Without any such object no provisioner reports, and the events of
 * the scheduler and of kube-controller-manager remain.
 */
export class UnplacedClaims {
  readonly #parts: UnplacedParts;
  #reporter: { readonly isOwn: boolean; readonly untilMs: number } | undefined;

  constructor(parts: UnplacedParts) {
    this.#parts = parts;
  }

  /** Whether the claim may be one without a selected node. */
  static isCandidate({ isBound, selectedNode }: ClaimMetadata): boolean {
    return !isBound && selectedNode === undefined;
  }

  async work(key: string, signal: AbortSignal): Promise<void> {
    const { cluster, live, recorder } = this.#parts;
    const metadata = cluster.claims.get(key);
    if (metadata === undefined || !UnplacedClaims.isCandidate(metadata) || !(await this.#isReporter(signal))) return;
    const claim = await live.claim(metadata, signal);
    const storageClass = cluster.classes.get(claim?.storageClass ?? "");
    if (claim === undefined || storageClass === undefined) return;
    const why = unplacedProblem(claim, { storageClass, capacities: await live.capacities(signal) });
    if (why !== undefined) recorder.claim(claim, "not-provisioned", why);
  }

  async #isReporter(signal: AbortSignal): Promise<boolean> {
    const { clock, live, node } = this.#parts;
    const now = clock.monotonicMs();
    if (this.#reporter !== undefined && now < this.#reporter.untilMs) return this.#reporter.isOwn;
    const isOwn = (await live.firstNode(signal)) === node;
    this.#reporter = { isOwn, untilMs: now + REPORTER_MS };
    return isOwn;
  }
}
