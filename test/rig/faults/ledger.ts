import type { Seen } from "./direct.ts";

/** Something that a follower told its listener, in order. */
export interface Delivery {
  readonly kind: "added" | "updated" | "deleted";
  readonly object: Seen;
}

/** What is known of the collection that was followed. */
export interface LedgerTruth {
  /** A list that was made when everything was over. */
  readonly fresh: readonly Seen[];
  /** An object can leave the collection and come back, because a selector chooses. */
  readonly canReturn: boolean;
}

/**
 * What is wrong with what was delivered, one line each; nothing when every object's final state was delivered, every object that is
 * gone was delivered as gone, and a re-created name as a deletion and an addition.
 */
export function ledgerProblems(deliveries: readonly Delivery[], truth: LedgerTruth): readonly string[] {
  const ledger = new Ledger(truth);
  for (const delivery of deliveries) ledger.add(delivery);
  return [...ledger.problems, ...ledger.differences()];
}

class Ledger {
  readonly problems: string[] = [];
  readonly #truth: LedgerTruth;
  /** What the deliveries so far say is there, by key. */
  readonly #present = new Map<string, Seen>();
  readonly #gone = new Set<string>();

  constructor(truth: LedgerTruth) {
    this.#truth = truth;
  }

  add({ kind, object }: Delivery): void {
    const known = this.#present.get(object.key);
    const problem = this.#problemOf(kind, object, known);
    if (problem !== undefined) this.problems.push(`${describe(object)} ${problem}`);
    if (kind !== "deleted") this.#present.set(object.key, object);
    else if (this.#present.delete(object.key)) this.#gone.add(known?.uid ?? object.uid);
  }

  /** How the deliveries taken together differ from the truth. */
  differences(): readonly string[] {
    const fresh = new Map(this.#truth.fresh.map((object) => [object.key, object]));
    const missing = this.#truth.fresh.flatMap((object) => {
      const known = this.#present.get(object.key);
      if (known === undefined) return [`${describe(object)} was not delivered`];
      return describe(known) === describe(object) ? [] : [`${describe(object)} was delivered as ${describe(known)}`];
    });
    const stale = [...this.#present.values()].filter(({ key }) => !fresh.has(key));
    const gone = this.#truth.canReturn ? [] : this.#truth.fresh.filter(({ uid }) => this.#gone.has(uid));
    return [
      ...missing,
      ...stale.map((object) => `${describe(object)} is gone, and was not delivered as gone`),
      ...gone.map((object) => `${describe(object)} was delivered as gone, and is there`),
    ];
  }

  #problemOf(kind: Delivery["kind"], object: Seen, known: Seen | undefined): string | undefined {
    if (kind === "added") {
      if (known !== undefined) return `was added in the place of ${describe(known)}`;
      return !this.#truth.canReturn && this.#gone.has(object.uid) ? "came back after it was gone" : undefined;
    }
    if (known === undefined) return `was ${kind} and was not there`;
    if (known.uid !== object.uid) return `was ${kind} in the place of ${describe(known)}`;
    const isOlder = BigInt(object.resourceVersion) < BigInt(known.resourceVersion);
    return isOlder ? `was ${kind} after ${describe(known)}` : undefined;
  }
}

function describe({ key, uid, resourceVersion }: Seen): string {
  return `${key} ${uid}@${resourceVersion}`;
}
