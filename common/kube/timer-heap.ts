/** Keys with one due time each, in a binary heap for hundreds of thousands of keys; the earliest is taken first. */
export class TimerHeap {
  readonly #times = new Map<string, number>();
  /** May contain entries that an earlier one of the same key supersedes; `#times` has the valid ones. */
  readonly #heap: { readonly key: string; readonly at: number }[] = [];

  /** Adds a key; the earliest of its times counts. */
  add(key: string, at: number): void {
    if ((this.#times.get(key) ?? Number.POSITIVE_INFINITY) <= at) return;
    this.#times.set(key, at);
    this.#heap.push({ key, at });
    this.#up(this.#heap.length - 1);
  }

  /** Removes and returns the keys whose time has come, the earliest first. */
  take(now: number): readonly string[] {
    const keys: string[] = [];
    for (let first = this.#heap[0]; first !== undefined && first.at <= now; first = this.#heap[0]) {
      this.#pop();
      if (this.#times.get(first.key) !== first.at) continue;
      this.#times.delete(first.key);
      keys.push(first.key);
    }
    return keys;
  }

  /** The earliest time; undefined when no key waits. */
  next(): number | undefined {
    return this.#heap[0]?.at;
  }

  #pop(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    this.#heap[0] = last;
    this.#down(0);
  }

  #up(from: number): void {
    let index = from;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (this.#at(parent) <= this.#at(index)) return;
      this.#swap(parent, index);
      index = parent;
    }
  }

  #down(from: number): void {
    let index = from;
    for (;;) {
      const [left, right] = [2 * index + 1, 2 * index + 2];
      const least = this.#at(right) < this.#at(left) ? right : left;
      if (this.#at(index) <= this.#at(least)) return;
      this.#swap(index, least);
      index = least;
    }
  }

  #at(index: number): number {
    return this.#heap[index]?.at ?? Number.POSITIVE_INFINITY;
  }

  #swap(one: number, other: number): void {
    const [first, second] = [this.#heap[one], this.#heap[other]];
    if (first === undefined || second === undefined) return;
    this.#heap[one] = second;
    this.#heap[other] = first;
  }
}
