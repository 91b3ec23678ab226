import { randomUUID } from "node:crypto";

/** The only source of randomness, so that a simulation is repeatable. */
export interface Random {
  /** A number from 0 (inclusive) to 1 (exclusive). */
  readonly fraction: () => number;
  /** An identifier that no other process has. */
  readonly id: () => string;
}

/** The random source of this machine. */
export function createSystemRandom(): Random {
  return { fraction: () => Math.random(), id: () => randomUUID() };
}

/** `ms` changed by up to `ratio` of itself in either direction, so that many processes do not act in step. */
export function jitter(random: Random, ms: number, ratio: number): number {
  return ms * (1 + ratio * (2 * random.fraction() - 1));
}
