import type { Seen } from "../rig/faults/direct.ts";
import type { Delivery } from "../rig/faults/ledger.ts";

/** What a follower got wrong; all counts of objects. */
export interface Score {
  /** The last state of what is there was never told. */
  readonly unseenStates: number;
  /** Gone, and told of, but never told to be gone. */
  readonly unseenDeletions: number;
  /** Another object under the same name, told as an update: whoever listens takes it for the one before. */
  readonly swapped: number;
  /** Wrong in the store at the end: missing, outdated, another one, or long gone. */
  readonly stale: number;
}

/** What a follower told, what its store held at the end (nothing when it could not be asked), and what the truth was then. */
export interface Scored {
  readonly deliveries: readonly Delivery[];
  readonly held: readonly Seen[];
  readonly fresh: readonly Seen[];
}

/** Counts what was lost. An object that came and went while nobody could look is not: nobody needs to hear of it. */
export function score({ deliveries, held, fresh }: Scored): Score {
  const told = new Map<string, Seen>();
  const gone = new Set<string>();
  const seen = new Set<string>();
  let swapped = 0;
  for (const { kind, object } of deliveries) {
    const known = told.get(object.key);
    if (kind === "updated" && known !== undefined && known.uid !== object.uid) swapped += 1;
    if (kind === "deleted") {
      told.delete(object.key);
      // Who is told that a name is gone takes it for the object that he knows by it.
      gone.add(known?.uid ?? object.uid);
    } else {
      told.set(object.key, object);
      seen.add(object.uid);
    }
  }
  const there = new Set(fresh.map(({ uid }) => uid));
  const states = new Set([...told.values()].map(describe));
  return {
    unseenStates: fresh.filter((object) => !states.has(describe(object))).length,
    unseenDeletions: [...seen].filter((uid) => !there.has(uid) && !gone.has(uid)).length,
    swapped,
    stale: differences(held, fresh),
  };
}

/** In how many names two sets of objects differ. */
export function differences(held: readonly Seen[], fresh: readonly Seen[]): number {
  const byKey = new Map(held.map((object) => [object.key, describe(object)]));
  const wrong = fresh.filter((object) => byKey.get(object.key) !== describe(object));
  const keys = new Set(fresh.map(({ key }) => key));
  return wrong.length + held.filter(({ key }) => !keys.has(key)).length;
}

/** Several collections of one follower together. */
export function total(scores: readonly Score[]): Score {
  const sum = (of: (one: Score) => number): number => scores.reduce((all, one) => all + of(one), 0);
  return {
    unseenStates: sum(({ unseenStates }) => unseenStates),
    unseenDeletions: sum(({ unseenDeletions }) => unseenDeletions),
    swapped: sum(({ swapped }) => swapped),
    stale: sum(({ stale }) => stale),
  };
}

function describe({ key, uid, resourceVersion }: Seen): string {
  return `${key} ${uid}@${resourceVersion}`;
}
