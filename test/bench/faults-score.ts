import type { Seen } from "../rig/faults/direct.ts";
import type { Delivery } from "../rig/faults/ledger.ts";

/** What a follower got wrong; counts of objects. */
export interface Score {
  /** The last state of an existing object was never reported. */
  readonly unseenStates: number;
  /** An object that was reported is gone, and its deletion was never reported. */
  readonly unseenDeletions: number;
  /** Another object of the same name was reported as an update: the listener takes it for the former one. */
  readonly swapped: number;
  /** Wrong in the store at the end: missing, outdated, another one, or long gone. */
  readonly stale: number;
}

/** What a follower reported, its stores at the end (undefined when it did not answer), and the truth at that time. */
export interface Scored {
  readonly deliveries: readonly Delivery[];
  readonly stored: readonly Seen[];
  readonly fresh: readonly Seen[];
}

/** Counts what was lost. An object that came and went unobserved is not lost: no client needs to know it. */
export function score({ deliveries, stored, fresh }: Scored): Score {
  const reported = new Map<string, Seen>();
  const gone = new Set<string>();
  const seen = new Set<string>();
  let swapped = 0;
  for (const { kind, object } of deliveries) {
    const known = reported.get(object.key);
    if (kind === "updated" && known !== undefined && known.uid !== object.uid) swapped += 1;
    if (kind === "deleted") {
      reported.delete(object.key);
      // A client that learns of a deleted name forgets the object that it knows by that name.
      gone.add(known?.uid ?? object.uid);
    } else {
      reported.set(object.key, object);
      seen.add(object.uid);
    }
  }
  const there = new Set(fresh.map(({ uid }) => uid));
  const states = new Set([...reported.values()].map(describe));
  return {
    unseenStates: fresh.filter((object) => !states.has(describe(object))).length,
    unseenDeletions: [...seen].filter((uid) => !there.has(uid) && !gone.has(uid)).length,
    swapped,
    stale: differences(stored, fresh),
  };
}

/** In how many names two sets of objects differ. */
export function differences(stored: readonly Seen[], fresh: readonly Seen[]): number {
  const byKey = new Map(stored.map((object) => [object.key, describe(object)]));
  const wrong = fresh.filter((object) => byKey.get(object.key) !== describe(object));
  const keys = new Set(fresh.map(({ key }) => key));
  return wrong.length + stored.filter(({ key }) => !keys.has(key)).length;
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
