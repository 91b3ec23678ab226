import type { ReportAnswer } from "../../common/storage/node-report.ts";

/** The volumes that the aggregator names: those of this node's pods whose node affinity may exclude the node. */
export class NamedByAggregator {
  /** With their resource versions; undefined before an answer has them. */
  #named: ReadonlyMap<string, string> | undefined;
  #answeredAt = Number.NEGATIVE_INFINITY;
  readonly #maxAgeMs: number;

  /** An answer counts for so long, milliseconds. */
  constructor(maxAgeMs: number) {
    this.#maxAgeMs = maxAgeMs;
  }

  /** Whether changes of volumes become known. */
  isNaming(nowMs: number): boolean {
    return this.#named !== undefined && nowMs - this.#answeredAt <= this.#maxAgeMs;
  }

  /**
   * The news in an answer: volumes that it names for the first time or in another state, and those that it no longer names, as their
   * problem may be over.
   */
  take({ volumes }: Pick<ReportAnswer, "volumes">, nowMs: number): readonly string[] {
    const known = this.#named ?? new Map<string, string>();
    this.#answeredAt = nowMs;
    this.#named = volumes && new Map(volumes.map(({ name, resourceVersion }) => [name, resourceVersion]));
    if (volumes === undefined) return [];
    const fresh = volumes.filter(({ name, resourceVersion }) => known.get(name) !== resourceVersion);
    const gone = [...known.keys()].filter((name) => this.#named?.has(name) !== true);
    return [...fresh.map(({ name }) => name), ...gone];
  }
}
