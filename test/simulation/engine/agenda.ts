/** When something is to happen: at a time, and among what happens then in an order that somebody has drawn. */
interface Moment {
  readonly atMs: number;
  readonly tie: number;
}

interface Entry extends Moment {
  readonly number: number;
  act: (() => void) | undefined;
}

/** What is to happen next. */
export interface Due {
  readonly atMs: number;
  readonly act: () => void;
}

/** With so many that were called off, and more than half of all, they are taken out: most waits in a program end early. */
const MANY_OFF = 256;

/** What is to happen, the earliest first. */
export class Agenda {
  #heap: Entry[] = [];
  #added = 0;
  #off = 0;

  /** Answers how to call it off. */
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

  /** Takes the next that is to happen up to a time; nothing when there is none. */
  take(untilMs: number): Due | undefined {
    for (let first = this.#heap[0]; first !== undefined; first = this.#heap[0]) {
      const { atMs, act } = first;
      if (act !== undefined && atMs > untilMs) return undefined;
      pop(this.#heap);
      // What has begun cannot be called off any more.
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
