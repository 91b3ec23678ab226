/**
 * Deduplicates equal texts. Each answer of an API server creates its strings anew, and objects repeat each other: a volume names its
 * claim's UID, fifty pods their node, all claims three storage classes. V8 keeps one copy of every text that has ever been a property name,
 * as long as it is referenced, and makes equal strings point to it; the next garbage collection removes the indirection. This saves memory
 * and has no other effect.
 */
export class SharedTexts {
  readonly #names: Record<string, true> = Object.create(null);

  /** Deduplicates all texts in a value; the value does not change. */
  share(value: unknown): void {
    if (typeof value === "string") this.#shareText(value);
    else if (typeof value === "object" && value !== null) for (const part of Object.values(value)) this.share(part);
  }

  #shareText(text: string): void {
    // JSON.parse shares the short ones itself (kMaxInternalizedStringValueLength in V8's json-parser.h).
    if (text.length <= 10) return;
    this.#names[text] = true;
    Reflect.deleteProperty(this.#names, text);
  }
}
