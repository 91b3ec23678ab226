interface Share {
  count: number;
  bytes: number;
}

/** Adds up the bytes of objects by the time since when they have been in a state. No call walks over single objects. */
export class AgedBytes {
  readonly #bucketMs: number;
  readonly #buckets = new Map<number, Share>();

  /** Times are kept to so many milliseconds, rounded up: an age is never longer than the truth. */
  constructor(bucketMs: number) {
    this.#bucketMs = bucketMs;
  }

  add(ms: number, bytes: number): void {
    const bucket = this.#bucketOf(ms);
    const share = this.#buckets.get(bucket) ?? { count: 0, bytes: 0 };
    share.count += 1;
    share.bytes += bytes;
    this.#buckets.set(bucket, share);
  }

  /** Removes what was added with these values. */
  remove(ms: number, bytes: number): void {
    const bucket = this.#bucketOf(ms);
    const share = this.#buckets.get(bucket);
    if (share === undefined) return;
    share.count -= 1;
    share.bytes -= bytes;
    if (share.count === 0) this.#buckets.delete(bucket);
  }

  /** The bytes of objects that have been in the state for at least each of these ages, in their order. */
  olderThan(agesMs: readonly number[], nowMs: number): readonly number[] {
    const latest = agesMs.map((ageMs) => Math.floor((nowMs - ageMs) / this.#bucketMs));
    const sums = agesMs.map(() => 0);
    for (const [bucket, { bytes }] of this.#buckets)
      for (let index = 0; index < latest.length; index += 1)
        if (bucket <= (latest[index] ?? 0)) sums[index] = (sums[index] ?? 0) + bytes;
    return sums;
  }

  /** The earliest time; undefined where there is none. */
  oldestMs(): number | undefined {
    let oldest: number | undefined;
    for (const bucket of this.#buckets.keys()) if (oldest === undefined || bucket < oldest) oldest = bucket;
    return oldest === undefined ? undefined : oldest * this.#bucketMs;
  }

  #bucketOf(ms: number): number {
    return Math.ceil(ms / this.#bucketMs);
  }
}
