/**
 * The shortest list found that still fails, by removing ever smaller parts (delta debugging: Zeller and Hildebrandt, 2002). Calls `fails`
 * at most `mostTries` times.
 */
export async function shrink<T>(
  list: readonly T[],
  fails: (shorter: readonly T[]) => Promise<boolean>,
  mostTries: number,
): Promise<readonly T[]> {
  let shortest = list;
  let parts = 2;
  let tries = 0;
  while (shortest.length > 1 && parts <= shortest.length && tries < mostTries) {
    const size = Math.ceil(shortest.length / parts);
    let found: readonly T[] | undefined;
    for (let from = 0; from < shortest.length && found === undefined && tries < mostTries; from += size) {
      const rest = shortest.toSpliced(from, size);
      tries += 1;
      if (await fails(rest)) found = rest;
    }
    // Where no part could go, the next parts are half as large.
    parts = found === undefined ? nextParts(parts, shortest.length) : Math.max(2, parts - 1);
    shortest = found ?? shortest;
  }
  return shortest;
}

function nextParts(parts: number, length: number): number {
  return parts === length ? length + 1 : Math.min(length, parts * 2);
}
