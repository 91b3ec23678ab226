/** So many values lie in one piece at most: the price of adding one is a copy of half as many. */
const MOST_IN_PIECE = 1_024;

/**
 * Distinct values in order, kept while they come and go, so that nobody has to sort them all. A place in it is not an index,
 * which any change would move, but what the values themselves say.
 */
export class SortedList<T extends {}> {
  readonly #compare: (one: T, other: T) => number;
  /** In order; none is empty. */
  readonly #pieces: T[][] = [];

  constructor(compare: (one: T, other: T) => number) {
    this.#compare = compare;
  }

  /** Adds a value, in the place of one that is equal by the order. */
  add(value: T): void {
    const at = Math.max(0, Math.min(this.#pieceOf(value), this.#pieces.length - 1));
    const piece = this.#pieces[at];
    if (piece === undefined) {
      this.#pieces.push([value]);
      return;
    }
    const index = this.#indexIn(piece, value);
    piece.splice(index, this.#isAt(piece, index, value) ? 1 : 0, value);
    if (piece.length > MOST_IN_PIECE) this.#pieces.splice(at + 1, 0, piece.splice(MOST_IN_PIECE / 2));
  }

  /** Removes the value that is equal by the order, if there is one. */
  remove(value: T): void {
    const at = this.#pieceOf(value);
    const piece = this.#pieces[at];
    if (piece === undefined) return;
    const index = this.#indexIn(piece, value);
    if (!this.#isAt(piece, index, value)) return;
    piece.splice(index, 1);
    if (piece.length === 0) this.#pieces.splice(at, 1);
  }

  /**
   * At most `count` values, from the first one on for which `isReached` holds; it must hold for everything that comes after a
   * value for which it does.
   */
  from(isReached: (value: T) => boolean, count: number): readonly T[] {
    const found: T[] = [];
    let at = firstIndex(this.#pieces, (piece) => isReached(lastOf(piece)));
    let begin = firstIndex(this.#pieces[at] ?? [], isReached);
    for (; found.length < count; at += 1, begin = 0) {
      const piece = this.#pieces[at];
      if (piece === undefined) return found;
      found.push(...piece.slice(begin, begin + count - found.length));
    }
    return found;
  }

  /** Index of the piece that has the value if any has it, or the first behind it. */
  #pieceOf(value: T): number {
    return firstIndex(this.#pieces, (piece) => this.#compare(lastOf(piece), value) >= 0);
  }

  #indexIn(piece: readonly T[], value: T): number {
    return firstIndex(piece, (other) => this.#compare(other, value) >= 0);
  }

  #isAt(piece: readonly T[], index: number, value: T): boolean {
    const found = piece[index];
    return found !== undefined && this.#compare(found, value) === 0;
  }
}

/** By UTF-16 code units, so that the order does not depend on the language of a machine. */
export function compareText(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

/** The first index whose value satisfies, given that all behind it do, too; the length when none does. */
function firstIndex<T extends {}>(values: readonly T[], satisfies: (value: T) => boolean): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const value = values[middle];
    if (value === undefined || satisfies(value)) high = middle;
    else low = middle + 1;
  }
  return low;
}

function lastOf<T extends {}>(piece: readonly T[]): T {
  const last = piece.at(-1);
  if (last === undefined) throw new Error("unreachable: no piece is empty");
  return last;
}
