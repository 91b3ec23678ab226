import type { Random } from "../../../common/runtime/random.ts";
import { createFakeRandom } from "../../fakes/random.ts";
import type { Fault, FaultKind } from "./fault.ts";

/** What a schedule is made of. */
export interface ScheduleOptions<K extends FaultKind = FaultKind> {
  readonly seed: number;
  /** Each of these comes once in each round, in an order of its own. */
  readonly kinds: readonly K[];
  readonly rounds: number;
  /** The mean time from one fault to the next, milliseconds; each is between half of it and one and a half. With 0 all are at once. */
  readonly spacingMs: number;
  /** How long a fault lasts: from half of it to all of it, milliseconds. */
  readonly lengthMs: number;
}

/** The faults of a storm in the order of their times; the same for the same options, everywhere and always. */
export function faultSchedule<K extends FaultKind>(options: ScheduleOptions<K>): readonly Fault<K>[] {
  const { seed, kinds, rounds, spacingMs, lengthMs } = options;
  const random = createFakeRandom(seed);
  let atMs = 0;
  return Array.from({ length: rounds }, () => shuffled(kinds, random))
    .flat()
    .map((kind) => {
      atMs += spacingMs * (0.5 + random.fraction());
      return { kind, atMs, pick: random.fraction(), lengthMs: lengthMs * (0.5 + random.fraction() / 2) };
    });
}

/** Every order is equally likely (Fisher and Yates). */
export function shuffled<T>(values: readonly T[], random: Random): readonly T[] {
  const order = [...values];
  for (let left = order.length; left > 1; left -= 1) {
    const [taken] = order.splice(Math.floor(random.fraction() * left), 1);
    if (taken !== undefined) order.push(taken);
  }
  return order;
}
