/** The due time of an entry. `tie` is a random number that orders entries of the same time. */
interface Moment {
  readonly atMs: number;
  readonly tie: number;
}

interface Entry extends Moment {
  readonly number: number;
  act: (() => void) | undefined;
}

/** The next entry that is due. */
export interface Due {
  readonly atMs: number;
  readonly act: () => void;
}

/**
 * The agenda removes cancelled entries once there are this many and they are more than half of all: a program cancels most of its timers.
 */
const MANY_OFF = 256;

/** The entries that are still to run, the earliest first. */
export class Agenda {
  #heap: Entry[] = [];
  #added = 0;
  #off = 0;

  /** Returns a function that cancels the entry. */
  add({ atMs, tie }: Moment, act: () => void): () => void {
    this.#added += 1;
    const entry: Entry = { atMs, tie, number: this.#added, act };
    push(this.#heap, entry);
    return () => {
      if (entry.act === undefined) return;
      entry.act = undefined;
      this.#off += 1;
      if (this.#off >= MANY_OFF && 2 * this.#off > this.#heap.length) this.#tidy();
    };
  }

  /** Takes the next entry that is due up to a time, if there is one. */
  take(untilMs: number): Due | undefined {
    for (let first = this.#heap[0]; first !== undefined; first = this.#heap[0]) {
      const { atMs, act } = first;
      if (act !== undefined && atMs > untilMs) return undefined;
      pop(this.#heap);
      // An entry that has started can no longer be cancelled.
      first.act = undefined;
      if (act !== undefined) return { atMs, act };
      this.#off -= 1;
    }
    return undefined;
  }

  #tidy(): void {
    // In order, an array is a heap.
    this.#heap = this.#heap
      .filter(({ act }) => act !== undefined)
      .sort((one, other) => (isBefore(one, other) ? -1 : 1));
    this.#off = 0;
  }
}

function isBefore(one: Entry, other: Entry): boolean {
  if (one.atMs !== other.atMs) return one.atMs < other.atMs;
  return one.tie === other.tie ? one.number < other.number : one.tie < other.tie;
}

/** A binary heap: the earliest is first. */
function push(heap: Entry[], entry: Entry): void {
  let index = heap.push(entry) - 1;
  while (index > 0) {
    const above = (index - 1) >> 1;
    const parent = heap[above];
    if (parent === undefined || !isBefore(entry, parent)) break;
    heap[index] = parent;
    index = above;
  }
  heap[index] = entry;
}

function pop(heap: Entry[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let index = 0;
  for (;;) {
    const child = smallerChild(heap, index);
    const below = heap[child];
    if (below === undefined || !isBefore(below, last)) break;
    heap[index] = below;
    index = child;
  }
  heap[index] = last;
}

function smallerChild(heap: readonly Entry[], index: number): number {
  const [left, right] = [heap[2 * index + 1], heap[2 * index + 2]];
  return left !== undefined && right !== undefined && isBefore(right, left) ? 2 * index + 2 : 2 * index + 1;
}
