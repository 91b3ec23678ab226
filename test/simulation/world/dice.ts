/** Random numbers from a seed. */
export interface Dice {
  /** From 0 up to, but not including, 1. */
  readonly fraction: () => number;
  /** A whole number from `least` to `most`, both included. */
  readonly between: (least: number, most: number) => number;
  readonly chance: (probability: number) => boolean;
  /** One of the list, which must not be empty. */
  readonly pick: <T>(list: readonly T[]) => T;
}

/** Equal seeds give equal numbers. The generator is splitmix32: short, and good enough to choose faults. */
export function createDice(seed: number | string): Dice {
  let state = typeof seed === "number" ? seed >>> 0 : hashOf(seed);
  const fraction = (): number => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = state ^ (state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 0x1_0000_0000;
  };
  const between = (least: number, most: number): number => least + Math.floor(fraction() * (most - least + 1));
  return {
    fraction,
    between,
    chance: (probability) => fraction() < probability,
    pick: (list) => {
      const found = list[between(0, list.length - 1)];
      if (found === undefined) throw new Error("nothing to pick from");
      return found;
    },
  };
}

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const char of text) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193);
  return hash >>> 0;
}
