import type { SharedValues } from "../../common/kube/shared-values.ts";
import type { Stored } from "../../common/kube/store.ts";

/** Another form of a value that takes less memory. */
interface Packing {
  readonly pack: (value: unknown) => unknown;
  readonly unpack: (packed: unknown) => unknown;
}

/** A decimal number fits into the field itself, or takes 16 bytes; its text takes 24 and more. Any other text stays. */
const NUMBER: Packing = {
  pack: (text) => (Number.isSafeInteger(Number(text)) && String(Number(text)) === text ? Number(text) : text),
  unpack: String,
};

/** Times of the API are whole seconds. As seconds they fit into the field itself; milliseconds take 16 bytes more. */
export const TIME: Packing = {
  pack: (ms) => (typeof ms === "number" ? ms / 1_000 : undefined),
  // Also of a time that is no whole second.
  unpack: (seconds) => (typeof seconds === "number" ? Math.round(seconds * 1_000) : undefined),
};

const NONE: readonly never[] = [];

/** A list that mostly has one text or none: those take 56 bytes less. */
export const LIST: Packing = {
  pack: (list) => (Array.isArray(list) && list.length < 2 ? list[0] : list),
  unpack: (packed) => (typeof packed === "string" ? [packed] : (packed ?? NONE)),
};

const SHARED = Symbol("shared");

interface Forms<Name extends PropertyKey> {
  /** Fields whose values recur in thousands of objects, or are rare: objects equal in all of them share one copy. */
  readonly shared: readonly Name[];
  readonly packed: { readonly [N in Name]?: Packing };
}

/** A class of compact objects. Shared and packed fields are getters: a copy by `...` has none of them. */
export function keptAs<T extends Stored>(
  forms: Forms<Extract<keyof T, string>>,
): new (
  object: T,
  values: SharedValues<object>,
) => T;
export function keptAs({ shared, packed }: Forms<string>) {
  const slots = Object.entries({ ...packed, resourceVersion: NUMBER }).map(([name, packing = NUMBER]) => ({
    ...{ name, slot: Symbol(name) },
    ...packing,
  }));
  class Kept {
    constructor(object: object, values: SharedValues<object>) {
      const common = Object.fromEntries(shared.map((name) => [name, Reflect.get(object, name)]));
      Reflect.set(this, SHARED, values.of(common));
      for (const { name, slot, pack } of slots) Reflect.set(this, slot, pack(Reflect.get(object, name)));
      for (const [name, value] of Object.entries(object)) if (!(name in Kept.prototype)) Reflect.set(this, name, value);
    }
  }
  const define = (name: string, read: (kept: object) => unknown): void => {
    Object.defineProperty(Kept.prototype, name, {
      get(this: object) {
        return read(this);
      },
    });
  };
  for (const name of shared) define(name, (kept) => Reflect.get(Reflect.get(kept, SHARED), name));
  for (const { name, slot, unpack } of slots) define(name, (kept) => unpack(Reflect.get(kept, slot)));
  return Kept;
}
