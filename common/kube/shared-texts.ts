/**
 * Lets equal texts take the memory of one. Each answer of an API server brings its strings anew, and objects repeat each other:
 * a volume names its claim's UID, fifty pods their node, all claims three storage classes. V8 keeps one copy of every text that
 * has ever been the name of a property, for as long as somebody has it, and makes strings that are equal to it point there;
 * the next garbage collection takes the detour out. Nothing but memory depends on it.
 */
export class SharedTexts {
  readonly #names: Record<string, true> = Object.create(null);

  /** Shares all texts in a value, which stays as it is. */
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
