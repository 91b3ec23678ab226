import { SharedTexts } from "../../common/kube/shared-texts.ts";
import { SharedValues } from "../../common/kube/shared-values.ts";
import type { Stored } from "../../common/kube/store.ts";

/** All fields of a value, the optional ones included: a compact form must leave out none. */
export type Whole<T> = { readonly [Key in keyof Required<T>]: T[Key] };

type Dated = Stored & { readonly createdAtMs?: number | undefined };

/** A decimal number as such: it fits into the field itself, or takes 16 bytes; its text takes 24 and more. Any other text stays. */
function numberOr(text: string): number | string {
  const number = Number(text);
  return Number.isSafeInteger(number) && String(number) === text ? number : text;
}

/** Times of the API are whole seconds. As seconds they fit into the field itself; milliseconds take 16 bytes more. */
export function secondsOf(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1_000;
}

/** The milliseconds again, also for a time that is no whole second. */
export function millisecondsOf(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : Math.round(seconds * 1_000);
}

/** The values that the objects of a collection share with each other, and the texts that they share with others. */
export class KeptValues {
  readonly kinds = new SharedValues<object>();
  readonly texts = new SharedTexts();
}

class Kept implements Whole<Dated> {
  readonly key: string;
  readonly uid: string;
  readonly #version: number | string;
  readonly #created: number | undefined;

  constructor(object: Dated) {
    this.key = object.key;
    this.uid = object.uid;
    this.#version = numberOr(object.resourceVersion);
    this.#created = secondsOf(object.createdAtMs);
  }

  get resourceVersion(): string {
    return String(this.#version);
  }

  get createdAtMs(): number | undefined {
    return millisecondsOf(this.#created);
  }
}

/**
 * The base of a compact form, which has these fields: those of `kind` have the same values in thousands of objects and are kept once, those
 * of `rare` few objects have.
 */
export function keptWith<Kind extends object, Rare extends object>(
  kind: readonly (keyof Kind)[],
  rare: readonly (keyof Rare)[],
): new (
  object: Dated & Kind & Rare,
  values: KeptValues,
) => Kept & Whole<Kind> & Whole<Rare>;
export function keptWith(kind: readonly PropertyKey[], rare: readonly PropertyKey[]) {
  return class Compact extends Kept {
    readonly #kind: object;
    readonly #rare: object;

    constructor(object: Dated, { kinds }: KeptValues) {
      super(object);
      this.#kind = kinds.of(picked(object, kind));
      const own = picked(object, rare);
      this.#rare = Object.values(own).every((value) => value === undefined) ? NOTHING : own;
    }

    static {
      for (const name of kind) getter(Compact.prototype, name, (one) => one.#kind);
      for (const name of rare) getter(Compact.prototype, name, (one) => one.#rare);
    }
  };
}

const NOTHING = {};

function picked(object: object, names: readonly PropertyKey[]): object {
  return Object.fromEntries(names.map((name) => [name, Reflect.get(object, name)]));
}

function getter<T extends object>(prototype: T, name: PropertyKey, of: (one: T) => object): void {
  Object.defineProperty(prototype, name, {
    get(this: T) {
      return Reflect.get(of(this), name);
    },
  });
}
