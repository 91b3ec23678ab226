import type { Clock } from "../common/runtime/clock.ts";
import type { NodeRelease } from "./core/node-view.ts";

/** What is to be known for a release to be given up that belongs to no claim that is known. */
interface HomelessParts {
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly cluster: {
    /** Up to which resource versions claims and volumes have been told; nothing while either has to be listed anew. */
    readonly bindingsReached: () => readonly string[] | undefined;
  };
}

/**
 * So long the claim or the volume of a release may be on its way. A watch whose connection has died without a word is noticed in three
 * minutes, one that lies within ten and a bit (see `createConsistencyChecker`). Milliseconds.
 */
const ON_ITS_WAY_MS = 900_000;

interface Wait {
  readonly sinceMs: number;
  /** What had been told when the time was over; nothing before. */
  readonly reached: readonly string[] | undefined;
}

/**
 * Releases that belong to no claim that is known: foreign and inline volumes, claims that are gone, and claims that no watch has shown
 * yet. They are given up after a time that this process has watched itself, and only when claims and volumes were told of after it: a
 * release may be told late, a wall clock may jump, and a watch may hang for longer than anybody thinks.
 */
export class HomelessReleases {
  readonly #parts: HomelessParts;
  readonly #waits = new Map<string, ReadonlyMap<string, Wait>>();

  constructor(parts: HomelessParts) {
    this.#parts = parts;
  }

  /** How many wait. */
  get size(): number {
    return [...this.#waits.values()].reduce((sum, waits) => sum + waits.size, 0);
  }

  /** All of a node's releases that are homeless now; answers those whose time is over. */
  over(node: string, homeless: readonly NodeRelease[]): readonly NodeRelease[] {
    const before = this.#waits.get(node);
    const now = { sinceMs: this.#parts.clock.monotonicMs(), reached: this.#parts.cluster.bindingsReached() };
    const waits = new Map(homeless.map(({ id }) => [id, nextWait(before?.get(id), now)]));
    const over = homeless.filter(({ id }) => isOver(before?.get(id), now));
    for (const { id } of over) waits.delete(id);
    if (waits.size === 0) this.#waits.delete(node);
    else this.#waits.set(node, waits);
    return over;
  }

  /** What the node showed is forgotten. */
  forget(node: string): void {
    this.#waits.delete(node);
  }
}

function nextWait(before: Wait | undefined, now: Wait): Wait {
  if (before === undefined) return { ...now, reached: undefined };
  if (now.sinceMs - before.sinceMs < ON_ITS_WAY_MS) return before;
  return { ...before, reached: before.reached ?? now.reached };
}

function isOver(before: Wait | undefined, { reached }: Wait): boolean {
  const { reached: then } = before ?? {};
  return then !== undefined && reached?.every((version, index) => version !== then[index]) === true;
}
