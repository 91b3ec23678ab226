import { MooringError } from "../../../common/runtime/errors.ts";

/** A body whose pieces arrive while a client reads it. */
export class Pipe implements AsyncIterableIterator<Uint8Array> {
  readonly #chunks: Uint8Array[] = [];
  #error: MooringError | undefined;
  #isOver = false;
  #waiting: ((result: IteratorResult<Uint8Array>) => void) | undefined;
  #failWaiting: ((error: MooringError) => void) | undefined;
  readonly #onClose: () => void;

  /** `onClose` is called once, when the reader is done or the body has ended. */
  constructor(onClose: () => void) {
    this.#onClose = onClose;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  write(chunk: Uint8Array): void {
    if (this.#isOver) return;
    if (this.#waiting === undefined) this.#chunks.push(chunk);
    else this.#answer({ done: false, value: chunk });
  }

  end(): void {
    if (!this.#close()) return;
    if (this.#waiting !== undefined) this.#answer({ done: true, value: undefined });
  }

  /** The reader still gets the pieces that have arrived. */
  fail(why: string): void {
    if (!this.#close()) return;
    this.#error = new MooringError("transport-failed", why);
    this.#failWaiting?.(this.#error);
    this.#waiting = undefined;
    this.#failWaiting = undefined;
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    const chunk = this.#chunks.shift();
    if (chunk !== undefined) return Promise.resolve({ done: false, value: chunk });
    if (this.#error !== undefined) return Promise.reject(this.#error);
    if (this.#isOver) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve, reject) => {
      this.#waiting = resolve;
      this.#failWaiting = reject;
    });
  }

  /** The reader stops early. */
  return(): Promise<IteratorResult<Uint8Array>> {
    this.#chunks.length = 0;
    this.end();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #answer(result: IteratorResult<Uint8Array>): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    this.#failWaiting = undefined;
    waiting?.(result);
  }

  #close(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#onClose();
    return true;
  }
}
