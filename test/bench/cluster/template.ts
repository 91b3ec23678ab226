import { HarnessError } from "../../rig/process/errors.ts";

/** A shorter text might occur elsewhere by chance. */
const SHORTEST = 4;

/**
 * A stored object as a template for others that differ in texts alone. Two sources of one shape give the texts, the object's own and the
 * copy's: wherever they differ, so do the copies. Texts of another length stay as they are, because protobuf writes the length before them
 * (pod addresses, which nothing here reads).
 */
export class Template {
  readonly #bytes: Buffer;
  readonly #texts: readonly string[];
  readonly #places = new Map<string, readonly number[]>();

  constructor(bytes: Buffer, source: unknown) {
    this.#bytes = bytes;
    this.#texts = textsIn(source);
  }

  /** The bytes of a copy. Throws a HarnessError when the sources have no common shape. */
  copy(source: unknown): Buffer {
    const texts = textsIn(source);
    if (texts.length !== this.#texts.length) throw new HarnessError("the copy has another shape than its template");
    const copy = Buffer.from(this.#bytes);
    const changes = this.#texts.map((old, i): readonly [string, string] => [old, texts[i] ?? old]).filter(isChange);
    // A text that stands within another one is part of the longer one's change.
    for (const [old, text] of changes.toSorted(([one], [other]) => one.length - other.length)) {
      for (const place of this.#placesOf(old)) copy.write(text, place, "latin1");
    }
    return copy;
  }

  #placesOf(text: string): readonly number[] {
    const known = this.#places.get(text);
    if (known !== undefined) return known;
    const places: number[] = [];
    const bytes = Buffer.from(text, "latin1");
    for (let at = this.#bytes.indexOf(bytes); at >= 0; at = this.#bytes.indexOf(bytes, at + 1)) places.push(at);
    this.#places.set(text, places);
    return places;
  }
}

function isChange([old, text]: readonly [string, string]): boolean {
  return old !== text && old.length === text.length && old.length >= SHORTEST;
}

/** All texts of a value, depth first; objects of one shape give lists of one length. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
