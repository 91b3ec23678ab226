/** Whoever may create claims chooses names of storage classes, and each is a label of series: so many are named at once. */
export const MOST_CLASSES = 30;
/** What the others are called together. */
export const OTHER_CLASSES = "other";

/**
 * How storage classes are called in series. The first classes keep their names for as long as an object has them; all that come while there
 * are too many are `other`, and stay so until their last object is gone.
 */
export class ClassLabels {
  readonly #known = new Map<string, { readonly label: string; users: number }>();
  #named = 0;

  /** One more object has the class. */
  take(name: string): string {
    const known = this.#known.get(name);
    if (known !== undefined) {
      known.users += 1;
      return known.label;
    }
    const isNamed = this.#named < MOST_CLASSES;
    if (isNamed) this.#named += 1;
    const label = isNamed ? name : OTHER_CLASSES;
    this.#known.set(name, { label, users: 1 });
    return label;
  }

  /** An object that had the class is gone, or has another one. Answers how it was called. */
  unmountRecord(name: string): string {
    const known = this.#known.get(name);
    if (known === undefined) return OTHER_CLASSES;
    known.users -= 1;
    if (known.users === 0) {
      this.#known.delete(name);
      if (known.label === name) this.#named -= 1;
    }
    return known.label;
  }
}
