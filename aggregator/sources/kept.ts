import { SharedTexts } from "../../common/kube/shared-texts.ts";
import { SharedValues } from "../../common/kube/shared-values.ts";
import type { Stored } from "../../common/kube/store.ts";

/** All fields of a value, the optional ones included: a compact form must leave out none. */
export type Whole<T> = { readonly [Key in keyof Required<T>]: T[Key] };

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
export class KeptValues<Kind> {
  readonly kinds = new SharedValues<Kind>();
  readonly texts = new SharedTexts();
}

/** What all compact forms have. `kind` are the fields with the same values in thousands of objects. */
export abstract class Kept<Kind> implements Stored {
  readonly key: string;
  readonly uid: string;
  protected readonly kind: Kind;
  readonly #version: number | string;
  readonly #created: number | undefined;

  constructor(object: Stored & { readonly createdAtMs?: number | undefined }, kind: Kind) {
    this.key = object.key;
    this.uid = object.uid;
    this.#version = numberOr(object.resourceVersion);
    this.kind = kind;
    this.#created = secondsOf(object.createdAtMs);
  }

  get resourceVersion(): string {
    return String(this.#version);
  }

  get createdAtMs(): number | undefined {
    return millisecondsOf(this.#created);
  }
}
